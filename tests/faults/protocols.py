"""The same question through every face that the server has, and what came back, said in one way."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.kit.client import RawHttpClient, ResponseHead, SseFrame
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.client import (
    make_input,
    make_request_body,
    make_text_message,
    merge_increments,
    parse_multipart,
)

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
class ProtocolClient:
    """One way to ask. `read` takes the outcome in; what it cannot make sense of is an AssertionError."""

    name: str
    streamed: bool
    path_for: Callable[[str], str]
    build_body: Callable[[str, str], dict[str, Any]]
    read_outcome: Callable[[Outcome], None]

    async def send(
        self, client: RawHttpClient, message: str, model: str = "default", headers: Mapping[str, str] | None = None
    ) -> None:
        await client.post_json(self.path_for(model), self.build_body(message, model), headers)

    async def __call__(
        self, url: str, message: str, model: str = "default", headers: Mapping[str, str] | None = None
    ) -> Outcome:
        async with RawHttpClient(url) as client:
            await self.send(client, message, model, headers)
            return await self.receive_outcome(client)

    async def receive_outcome(self, client: RawHttpClient) -> Outcome:
        return self.make_outcome(await client.read_head(), await client.read_body())

    def make_outcome(self, head: ResponseHead, body: bytes) -> Outcome:
        outcome = Outcome(head.status, head.headers, body)
        if head.status == 200:
            self.read_outcome(outcome)
        else:
            outcome.failures.append(parse_error_code(body))
        return outcome


def parse_error_code(body: bytes) -> str:
    """The code in an error body, whichever door wrote it."""
    value = json.loads(body)
    code = value["code"] if "code" in value else value["error"]["code"]
    assert isinstance(code, str)
    return code


def parse_payloads(body: bytes) -> list[str]:
    """The data of each event, read as the specification says: lines end at CR, LF or CRLF only."""
    blocks: list[list[bytes]] = [[]]
    for line in LINE_END.split(body):
        if line:
            blocks[-1].append(line)
        else:
            blocks.append([])
    assert blocks[-1] == [], f"half an event at the end: {blocks[-1]!r}"
    data: list[str] = []
    for block in blocks:
        lines = [line for line in block if not line.startswith((b":", b"id: ", b"event: copilot"))]
        assert all(line.startswith(b"data: ") for line in lines), f"a field that nobody wrote: {block!r}"
        if lines:
            data.append(b"\n".join(line[6:] for line in lines).decode())
    return data


def read_chunks(outcome: Outcome) -> None:
    assert outcome.headers["content-type"].startswith("text/event-stream")
    data = parse_payloads(outcome.body)
    for payload in data:
        assert not outcome.failures, "something followed the failure"
        if payload == "[DONE]":
            outcome.finished = True
            continue
        value = json.loads(payload)
        if "error" in value:
            outcome.failures.append(value["error"]["code"])
        for choice in value.get("choices", ()):
            outcome.text += choice["delta"].get("content") or ""
    assert not outcome.finished or data[-1] == "[DONE]"


def read_whole(outcome: Outcome) -> None:
    (choice,) = json.loads(outcome.body)["choices"]
    outcome.text = choice["message"]["content"] or ""
    outcome.finished = choice["finish_reason"] in ("stop", "tool_calls", "length")


def read_events(outcome: Outcome) -> None:
    assert outcome.headers["content-type"].startswith("text/event-stream")
    opened: set[str] = set()
    for number, event in enumerate(map(json.loads, parse_payloads(outcome.body))):
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
    content = "".join(json.loads(payload).get("delta", "") for payload in parse_payloads(outcome.body))
    match = re.search(r"(?:\n\n)?[^\n]* \(([a-z_]+)\)\Z", content)
    outcome.text = content[: match.start()] if match else content
    outcome.failures += [match[1]] if match else []
    outcome.finished = match is None


def read_parts(outcome: Outcome) -> None:
    """CopilotKit's GraphQL: what the client has in the end, put together from the parts."""
    assert outcome.headers["content-type"].startswith("multipart/mixed")
    response = merge_increments(parse_multipart(outcome.body))["generateCopilotResponse"]
    for message in response["messages"]:
        outcome.text += "".join(message["content"])
    status = response["status"]
    if status["code"] == "Failed":
        outcome.failures.append(status["details"]["originalError"]["originalErrorType"])
    outcome.finished = status["code"] == "Success"


