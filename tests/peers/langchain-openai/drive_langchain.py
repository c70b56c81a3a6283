"""Drives LangChain's ChatOpenAI: `drive_langchain.py URL ...`, then one `CASE MODE` per line of stdin.

What comes out has the shape of ../openai-py/drive.py: a line with the version, then one line per case. MODE
is `stream` (chunks that LangChain adds up) or `whole`.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

# Nothing is reported to LangChain's makers, whatever the user's environment says.
os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")
openai: Any = importlib.import_module("openai")
messages: Any = importlib.import_module("langchain_core.messages")
make_tool: Any = importlib.import_module("langchain_core.tools").tool
pydantic: Any = importlib.import_module("pydantic")
ChatOpenAI: Any = importlib.import_module("langchain_openai").ChatOpenAI
Json = dict[str, Any]


def locate(detail: str) -> str:
    """Say where the person is."""
    return "Oslo"


def clock(zone: str) -> str:
    """Say what time it is."""
    return "noon"


TOOLS: Json = {"locate": make_tool(locate), "clock": make_tool(clock)}


def seen(message: Any) -> Json:
    usage = message.usage_metadata
    return {
        "content": message.content,
        "calls": [[call["name"], call["args"], bool(call["id"])] for call in message.tool_calls],
        "invalid": len(message.invalid_tool_calls),
        "finish": message.response_metadata.get("finish_reason"),
        "model": message.response_metadata.get("model_name"),
        "usage": usage and [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]],
    }


class Talk:
    def __init__(self, url: str, mode: str) -> None:
        self.url, self.mode = url, mode
        self.turns: list[Json] = []
        self.chat = self.model("default")

    def model(self, name: str, key: str = "ada-key", **options: Any) -> Any:
        return ChatOpenAI(
            model=name, base_url=f"{self.url}/v1", api_key=key, max_retries=0, stream_usage=True, **options
        )

    def ask(self, asked: Any, chat: Any = None) -> Any:
        """The answer as one message, streamed or whole; an exception is noted as its user sees it."""
        chat, heard, whole = chat or self.chat, "", None
        try:
            if self.mode == "whole":
                whole = chat.invoke(asked)
            else:
                for chunk in chat.stream(asked):
                    heard += str(chunk.content)
                    whole = chunk if whole is None else whole + chunk
        except openai.OpenAIError as error:
            status = getattr(error, "status_code", None)
            self.turns.append({"class": type(error).__name__, "status": status, "message": str(error), "heard": heard})
            return None
        self.turns.append(seen(whole))
        return whole


def say(text: str, model: str = "default", **options: Any) -> Callable[[Talk], None]:
    return lambda talk: talk.ask(text, talk.model(model, **options)) and None


def loop(text: str) -> Callable[[Talk], None]:
    """The tool loop as LangChain's guide writes it."""

    def case(talk: Talk) -> None:
        chat = talk.chat.bind_tools(list(TOOLS.values()))
        history = [messages.HumanMessage(text)]
        while (answer := talk.ask(history, chat)) is not None:
            history.append(answer)
            if not answer.tool_calls:
                return
            history += [TOOLS[call["name"]].invoke(call) for call in answer.tool_calls]

    return case


def structured(talk: Talk) -> None:
    person = pydantic.create_model("Person", name=(str, ...), age=(int, ...), __doc__="A person.")
    for method in ("json_schema", "json_mode"):
        chat = talk.chat.with_structured_output(person, method=method)
        made = chat.invoke("person") if talk.mode == "whole" else list(chat.stream("person"))[-1]
        talk.turns.append({"made": made.model_dump()})


def called(talk: Talk) -> None:
    """Structured output the older way: a tool that must be called."""
    detail = pydantic.create_model("locate", detail=(str, ...), __doc__="Where.")
    made = talk.chat.with_structured_output(detail, method="function_calling").invoke("where am i")
    talk.turns.append({"made": made.model_dump()})


def batch(talk: Talk) -> None:
    answers = talk.chat.batch(["hello", "think", "sum", "refuse"], config={"max_concurrency": 4})
    talk.turns = [seen(answer) for answer in answers]


def picture(talk: Talk) -> None:
    url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": url}]
    talk.ask([messages.HumanMessage(content=parts)], talk.model("plain", temperature=0, seed=7))


def forced(talk: Talk) -> None:
    chat = talk.model("plain").bind_tools(
        list(TOOLS.values()), tool_choice="clock", parallel_tool_calls=False, strict=True
    )
    talk.ask("raw", chat)


CASES: dict[str, Callable[[Talk], None]] = {
    "text": say("hello"),
    "server_tool": say("sum"),
    "loop": loop("where am i"),
    "loop_two": loop("pair"),
    "second_held": loop("second held"),
    "second_shown": loop("second shown"),
    "structured": structured,
    "called": called,
    "batch": batch,
    "picture": picture,
    "forced": forced,
    "settings": say("raw", "plain", temperature=0.5, max_tokens=9, stop=["END"], top_p=0.25),
    "wrong_key": say("hello", key="wrong"),
    "no_such_model": say("hello", "nobody"),
    "upstream_429": say("fault-429", "faulty"),
    "error_midway": say("fault-error-midway", "faulty"),
}


def main(url: str, *_: str) -> None:
    print(json.dumps({"version": version("langchain-openai")}), flush=True)
    while line := sys.stdin.readline():
        case, mode = line.split()
        talk = Talk(url, mode)
        CASES[case](talk)
        print(json.dumps({"turns": talk.turns}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
