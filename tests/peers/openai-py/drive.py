"""Drives the official Python client: `drive.py URL`, then one `CASE MODE` per line of stdin.

The first line out names the client's version; then each case answers with one JSON line of what the client's
user would have in hand: the turns, or the exception. MODE is `stream` (added up by the client) or `whole`.
"""

import asyncio
import importlib
import json
import ssl
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Installed in this client's own environment only, so the project's type checker cannot know it.
openai: Any = importlib.import_module("openai")
# Beside this file, where only this client's Python looks.
options: Any = importlib.import_module("options")
Json = dict[str, Any]
# Read once: each client would read them anew, and that takes longer than most cases.
AUTHORITIES = ssl.create_default_context()


def function(name: str, field: str) -> Json:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string"}},
        "required": [field],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


TOOLS = [function("locate", "detail"), function("clock", "zone")]


def seen(completion: Any) -> Json:
    choice = completion.choices[0]
    message = choice.message
    calls = [
        {"name": c.function.name, "arguments": c.function.arguments, "type": c.type} for c in message.tool_calls or ()
    ]
    usage = completion.usage
    return {
        "role": message.role,
        "content": message.content,
        "choices": [choice.message.content for choice in completion.choices],
        "logprobs": choice.logprobs and choice.logprobs.model_dump(),
        "refusal": message.refusal,
        "reasoning": (message.model_extra or {}).get("reasoning_content"),
        "calls": calls,
        "finish": choice.finish_reason,
        "model": completion.model,
        "usage": None if usage is None else [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
    }


def fault(error: Any, heard: str = "") -> Json:
    response = getattr(error, "response", None)
    return {
        "class": type(error).__name__,
        "message": str(error),
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "type": getattr(error, "type", None),
        "param": getattr(error, "param", None),
        "retry_after": response.headers.get("retry-after") if response is not None else None,
        "request": bool(getattr(error, "request_id", None)),
        "heard": heard,
    }


class Talk:
    """One conversation: the history that a program keeps, and what it saw turn by turn."""

    tools = TOOLS
    fault = staticmethod(fault)
    alone = hurried = ""

    def __init__(self, url: str, case: str, mode: str) -> None:
        http = openai.DefaultHttpxClient(verify=AUTHORITIES)
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="ada-key", max_retries=0, http_client=http)
        self.url, self.case, self.mode, self.model = url, case, mode, "default"
        self.messages: list[Json] = []
        self.turns: list[Json] = []
        self.options: Json = {}

    def say(self, text: str | list[Json]) -> None:
        self.messages.append({"role": "user", "content": text})
        self.ask()

    def give(self, **results: str) -> None:
        """Results of the client's own calls of the last turn, by tool."""
        for call in self.messages[-1]["tool_calls"]:
            if (content := results.get(call["function"]["name"])) is not None:
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        self.ask()

    def again(self) -> None:
        """The last request once more, as a client does that did not see the answer."""
        self.messages.pop()
        self.ask()

    def ask(self) -> None:
        heard: list[str] = []
        done: list[str] = []
        try:
            completion = self.stream(heard, done) if self.mode == "stream" else self.whole()
        except openai.OpenAIError as error:
            self.turns.append({**fault(error, "".join(heard)), "done": done})
            return
        message = completion.choices[0].message.model_dump(exclude_none=True)
        for call in message.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        self.messages.append({k: v for k, v in message.items() if k not in ("parsed", "reasoning_content")})
        self.turns.append({**seen(completion), "done": done})

    def attempt(self, call: Callable[[], Any]) -> None:
        """A call that should fail."""
        try:
            call()
        except openai.OpenAIError as error:
            self.turns.append({**fault(error), "done": []})

    def whole(self) -> Any:
        return self.client.chat.completions.create(model=self.model, messages=self.messages, **self.options)

    def stream(self, heard: list[str], done: list[str]) -> Any:
        """`done` are the calls that the client tells its user are complete: time to run them."""
        usage = {"include_usage": True}
        with self.client.chat.completions.stream(
            model=self.model, messages=self.messages, stream_options=usage, **self.options
        ) as events:
            for event in events:
                if event.type == "content.delta":
                    heard.append(event.delta)
                elif event.type == "tool_calls.function.arguments.done":
                    done.append(event.name)
            return events.get_final_completion()


