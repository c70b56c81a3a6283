"""`AguiDesk`: an AG-UI agent that does what the last message says (tests/contract/agents/members.py), in
protocol 1.0 or as those before it ask. It keeps nothing of a thread but its notes and its open question."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self

from tests.kit.answers import SSE, Reply, write_json
from tests.kit.connection import Connection, Received
from tests.kit.upstream import Upstream

Json = dict[str, Any]
Fault = Callable[[Connection, list[bytes]], Awaitable[None]]
ASKED = {"question": "Approve it?", "document": "Hello"}


class AguiDesk:
    """`fault` answers one run instead of its frames, `instead` every request."""

    def __init__(self, *, older: bool = False, strict: bool = False) -> None:
        self.upstream = Upstream()
        self.older = older
        self.strict = strict
        """Refuses what it does not know, as peers before 1.0 do."""
        self.notes: dict[str, list[str]] = {}
        self.open: dict[str, str] = {}
        self.bodies: list[Json] = []
        self.fault: Fault | None = None
        self.instead: Reply | None = None

    async def __aenter__(self) -> Self:
        await self.upstream.__aenter__()
        self.upstream.reply = self.answer
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.upstream.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return f"{self.upstream.origin}/agent"

    async def answer(self, connection: Connection, request: Received) -> None:
        if self.instead is not None:
            await self.instead(connection, request)
        elif request.method != "POST":
            await write_json(connection, 405, {"detail": "Method Not Allowed"})
        elif self.strict and "protocolVersion" in request.json:
            await write_json(connection, 422, {"detail": "extra fields not permitted"})
        else:
            self.bodies.append(request.json)
            frames = [b"data: %b\n\n" % json.dumps(event).encode() for event in self.run(request.json)]
            fault, self.fault = self.fault, None
            await connection.head(200, SSE)
            await (fault or whole)(connection, frames)

    def run(self, body: Json) -> Iterator[Json]:
        ids = {"threadId": body["threadId"], "runId": body["runId"]}
        yield {"type": "RUN_STARTED", **ids}
        yield {"type": "RAW", "event": {"large": "x" * 100}}
        answer = self.answered(body)
        if answer is not None:
            yield from self.resumed(body, answer)
            yield {"type": "RUN_FINISHED", **ids}
            return
        outcome: Json = {"type": "success"}
        for event in self.desk(body):
            if event["type"] == "OUTCOME":
                outcome = event["outcome"]
            else:
                yield event
        yield {"type": "RUN_FINISHED", **ids, **({} if self.older else {"outcome": outcome})}

    def answered(self, body: Json) -> Any:
        if self.older:
            return body["forwardedProps"].get("command", {}).get("resume")
        resume = body.get("resume")
        return resume[0].get("payload", "nothing") if resume else None

    def resumed(self, body: Json, answer: Any) -> Iterator[Json]:
        asked = self.open.pop(body["threadId"], None)
        if asked is None:
            yield {"type": "RUN_ERROR", "message": "the agent's own secret words", "code": "no_question"}
            return
        yield {"type": "STEP_STARTED", "stepName": "review"}
        yield from text(f"m-{body['runId']}", f"You answered {answer}.")
        yield {"type": "STEP_FINISHED", "stepName": "review"}
        if self.older:
            # As ag-ui-langgraph: all that the thread has, also what was said before the question.
            before = {"id": f"m-{asked}", "role": "assistant", "content": "Let me ask."}
            yield {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user"}, before]}

    def desk(self, body: Json) -> Iterator[Json]:
        last = body["messages"][-1]
        run, words = body["runId"], last["content"].split() or [""]
        match "result" if last["role"] == "tool" else words[0]:
            case "result":
                yield from text(f"m-{run}", f"It is {last['content']}.")
            case "add":
                yield from call(f"add-{run}", "add", {"a": 2, "b": 3})
                result = {"toolCallId": f"add-{run}", "content": "5", "role": "tool"}
                yield {"type": "TOOL_CALL_RESULT", "messageId": f"r-{run}", **result}
                yield from text(f"m-{run}", "It is 5.")
            case "paint":
                assert "paint" in [tool["name"] for tool in body["tools"]]
                yield from call(f"paint-{run}", "paint", {"colour": "red"})
                pending = {"pendingToolCallIds": [f"paint-{run}"]}
                yield {"type": "OUTCOME", "outcome": {"type": "success", **pending}}
            case "ask":
                self.open[body["threadId"]] = run
                yield from self.ask(run)
            case "boom":
                yield {"type": "RUN_ERROR", "message": "the agent's own secret words", "code": "ValueError"}
            case _:
                yield {"type": "STEP_STARTED", "stepName": "desk"}
                yield from text(f"m-{run}", f"You said {last['content']}.")
                notes = self.notes.setdefault(body["threadId"], [])
                notes.append(f"{len(body['messages'])} messages")
                state = {"messages": [{"role": "user", "id": "u"}], "notes": list(notes)}
                yield {"type": "STATE_SNAPSHOT", "snapshot": state}
                yield {"type": "STEP_FINISHED", "stepName": "desk"}

    def ask(self, run: str) -> Iterator[Json]:
        if self.older:
            yield from text(f"m-{run}", "Let me ask.")
            yield {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(ASKED)}
            return
        question = {"id": f"q-{run}", "reason": "input_required", "message": "Approve it?"}
        yield {"type": "OUTCOME", "outcome": {"type": "interrupt", "interrupts": [question]}}


def text(id: str, words: str) -> Iterator[Json]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
    for word in words.split(" "):
        piece = word if words.startswith(word) else f" {word}"
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": piece}
    yield {"type": "TEXT_MESSAGE_END", "messageId": id}


def call(id: str, name: str, arguments: Json) -> Iterator[Json]:
    yield {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": f"p-{id}"}
    json_ = json.dumps(arguments)
    for piece in (json_[:5], json_[5:]):
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece}
    yield {"type": "TOOL_CALL_END", "toolCallId": id}


async def whole(connection: Connection, frames: list[bytes]) -> None:
    for frame in frames:
        await connection.chunk(frame)
    await connection.chunk(b"")


def cut(after: int) -> Fault:
    """The connection goes in the middle of a frame."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.chunk(frame)
        await connection.chunk(frames[after][:20])
        await connection.fin()

    return fault


def ended(after: int) -> Fault:
    """The answer ends as it should, but the run does not."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        await whole(connection, frames[:after])

    return fault


def stall(after: int) -> Fault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.chunk(frame)
        await asyncio.Event().wait()

    return fault


def garbled(after: int, data: bytes) -> Fault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        await whole(connection, [*frames[:after], data])

    return fault