def _make_chat_body(stream: bool) -> Callable[[str, str], dict[str, Any]]:
    def ask(message: str, model: str) -> dict[str, Any]:
        return {"model": model, "stream": stream, "messages": [{"role": "user", "content": message}]}

    return ask


def _build_run_body(message: str, model: str) -> dict[str, Any]:
    user_message = {"id": "m1", "role": "user", "content": message}
    # Runs of one id are one run.
    run = {"threadId": "t1", "runId": str(uuid.uuid4()), "messages": [user_message]}
    return run | {"tools": [], "context": [], "state": {}}


def _build_query_body(message: str, model: str) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": message}], "timezone": "UTC"}


def _build_mutation_body(message: str, model: str) -> dict[str, Any]:
    return make_request_body(
        make_input(make_text_message(message), threadId="g1", forwardedParameters={"model": model})
    )


OPENAI_STREAMED = ProtocolClient(
    "openai-streamed", True, lambda _: "/v1/chat/completions", _make_chat_body(True), read_chunks
)
OPENAI_WHOLE = ProtocolClient(
    "openai-whole", False, lambda _: "/v1/chat/completions", _make_chat_body(False), read_whole
)
AGUI = ProtocolClient("agui", True, lambda model: f"/agui/{model}", _build_run_body, read_events)
OPENBB = ProtocolClient("openbb", True, lambda model: f"/v1/query/{model}", _build_query_body, read_query)
COPILOTKIT = ProtocolClient("copilotkit", True, lambda _: "/copilotkit", _build_mutation_body, read_parts)
PROTOCOLS = (OPENAI_STREAMED, OPENAI_WHOLE, AGUI, OPENBB, COPILOTKIT)
# A failure is told in a stream with status 200, also where nothing was said before.
ERRORS_IN_STREAM = (AGUI, OPENBB, COPILOTKIT)


async def read_until_text(client: RawHttpClient, text: str) -> None:
    """Reads a stream until `text` has come."""
    head = await client.read_head()
    received = ""
    if head.headers["content-type"].startswith("multipart/"):
        async for piece in client.iterate_pieces():
            received += piece.decode()
            if text in received:
                return
    while text not in received:
        frame = await client.read_frame()
        assert frame is not None, f"the stream ended after {received!r}"
        received += extract_text(frame)


def extract_text(frame: SseFrame) -> str:
    if frame.data is None or frame.data == "[DONE]":
        return ""
    value = frame.json
    if "choices" in value:
        return "".join(choice["delta"].get("content") or "" for choice in value["choices"])
    # OpenBB's have no type.
    return str(value.get("delta", "")) if value.get("type", "TEXT_MESSAGE_CONTENT") == "TEXT_MESSAGE_CONTENT" else ""


async def poll_until(
    condition: Callable[[], bool], seconds: float = HANG_TIMEOUT, describe: Callable[[], object] = str
) -> None:
    """Waits for something that only looking can tell."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not within {seconds} s: {describe()}"
        await asyncio.sleep(0.02)


class PeakMeter:
    """The most that was seen of something that grows and shrinks."""

    def __init__(self, measure: Callable[[], int]) -> None:
        self._measure = measure
        self.start = self.peak = measure()

    async def _poll(self) -> None:
        while True:
            self.peak = max(self.peak, self._measure())
            await asyncio.sleep(0.02)

    @property
    def growth(self) -> int:
        return self.peak - self.start

    @asynccontextmanager
    async def track(self) -> AsyncIterator["PeakMeter"]:
        task = asyncio.create_task(self._poll())
        try:
            yield self
        finally:
            self.peak = max(self.peak, self._measure())
            task.cancel()
            await asyncio.wait([task])
