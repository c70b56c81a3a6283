"""One AG-UI agent as a Responder."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace

from rightseat.agents._peer.incoming import Incoming
from rightseat.agents._peer.lookout import Lookout
from rightseat.agents._peer.reach import Reach
from rightseat.agents.agui.aliases import Aliases
from rightseat.agents.agui.asked import Asked
from rightseat.agents.agui.mapping import Mapping
from rightseat.agents.agui.questions import thread_of
from rightseat.agents.agui.request import body, message_ids
from rightseat.errors import CallerError, UpstreamRefused, UpstreamRejected
from rightseat.http.sse import Reader
from rightseat.types.agents import Recalled
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.turn import MAX_DEPTH, Owner, Turn

EVENT_LIMIT = 32 << 20
"""Bytes of one event; a snapshot holds a whole state."""
# RAW events are large and more than half of what some peers send: skip them undecoded.
_RAW = (b'{"type":"RAW"', b'{"type": "RAW"')


class AguiAgent:
    can_ask = True

    def __init__(self, name: str, reach: Reach, lookout: Lookout, *, title: str, description: str) -> None:
        self.name = name
        self.title = title
        self.description = description
        self._reach = reach
        self._lookout = lookout
        self._asked = Asked(thread_of)
        self._aliases = Aliases()
        self._plain = False
        """The peer predates protocol 1.0 and rejects unknown fields."""

    @property
    def down(self) -> str:
        return self._lookout.down

    async def recall(self, owner: Owner, thread: str, /) -> Recalled | None:
        """Return None: AG-UI has no request for a thread's history."""
        return None

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        if turn.depth > MAX_DEPTH:
            raise CallerError(f"Assistants call each other more than {MAX_DEPTH} deep. Break the circle.")
        thread, turn = self._asked.found(turn)
        ids = message_ids(turn, thread, self._aliases)
        mapping = Mapping(turn, thread, [*ids, *self._asked.told(turn)], self._reach.faults)
        self._asked.answer(turn)
        done = False
        try:
            async with closing(self._events(turn, mapping, ids)) as events:
                async for event in events:
                    yield event
            last = mapping.end()
            done = True
        finally:
            if not done:
                self._asked.failed(turn)
        self._asked.done(turn, thread, mapping.asked)
        self._aliases.learn(thread, mapping.results)
        if mapping.asked:
            sent = tuple(replace(message, id=id) for message, id in zip(turn.messages, ids, strict=True))
            self._asked.ask(mapping.asked, (*sent, *mapping.ledger.messages))
        for event in last:
            yield event

    async def _events(self, turn: Turn, mapping: Mapping, ids: list[str]) -> AsyncIterator[Event]:
        reader = Reader(EVENT_LIMIT)
        async with await self._begun(turn, mapping.thread, ids) as answer:
            self._check(answer)
            async for data in answer:
                for payload in reader.feed(data):
                    for event in self._read(mapping, payload):
                        yield event
            for payload in reader.close():
                for event in self._read(mapping, payload):
                    yield event

    async def _begun(self, turn: Turn, thread: uuid.UUID, ids: list[str]) -> Incoming:
        try:
            answer = await self._sent(turn, thread, ids, self._plain)
        except UpstreamRefused as error:
            self._lookout.lost(error)
            raise
        self._lookout.seen()
        return answer

    async def _sent(self, turn: Turn, thread: uuid.UUID, ids: list[str], plain: bool) -> Incoming:
        try:
            return await self._reach.stream("POST", (), body(turn, thread, ids, plain=plain), turn=turn)
        except UpstreamRejected:
            if plain:
                raise
            answer = await self._reach.stream("POST", (), body(turn, thread, ids, plain=True), turn=turn)
        self._plain = True
        return answer

    def _check(self, answer: Incoming) -> None:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
            raise self._reach.faults.garbled("no event stream")

    def _read(self, mapping: Mapping, payload: bytes) -> list[Event]:
        if payload.startswith(_RAW):
            return []
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._reach.faults.garbled("an event that is no JSON") from error
        if not isinstance(event, dict):
            raise self._reach.faults.garbled("an event that is no object")
        return mapping.feed(event)
