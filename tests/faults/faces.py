"""The same question through every face that the server has, and what came back, said in one way."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.kit.client import Client, Frame, Head
from tests.kit.patience import STUCK
from tests.unit.doors.copilotkit.client import body, data, merged, parts, text

LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Outcome:
    status: int
    headers: dict[str, str]
    body: bytes
    text: str = ""
    failures: list[str] = field(default_factory=list)
    """The code of each failure that was shown; a right answer has none, a failed one exactly one."""
    finished: bool = False
    """Whether it ended as a success does."""


@dataclass(frozen=True)
class Face:
    """One way to ask. `read` takes the outcome in; what it cannot make sense of is an AssertionError."""

    name: str
    streamed: bool
    path: Callable[[str], str]
    ask: Callable[[str, str], dict[str, Any]]
    read: Callable[[Outcome], None]

    async def send(
        self, client: Client, message: str, model: str = "default", headers: Mapping[str, str] | None = None
    ) -> None:
        await client.post(self.path(model), self.ask(message, model), headers)

    async def __call__(
        self, url: str, message: str, model: str = "default", headers: Mapping[str, str] | None = None
    ) -> Outcome:
        async with Client(url) as client:
            await self.send(client, message, model, headers)
            return await self.outcome(client)

    async def outcome(self, client: Client) -> Outcome:
        return self.made(await client.head(), await client.body())

    def made(self, head: Head, body: bytes) -> Outcome:
        outcome = Outcome(head.status, head.headers, body)
        if head.status == 200:
            self.read(outcome)
        else:
            outcome.failures.append(refusal(body))
        return outcome


def refusal(body: bytes) -> str:
    """The code in an error body, whichever door wrote it."""
    value = json.loads(body)
    code = value["code"] if "code" in value else value["error"]["code"]
    assert isinstance(code, str)
    return code


def payloads(body: bytes) -> list[str]:
    """The data of each event, read as the specification says: lines end at CR, LF or CRLF only."""
    blocks: list[list[bytes]] = [[]]
    for line in LINE_END.split(body):
        if line:
            blocks[-1].append(line)
        else:
            blocks.append([])
    assert blocks[-1] == [], f"half an event at the end: {blocks[-1]!r}"
    found: list[str] = []
    for block in blocks:
        lines = [line for line in block if not line.startswith((b":", b"id: ", b"event: copilot"))]
        assert all(line.startswith(b"data: ") for line in lines), f"a field that nobody wrote: {block!r}"
        if lines:
            found.append(b"\n".join(line[6:] for line in lines).decode())
    return found


def read_chunks(outcome: Outcome) -> None:
    assert outcome.headers["content-type"].startswith("text/event-stream")
    found = payloads(outcome.body)
    for payload in found:
        assert not outcome.failures, "something followed the failure"
        if payload == "[DONE]":
            outcome.finished = True
            continue
        value = json.loads(payload)
        if "error" in value:
            outcome.failures.append(value["error"]["code"])
        for choice in value.get("choices", ()):
            outcome.text += choice["delta"].get("content") or ""
    assert not outcome.finished or found[-1] == "[DONE]"


def read_whole(outcome: Outcome) -> None:
    (choice,) = json.loads(outcome.body)["choices"]
    outcome.text = choice["message"]["content"] or ""
    outcome.finished = choice["finish_reason"] in ("stop", "tool_calls", "length")


def read_events(outcome: Outcome) -> None:
    assert outcome.headers["content-type"].startswith("text/event-stream")
    opened: set[str] = set()
    for number, event in enumerate(map(json.loads, payloads(outcome.body))):
        assert not outcome.failures, "something followed the failure"
        assert not outcome.finished, "something followed the end"
        kind = event["type"]
        # A run that was not admitted has only its error, which the protocol allows.
        assert (kind == "RUN_STARTED") == (number == 0) or (number == 0 and kind == "RUN_ERROR")
        if kind == "TEXT_MESSAGE_START":
            opened.add(event["messageId"])
        elif kind == "TEXT_MESSAGE_CONTENT":
            assert event["messageId"] in opened
            outcome.text += event["delta"]
        elif kind == "TEXT_MESSAGE_END":
            opened.remove(event["messageId"])
        elif kind == "RUN_ERROR":
            outcome.failures.append(event["code"])
        elif kind == "RUN_FINISHED":
            outcome.finished = True
    assert not opened, "a text was left open"


def read_query(outcome: Outcome) -> None:
    """OpenBB's client shows nothing of an error but a sentence; its code stands at the end, in brackets."""
    assert outcome.headers["content-type"].startswith("text/event-stream")
    assert outcome.body.startswith(b"event: copilot")
    said = "".join(json.loads(payload).get("delta", "") for payload in payloads(outcome.body))
    failed = re.search(r"(?:\n\n)?[^\n]* \(([a-z_]+)\)\Z", said)
    outcome.text = said[: failed.start()] if failed else said
    outcome.failures += [failed[1]] if failed else []
    outcome.finished = failed is None


