"""Write the frames of a ResponsePlan by hand: what graphql-core would send, at less cost per token."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.doors.copilotkit.framing import NumberedFrames
from rightseat.doors.copilotkit.plan import ROOT, FieldSelection, ResponsePlan
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.doors.copilotkit.story import Status

encode = msgspec.json.Encoder().encode
STREAMED_FIELDS = {"TextMessageOutput": "content", "ActionExecutionMessageOutput": "arguments"}
MESSAGES_PATH = b'"path":["%b","messages",' % ROOT.encode()
EVENTS_PATH = b'"path":["%b","metaEvents",' % ROOT.encode()
RESPONSE_PATH = b'"path":["%b"]}' % ROOT.encode()
UNSELECTED = 1 << 60
"""Message number for all messages that the document does not select."""


class ChunkFrames(NumberedFrames):
    """Frames of a message's chunks, and their path up to the chunk's number."""

    __slots__ = ("path",)

    def __init__(self, path: bytes, *, sized: bool) -> None:
        self.path = path
        super().__init__(b'{"incremental":[{"items":[%%b%b%%d]}],"hasNext":true}' % path, sized=sized)


class PlannedResponseWriter:
    """A ResponseSink that encodes frames by a plan. It holds the entries since the last frame, and kind and
    chunk count of each open message: memory does not grow with the answer."""

    def __init__(self, plan: ResponsePlan, request: CopilotKitRequest, *, sized: bool = True) -> None:
        self.plan = plan
        self.request = request
        self.sized = sized
        self.entries: list[bytes] = []
        self.finished = False
        self.message_count = 0
        self.event_count = 0
        self.kinds: dict[int, str] = {}
        self.chunks: dict[int, ChunkFrames] = {}

    def encode_first(self) -> bytes:
        known: dict[str, Any] = {
            "__typename": "CopilotResponse",
            "threadId": self.request.turn.thread,
            "runId": self.request.run,
            "extensions": None,
            "messages": [],
            "metaEvents": [],
        }
        selected = {name: known[name] for name in self.plan.response.fields}
        return encode({"data": {ROOT: selected}, "hasNext": True})

    def take_frame(self) -> bytes:
        """Return and clear the next frame; the last one has `hasNext` false."""
        more = b'"hasNext":false}' if self.finished else b'"hasNext":true}'
        if not self.entries:
            return b"{" + more
        joined = b",".join(self.entries)
        self.entries.clear()
        return b'{"incremental":[' + joined + b"]," + more

    # ResponseSink.

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        shape = self.plan.messages.get(kind)
        if shape is None:
            return UNSELECTED
        number = self.message_count
        self.message_count += 1
        self.kinds[number] = kind
        streamed_field = STREAMED_FIELDS.get(kind, "")
        known = {**fields, "__typename": kind, streamed_field: []}
        item = encode({name: known[name] for name in shape.fields})
        self.entries.append(b'{"items":[%b],%b%d]}' % (item, MESSAGES_PATH, number))
        if streamed_field in shape.fields:
            path = b'],%b%d,"%b",' % (MESSAGES_PATH, number, streamed_field.encode())
            self.chunks[number] = ChunkFrames(path, sized=self.sized)
        return number

    def add_chunk(self, number: int, text: str) -> None:
        if frames := self.chunks.get(number):
            self.entries.append(b'{"items":[%b%b%d]}' % (encode(text), frames.path, frames.count))
            frames.count += 1

    def set_status(self, number: int, status: Status) -> None:
        self.chunks.pop(number, None)
        kind = self.kinds.pop(number, "")
        shape = self.plan.messages.get(kind)
        if shape is not None and shape.status is not None:
            data = encode(make_deferred_fields(shape, kind, status))
            self.entries.append(b'{"data":%b,%b%d]}' % (data, MESSAGES_PATH, number))

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        if self.plan.interrupt is not None:
            item = encode({name: fields[name] for name in self.plan.interrupt})
            self.entries.append(b'{"items":[%b],%b%d]}' % (item, EVENTS_PATH, self.event_count))
            self.event_count += 1

    def finish(self, status: Status) -> None:
        self.finished = True
        shape = self.plan.response
        if shape.status is not None:
            data = encode(make_deferred_fields(shape, "CopilotResponse", status))
            self.entries.append(b'{"data":%b,%b' % (data, RESPONSE_PATH))


def make_deferred_fields(shape: FieldSelection, kind: str, status: Status) -> dict[str, Any]:
    assert shape.status is not None
    status_fields = {name: status[name] for name in shape.status[status["__typename"]]}
    return {name: status_fields if name == "status" else kind for name in shape.deferred}
