"""Write the frames of a ResponsePlan by hand: what graphql-core would send, at less cost per token."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.doors.copilotkit.framing import Series
from rightseat.doors.copilotkit.plan import ROOT, Plan, Shape
from rightseat.doors.copilotkit.read import Asked
from rightseat.doors.copilotkit.story import Status

encode = msgspec.json.Encoder().encode
LISTS = {"TextMessageOutput": "content", "ActionExecutionMessageOutput": "arguments"}
MESSAGES = b'"path":["%b","messages",' % ROOT.encode()
EVENTS = b'"path":["%b","metaEvents",' % ROOT.encode()
RESPONSE = b'"path":["%b"]}' % ROOT.encode()
UNTOLD = 1 << 60
"""Message number for all messages that the document does not select."""


class Chunks(Series):
    """Frames of a message's chunks, and their path up to the chunk's number."""

    __slots__ = ("path",)

    def __init__(self, path: bytes, *, sized: bool) -> None:
        self.path = path
        super().__init__(b'{"incremental":[{"items":[%%b%b%%d]}],"hasNext":true}' % path, sized=sized)


class Frames:
    """A ResponseSink that encodes frames by a plan. It holds the entries since the last frame, and kind and
    chunk count of each open message: memory does not grow with the answer."""

    def __init__(self, plan: Plan, asked: Asked, *, sized: bool = True) -> None:
        self.plan = plan
        self.asked = asked
        self.sized = sized
        self.entries: list[bytes] = []
        self.over = False
        self.messages = 0
        self.events = 0
        self.kinds: dict[int, str] = {}
        self.chunks: dict[int, Chunks] = {}

    def first(self) -> bytes:
        known: dict[str, Any] = {
            "__typename": "CopilotResponse",
            "threadId": self.asked.turn.thread,
            "runId": self.asked.run,
            "extensions": None,
            "messages": [],
            "metaEvents": [],
        }
        shown = {name: known[name] for name in self.plan.response.fields}
        return encode({"data": {ROOT: shown}, "hasNext": True})

    def take(self) -> bytes:
        """Return and clear the next frame; the last one has `hasNext` false."""
        more = b'"hasNext":false}' if self.over else b'"hasNext":true}'
        if not self.entries:
            return b"{" + more
        found = b",".join(self.entries)
        self.entries.clear()
        return b'{"incremental":[' + found + b"]," + more

    # ResponseSink.

    def message(self, kind: str, fields: dict[str, Any]) -> int:
        shape = self.plan.messages.get(kind)
        if shape is None:
            return UNTOLD
        number = self.messages
        self.messages += 1
        self.kinds[number] = kind
        streamed = LISTS.get(kind, "")
        known = {**fields, "__typename": kind, streamed: []}
        item = encode({name: known[name] for name in shape.fields})
        self.entries.append(b'{"items":[%b],%b%d]}' % (item, MESSAGES, number))
        if streamed in shape.fields:
            path = b'],%b%d,"%b",' % (MESSAGES, number, streamed.encode())
            self.chunks[number] = Chunks(path, sized=self.sized)
        return number

    def chunk(self, number: int, text: str) -> None:
        if found := self.chunks.get(number):
            self.entries.append(b'{"items":[%b%b%d]}' % (encode(text), found.path, found.count))
            found.count += 1

    def status(self, number: int, status: Status) -> None:
        self.chunks.pop(number, None)
        kind = self.kinds.pop(number, "")
        shape = self.plan.messages.get(kind)
        if shape is not None and shape.status is not None:
            data = encode(later(shape, kind, status))
            self.entries.append(b'{"data":%b,%b%d]}' % (data, MESSAGES, number))

    def meta(self, fields: dict[str, Any]) -> None:
        if self.plan.interrupt is not None:
            item = encode({name: fields[name] for name in self.plan.interrupt})
            self.entries.append(b'{"items":[%b],%b%d]}' % (item, EVENTS, self.events))
            self.events += 1

    def end(self, status: Status) -> None:
        self.over = True
        shape = self.plan.response
        if shape.status is not None:
            data = encode(later(shape, "CopilotResponse", status))
            self.entries.append(b'{"data":%b,%b' % (data, RESPONSE))


def later(shape: Shape, kind: str, status: Status) -> dict[str, Any]:
    assert shape.status is not None
    told = {name: status[name] for name in shape.status[status["__typename"]]}
    return {name: told if name == "status" else kind for name in shape.later}