def read_parts(outcome: Outcome) -> None:
    """CopilotKit's GraphQL: what the client has in the end, put together from the parts."""
    assert outcome.headers["content-type"].startswith("multipart/mixed")
    response = merged(parts(outcome.body))["generateCopilotResponse"]
    for message in response["messages"]:
        outcome.text += "".join(message["content"])
    status = response["status"]
    if status["code"] == "Failed":
        outcome.failures.append(status["details"]["originalError"]["originalErrorType"])
    outcome.finished = status["code"] == "Success"


def _chat(stream: bool) -> Callable[[str, str], dict[str, Any]]:
    def ask(message: str, model: str) -> dict[str, Any]:
        return {"model": model, "stream": stream, "messages": [{"role": "user", "content": message}]}

    return ask


def _run(message: str, model: str) -> dict[str, Any]:
    said = {"id": "m1", "role": "user", "content": message}
    return {"threadId": "t1", "runId": "r1", "messages": [said], "tools": [], "context": [], "state": {}}


def _query(message: str, model: str) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": message}], "timezone": "UTC"}


def _mutation(message: str, model: str) -> dict[str, Any]:
    return body(data(text(message), threadId="g1", forwardedParameters={"model": model}))


STREAMED = Face("openai-streamed", True, lambda _: "/v1/chat/completions", _chat(True), read_chunks)
WHOLE = Face("openai-whole", False, lambda _: "/v1/chat/completions", _chat(False), read_whole)
AGUI = Face("agui", True, lambda model: f"/agui/{model}", _run, read_events)
OPENBB = Face("openbb", True, lambda model: f"/v1/query/{model}", _query, read_query)
COPILOTKIT = Face("copilotkit", True, lambda _: "/copilotkit", _mutation, read_parts)
FACES = (STREAMED, WHOLE, AGUI, OPENBB, COPILOTKIT)
# A failure is told in a stream with status 200, also where nothing was said before.
TOLD = (AGUI, OPENBB, COPILOTKIT)


async def spoken(client: Client, text: str) -> None:
    """Reads a stream until `text` has come."""
    head = await client.head()
    seen = ""
    if head.headers["content-type"].startswith("multipart/"):
        async for piece in client.pieces():
            seen += piece.decode()
            if text in seen:
                return
    while text not in seen:
        frame = await client.frame()
        assert frame is not None, f"the stream ended after {seen!r}"
        seen += said(frame)


def said(frame: Frame) -> str:
    if frame.data is None or frame.data == "[DONE]":
        return ""
    value = frame.json
    if "choices" in value:
        return "".join(choice["delta"].get("content") or "" for choice in value["choices"])
    # OpenBB's have no type.
    return str(value.get("delta", "")) if value.get("type", "TEXT_MESSAGE_CONTENT") == "TEXT_MESSAGE_CONTENT" else ""


async def until(true: Callable[[], bool], within: float = STUCK, what: Callable[[], object] = str) -> None:
    """Waits for something that only looking can tell."""
    limit = time.monotonic() + within
    while not true():
        assert time.monotonic() < limit, f"not within {within} s: {what()}"
        await asyncio.sleep(0.02)


class Peak:
    """The most that was seen of something that grows and shrinks."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.start = self.most = now()

    async def _watch(self) -> None:
        while True:
            self.most = max(self.most, self._now())
            await asyncio.sleep(0.02)

    @property
    def growth(self) -> int:
        return self.most - self.start

    @asynccontextmanager
    async def watched(self) -> AsyncIterator["Peak"]:
        task = asyncio.create_task(self._watch())
        try:
            yield self
        finally:
            self.most = max(self.most, self._now())
            task.cancel()
            await asyncio.wait([task])