def say(*texts: str, tools: bool = False, model: str = "default") -> Callable[[Talk], None]:
    def case(talk: Talk) -> None:
        talk.model = model
        talk.options = {"tools": TOOLS} if tools else {}
        for text in texts:
            talk.say(text.format(f"{talk.case} {talk.mode}"))

    return case


def client_tool(talk: Talk) -> None:
    say("where am i", tools=True)(talk)
    talk.give(locate="Oslo")


def client_tool_twice(talk: Talk) -> None:
    client_tool(talk)
    talk.again()


def mixed(talk: Talk) -> None:
    say("mixed", tools=True, model="mirror")(talk)
    talk.give(locate="Oslo")


def two_client_calls(talk: Talk) -> None:
    say("pair", tools=True)(talk)
    talk.give(locate="Oslo", clock="noon")


def half_of_two(talk: Talk) -> None:
    say("pair", tools=True)(talk)
    talk.give(locate="Oslo")


def both(talk: Talk) -> None:
    say("both {0}", tools=True)(talk)
    talk.give(locate="Oslo")
    talk.say("yes")


def approved_twice(talk: Talk) -> None:
    say("book {0}", "yes")(talk)
    talk.again()


def asked_twice(talk: Talk) -> None:
    say("trip {0}", "Oslo")(talk)
    talk.again()


def roles(talk: Talk) -> None:
    call = {"id": "mine", "type": "function", "function": {"name": "locate", "arguments": "{}"}}
    talk.model = "mirror"
    talk.messages = [
        {"role": "system", "content": "one"},
        {"role": "developer", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": "three"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "mine", "content": "Oslo"},
        {"role": "assistant", "content": "four"},
    ]
    talk.say("five")


def settings(talk: Talk) -> None:
    talk.options = {"temperature": 0, "seed": 0, "parallel_tool_calls": False, "tools": TOOLS}
    talk.model = "mirror"
    talk.say("settings")


def wrong_key(talk: Talk) -> None:
    talk.client = talk.client.with_options(api_key="wrong")
    talk.say("hello")


def bad_request(talk: Talk) -> None:
    talk.options = {"temperature": 9}
    talk.say("hello")


def retried(talk: Talk) -> None:
    talk.client = talk.client.with_options(max_retries=1)
    say("limp {0}", model="limping")(talk)


def effect_once(talk: Talk) -> None:
    talk.client = talk.client.with_options(max_retries=2)
    say("limp with {0}", model="limping")(talk)


def chunks(talk: Talk) -> None:
    """The raw stream, as programs read it that accumulate by themselves."""
    stream = talk.client.chat.completions.create(
        model="default", messages=[{"role": "user", "content": "where"}], tools=TOOLS, stream=True
    )
    talk.turns = [chunk.choices[0].model_dump(exclude_none=True) for chunk in stream]


def raced(talk: Talk) -> None:
    """The same answer from two windows at once."""
    say("book {0}")(talk)
    other = Talk(talk.url, talk.case, talk.mode)
    other.messages = list(talk.messages)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda window: window.say("yes"), (talk, other)))
    other.client.close()
    talk.turns += other.turns


def stranger(talk: Talk) -> None:
    """Someone with another key posts the same history and the answer; then the one who was asked does."""
    say("book {0}")(talk)
    other = Talk(talk.url, talk.case, talk.mode)
    other.client = other.client.with_options(api_key="bob-key")
    other.messages = list(talk.messages)
    other.say("yes")
    other.client.close()
    talk.turns += other.turns
    talk.say("yes")


def threaded(talk: Talk) -> None:
    """A client that names its thread may post less of it: the question and the answer, or only the answer."""
    talk.options = {"extra_headers": {"X-Thread-Id": f"{talk.case}-{talk.mode}"}}
    for kept in (1, 0):
        talk.say("question")
        talk.messages = talk.messages[-1:] if kept else []
        talk.say("Ada")


