"""`AguiDesk`: an AG-UI agent that does what the last message says (tests/contract/agents/members.py), in
protocol 1.0 or as those before it ask. It keeps nothing of a thread but its notes and its open question."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self

from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

Json = dict[str, Any]
FrameFault = Callable[[Connection, list[bytes]], Awaitable[None]]
QUESTION = {"question": "Approve it?", "document": "Hello"}


class FakeAguiAgent:
    """`fault` answers one run instead of its frames, `instead` every request."""

    def __init__(self, *, legacy: bool = False, strict: bool = False) -> None:
        self.upstream = FakeUpstream()
        self.legacy = legacy
        self.strict = strict
        """Refuses what it does not know, as peers before 1.0 do."""
        self.notes: dict[str, list[str]] = {}
        self.open_questions: dict[str, str] = {}
        self.request_bodies: list[Json] = []
        self.fault: FrameFault | None = None
        self.reply_override: UpstreamReply | None = None

    async def __aenter__(self) -> Self:
        await self.upstream.__aenter__()
        self.upstream.reply = self.handle_request
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.upstream.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return f"{self.upstream.origin}/agent"

    async def handle_request(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.reply_override is not None:
            await self.reply_override(connection, request)
        elif request.method != "POST":
            await write_json(connection, 405, {"detail": "Method Not Allowed"})
        elif self.strict and "protocolVersion" in request.json:
            await write_json(connection, 422, {"detail": "extra fields not permitted"})
        else:
            self.request_bodies.append(request.json)
            frames = [b"data: %b\n\n" % json.dumps(event).encode() for event in self.stream_run(request.json)]
            fault, self.fault = self.fault, None
            await connection.write_head(200, SSE_HEADERS)
            await (fault or write_all_frames)(connection, frames)

    def stream_run(self, body: Json) -> Iterator[Json]:
        ids = {"threadId": body["threadId"], "runId": body["runId"]}
        yield {"type": "RUN_STARTED", **ids}
        yield {"type": "RAW", "event": {"large": "x" * 100}}
        answer = self.get_resume_payload(body)
        if answer is not None:
            yield from self.stream_resumed_run(body, answer)
            yield {"type": "RUN_FINISHED", **ids}
            return
        outcome: Json = {"type": "success"}
        for event in self.stream_reply(body):
            if event["type"] == "OUTCOME":
                outcome = event["outcome"]
            else:
                yield event
        yield {"type": "RUN_FINISHED", **ids, **({} if self.legacy else {"outcome": outcome})}

    def get_resume_payload(self, body: Json) -> Any:
        if self.legacy:
            return body["forwardedProps"].get("command", {}).get("resume")
        resume = body.get("resume")
        return resume[0].get("payload", "nothing") if resume else None

    def stream_resumed_run(self, body: Json, answer: Any) -> Iterator[Json]:
        question_run = self.open_questions.pop(body["threadId"], None)
        if question_run is None:
            yield {"type": "RUN_ERROR", "message": "the agent's own secret words", "code": "no_question"}
            return
        yield {"type": "STEP_STARTED", "stepName": "review"}
        yield from make_text_events(f"m-{body['runId']}", f"You answered {answer}.")
        yield {"type": "STEP_FINISHED", "stepName": "review"}
        if self.legacy:
            # As ag-ui-langgraph: all that the thread has, also what was said before the question.
            before = {"id": f"m-{question_run}", "role": "assistant", "content": "Let me ask."}
            yield {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user"}, before]}

    def stream_reply(self, body: Json) -> Iterator[Json]:
        last = body["messages"][-1]
        run, words = body["runId"], last["content"].split() or [""]
        match "result" if last["role"] == "tool" else words[0]:
            case "result":
                yield from make_text_events(f"m-{run}", f"It is {last['content']}.")
            case "add":
                yield from make_tool_call_events(f"add-{run}", "add", {"a": 2, "b": 3})
                result = {"toolCallId": f"add-{run}", "content": "5", "role": "tool"}
                yield {"type": "TOOL_CALL_RESULT", "messageId": f"r-{run}", **result}
                yield from make_text_events(f"m-{run}", "It is 5.")
            case "paint":
                assert "paint" in [tool["name"] for tool in body["tools"]]
                yield from make_tool_call_events(f"paint-{run}", "paint", {"colour": "red"})
                pending = {"pendingToolCallIds": [f"paint-{run}"]}
                yield {"type": "OUTCOME", "outcome": {"type": "success", **pending}}
            case "ask":
                self.open_questions[body["threadId"]] = run
                yield from self.stream_question(run)
            case "boom":
                yield {"type": "RUN_ERROR", "message": "the agent's own secret words", "code": "ValueError"}
            case _:
                yield {"type": "STEP_STARTED", "stepName": "desk"}
                yield from make_text_events(f"m-{run}", f"You said {last['content']}.")
                notes = self.notes.setdefault(body["threadId"], [])
                notes.append(f"{len(body['messages'])} messages")
                state = {"messages": [{"role": "user", "id": "u"}], "notes": list(notes)}
                yield {"type": "STATE_SNAPSHOT", "snapshot": state}
                yield {"type": "STEP_FINISHED", "stepName": "desk"}

    def stream_question(self, run: str) -> Iterator[Json]:
        if self.legacy:
            yield from make_text_events(f"m-{run}", "Let me ask.")
            yield {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(QUESTION)}
            return
        question = {"id": f"q-{run}", "reason": "input_required", "message": "Approve it?"}
        yield {"type": "OUTCOME", "outcome": {"type": "interrupt", "interrupts": [question]}}


def make_text_events(id: str, words: str) -> Iterator[Json]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
    for word in words.split(" "):
        piece = word if words.startswith(word) else f" {word}"
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": piece}
    yield {"type": "TEXT_MESSAGE_END", "messageId": id}


def make_tool_call_events(id: str, name: str, arguments: Json) -> Iterator[Json]:
    yield {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": f"p-{id}"}
    json_ = json.dumps(arguments)
    for piece in (json_[:5], json_[5:]):
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece}
    yield {"type": "TOOL_CALL_END", "toolCallId": id}


async def write_all_frames(connection: Connection, frames: list[bytes]) -> None:
    for frame in frames:
        await connection.write_chunk(frame)
    await connection.write_chunk(b"")


def cut_after(after: int) -> FrameFault:
    """The connection goes in the middle of a frame."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.write_chunk(frame)
        await connection.write_chunk(frames[after][:20])
        await connection.fin()

    return fault


def end_after(after: int) -> FrameFault:
    """The answer ends as it should, but the run does not."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        await write_all_frames(connection, frames[:after])

    return fault


def stall_after(after: int) -> FrameFault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.write_chunk(frame)
        await asyncio.Event().wait()

    return fault


def garble_after(after: int, data: bytes) -> FrameFault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        await write_all_frames(connection, [*frames[:after], data])

    return fault
