"""The cases of drive.py that are about one option, one error or one of the smaller endpoints each."""

import importlib
import inspect
import json
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

openai: Any = importlib.import_module("openai")
pydantic: Any = importlib.import_module("pydantic")
# The client brings its own HTTP library, and has changed it before.
httpx: Any = importlib.import_module("openai._base_client").httpx2
Json = dict[str, Any]
Case = Callable[[Any], None]

PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
    {"type": "image_url", "image_url": {"url": "https://pictures.example/cat.png"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    {"type": "file", "file": {"file_id": "file-1"}},
]


def sent(options: Json) -> Case:
    """Asks a model that answers with the request as it arrived there."""

    def case(talk: Any) -> None:
        known = inspect.signature(talk.client.chat.completions.create).parameters
        extra = {name: value for name, value in options.items() if name not in known or name == "functions"}
        given = {name: value for name, value in options.items() if name not in extra}
        tools = {"tools": talk.tools} if {"tool_choice", "parallel_tool_calls"} & given.keys() else {}
        talk.options = {**given, **tools, **({"extra_body": extra} if extra else {})}
        talk.model = "plain"
        talk.say("raw")

    return case


def parts(talk: Any) -> None:
    talk.model = "plain"
    talk.say(PARTS)


def several(talk: Any) -> None:
    talk.model, talk.options = "plain", {"n": 3}
    talk.say("sure")
    talk.model, talk.messages = "mirror", []
    talk.say("sure")


def probable(talk: Any) -> None:
    talk.model, talk.options = "plain", {"logprobs": True}
    talk.say("sure")


def counted(talk: Any) -> None:
    """The chunks with a count of tokens, when it is asked for and when it is not."""
    for options in ({"include_usage": True}, {"include_usage": False}, None):
        more = {} if options is None else {"stream_options": options}
        chunks = list(
            talk.client.chat.completions.create(
                model="default", messages=[{"role": "user", "content": "hello"}], stream=True, **more
            )
        )
        rows = [[len(c.choices), c.usage.total_tokens] for c in chunks if c.usage is not None]
        talk.turns.append({"rows": rows, "last": bool(chunks[-1].usage)})


def parsed(text: str) -> Case:
    def case(talk: Any) -> None:
        person = pydantic.create_model("Person", name=(str, ...), age=(int, ...))
        asked: Json = {"model": "default", "messages": [{"role": "user", "content": text}]}
        chat = talk.client.chat.completions
        try:
            if talk.mode == "stream":
                with chat.stream(response_format=person, **asked) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                message = chat.parse(response_format=person, **asked).choices[0].message
        except openai.OpenAIError as error:
            talk.turns = [talk.fault(error)]
            return
        found = None if message.parsed is None else message.parsed.model_dump()
        talk.turns = [{"parsed": found, "refusal": message.refusal}]

    return case


def completion(talk: Any) -> None:
    def ask(**given: Any) -> None:
        try:
            made = talk.client.completions.create(stream=talk.mode == "stream", **given)
            chunks = list(made) if talk.mode == "stream" else [made]
        except openai.OpenAIError as error:
            talk.turns.append(talk.fault(error))
            return
        texts: dict[int, str] = {}
        ends = []
        for choice in (choice for chunk in chunks for choice in chunk.choices):
            texts[choice.index] = texts.get(choice.index, "") + choice.text
            ends += [choice.finish_reason] if choice.finish_reason else []
        kinds = {(chunk.object, chunk.model) for chunk in chunks}
        talk.turns.append({"texts": [texts[i] for i in sorted(texts)], "ends": ends, "kinds": [list(k) for k in kinds]})

    ask(model="default", prompt="hello")
    ask(model="plain", prompt=["sure", "raw"], max_tokens=5, stop=["x"], seed=3, temperature=0)
    ask(model="default", prompt="hello", echo=True)


def models(talk: Any) -> None:
    talk.turns = [{"id": model.id, "object": model.object} for model in talk.client.models.list()]
    talk.turns.append({"id": talk.client.models.retrieve("mirror").id})
    talk.attempt(lambda: talk.client.models.retrieve("nobody"))


def embeddings(talk: Any) -> None:
    """The client asks for base64 by itself where nothing is said, and unpacks it."""
    for form in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        made = talk.client.embeddings.create(model="plain", input=["a", "b"], **form)
        rows = [row.embedding for row in made.data]
        talk.turns.append({"rows": rows, "model": made.model, "usage": made.usage.total_tokens})
    talk.attempt(lambda: talk.client.embeddings.create(model="default", input="a"))


def speech(talk: Any) -> None:
    make = talk.client.audio.transcriptions.create
    talk.attempt(lambda: make(file=("a.wav", b"RIFF"), model="whisper-1"))


def names(talk: Any) -> None:
    for name in ("plain", "openai:vendor/plain-1", "vendor/plain-1", "default"):
        talk.model, talk.messages = name, []
        talk.say("hello")


def any_name(talk: Any) -> None:
    talk.client = talk.client.with_options(base_url=f"{talk.alone}/v1")
    for name in ("gpt-3.5-turbo", "meta-llama/llama-3.3-70b-instruct:free", "default", ""):
        talk.model, talk.messages = name, []
        talk.say("hello")


def large(talk: Any) -> None:
    talk.say("x" * 3_000_000)


def not_json(talk: Any) -> None:
    headers = {"Origin": "http://localhost:3000", "Content-Type": "text/plain"}
    talk.options = {"extra_headers": headers}
    talk.say("hello")


class Dawdling:
    """Sends half of each request, and the rest not before it is answered."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport()

    def __enter__(self) -> "Dawdling":
        return self

    def __exit__(self, *_: object) -> None:
        self.inner.close()

    def close(self) -> None:
        self.inner.close()

    def handle_request(self, request: Any) -> Any:
        body = request.read()
        place: dict[str, Any] = {}

        def note(event: str, about: dict[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                place["socket"] = about["return_value"].get_extra_info("socket")

        def halves() -> Iterator[bytes]:
            yield body[: len(body) // 2]
            select.select([place["socket"]], [], [])
            yield body[len(body) // 2 :]

        stream = type("Halves", (httpx.SyncByteStream,), {"__iter__": lambda _: halves()})()
        slow = httpx.Request(request.method, request.url, headers=request.headers, stream=stream)
        slow.extensions = {**request.extensions, "trace": note}
        return self.inner.handle_request(slow)


def dawdled(talk: Any) -> None:
    client = httpx.Client(transport=Dawdling())
    talk.client = talk.client.with_options(base_url=f"{talk.hurried}/v1", http_client=client)
    talk.say("hello")


def say(text: str, model: str = "default") -> Case:
    def case(talk: Any) -> None:
        talk.model = model
        talk.say(text)

    return case


def cases(table: str) -> dict[str, Case]:
    options: dict[str, Json] = json.loads(Path(table).read_text("utf-8"))
    return {
        **{name: sent(given) for name, given in options.items()},
        "parts": parts,
        "several": several,
        "probable": probable,
        "counted": counted,
        "parsed": parsed("person"),
        "parsed_refusal": parsed("refuse"),
        "parsed_length": parsed("person cut"),
        "parsed_unfit": parsed("hello"),
        "completion": completion,
        "models": models,
        "embeddings": embeddings,
        "speech": speech,
        "names": names,
        "any_name": any_name,
        "large": large,
        "not_json": not_json,
        "dawdled": dawdled,
        "broken": say("break"),
        "overloaded": say("fault-503", "faulty"),
        "timed_out": say("fault-silent", "slow"),
    }