def no_such_route(talk: Talk) -> None:
    talk.attempt(lambda: talk.client.moderations.create(input="hello"))


def keep_alive(talk: Talk) -> None:
    """The bytes below the client, until there is something in them that it would have to pass over."""
    raw = talk.client.chat.completions.with_streaming_response.create
    with raw(model="mirror", messages=[{"role": "user", "content": "hold"}], stream=True) as response:
        passed = next((line for line in response.iter_lines() if line.startswith(":")), "")
    talk.turns = [{"passed": passed}]


def leave(talk: Talk) -> None:
    """Close the stream after its first token, once the other side says `now`."""
    stream = talk.client.chat.completions.create(
        model="endless", messages=[{"role": "user", "content": "go"}], stream=True
    )
    first = next(text for chunk in stream if (text := chunk.choices[0].delta.content))
    sys.stdin.readline()
    stream.close()
    talk.turns = [{"first": first}]


def leave_waiting(talk: Talk) -> None:
    """Cancel the task that waits for the first word, or for the whole answer."""

    async def run() -> str:
        client = openai.AsyncOpenAI(base_url=talk.client.base_url, api_key="ada-key", max_retries=0)
        question = [{"role": "user", "content": "wait"}]
        create = client.chat.completions.create
        answer = create(model="endless", messages=question, stream=talk.mode == "stream")
        task = asyncio.ensure_future(answer)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        task.cancel()
        ended = await asyncio.gather(task, return_exceptions=True)
        await client.close()
        return type(ended[0]).__name__

    talk.turns = [{"ended": asyncio.run(run())}]


CASES: dict[str, Callable[[Talk], None]] = {
    "text": say("hello"),
    "paced": say("slowly"),
    "server_tool": say("sum"),
    "client_tool": client_tool,
    "client_tool_twice": client_tool_twice,
    "mixed": mixed,
    "two_client_calls": two_client_calls,
    "half_of_two": half_of_two,
    "both": both,
    "question": say("question", "Ada", "hello"),
    "approved": say("book {0}", "Yes."),
    "denied": say("book {0}", "no"),
    "evaded": say("book {0}", "hello", "yes"),
    "approved_twice": approved_twice,
    "raced": raced,
    "stranger": stranger,
    "threaded": threaded,
    "flow": say("trip {0}", "Oslo"),
    "asked_twice": asked_twice,
    "twins": say("twins {0}", "Oslo", "Rome"),
    "wrong_type": say("wrong type"),
    "wrong_json": say("wrong json"),
    "wrong_client": say("wrong client", tools=True),
    "unknown_tool": say("unknown"),
    "raising_tool": say("stumble"),
    "refusal": say("refuse"),
    "reasoning": say("think"),
    "silent": say("silent"),
    "length": say("long"),
    "cut_held": say("cut held", tools=True),
    "cut_shown": say("cut shown", tools=True),
    "second_held": say("second held", tools=True),
    "second_shown": say("second shown", tools=True),
    "dead_at_once": say("fault-reset-at-once", model="faulty"),
    "dead_midway": say("fault-reset", model="faulty"),
    "error_midway": say("fault-error-midway", model="faulty"),
    "truncated": say("fault-eof", model="faulty"),
    "upstream_401": say("fault-401", model="faulty"),
    "upstream_429": say("fault-429", model="faulty"),
    "roles": roles,
    "settings": settings,
    "wrong_key": wrong_key,
    "no_such_model": say("hello", model="nobody"),
    "bad_request": bad_request,
    "no_such_route": no_such_route,
    "retried": retried,
    "effect_once": effect_once,
    "keep_alive": keep_alive,
    "chunks": chunks,
    "leave": leave,
    "leave_waiting": leave_waiting,
}


def main(url: str, alone: str, table: str, hurried: str) -> None:
    Talk.alone, Talk.hurried = alone, hurried
    known = {**CASES, **options.cases(table)}
    print(json.dumps({"version": openai.__version__}), flush=True)
    while line := sys.stdin.readline():
        case, mode = line.split()
        talk = Talk(url, case, mode)
        known[case](talk)
        talk.client.close()
        print(json.dumps({"turns": talk.turns}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
