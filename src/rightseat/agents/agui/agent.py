"""`[agents.NAME] kind = "agui"`: one AG-UI agent at one address."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.agents._peer.client import AgentClient, AgentOptions, StreamingResponse, parse_agent_options
from rightseat.agents._peer.source import PeerAgent, PeerSource
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.agents.agui.interrupts import thread_of_interrupt
from rightseat.agents.agui.peer_threads import PeerThreads
from rightseat.agents.agui.request import assign_message_ids, build_run_input
from rightseat.errors import UpstreamError, UpstreamOverloaded, UpstreamRefused, UpstreamRejected, UpstreamTimeout
from rightseat.http.sse import SseParser
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.turn import Turn, check_agent_depth

EVENT_LIMIT = 32 << 20
"""Bytes of one event; a snapshot holds a whole state."""

# RAW events are large and more than half of what some peers send: skip them undecoded.
_RAW_PREFIXES = (b'{"type":"RAW"', b'{"type": "RAW"')


class AguiAgent(PeerAgent):
    def __init__(self, name: str, client: AgentClient, source: PeerSource, *, title: str, description: str) -> None:
        super().__init__(name, source, title=title, description=description)
        self._client = client
        self._threads = PeerThreads(name, thread_of_interrupt)
        self._legacy = False
        """The peer predates protocol 1.0 and rejects unknown fields."""

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        check_agent_depth(turn)
        await self._threads.load(turn, self._source.store)
        thread, turn = self._threads.resolve_turn(turn)
        ids = assign_message_ids(turn, thread, self._threads)
        mapper = AGUIEventMapper(turn, thread, [*ids, *self._threads.earlier_message_ids(turn)], self._client.errors)
        with self._threads.answering(turn):
            async with closing(self._stream_events(turn, mapper, ids)) as events:
                async for event in events:
                    yield event
            final_events = mapper.finish()
        self._threads.finish_turn(turn, thread, mapper.interrupt_ids, mapper.result_message_ids)
        if mapper.interrupt_ids:
            sent = tuple(replace(message, id=id) for message, id in zip(turn.messages, ids, strict=True))
            self._threads.remember_history(mapper.interrupt_ids, (*sent, *mapper.output.messages))
        await self._threads.save(turn.owner, thread, self._source.store)
        for event in final_events:
            yield event

    async def _stream_events(self, turn: Turn, mapper: AGUIEventMapper, ids: list[str]) -> AsyncIterator[Event]:
        reader = SseParser(EVENT_LIMIT)
        async with await self._open_stream(turn, mapper.thread, ids) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
                raise self._client.errors.invalid_response("no event stream")
            async for data in response:
                for payload in reader.feed(data):
                    for event in self._map_payload(mapper, payload):
                        yield event
            for payload in reader.close():
                for event in self._map_payload(mapper, payload):
                    yield event

    async def _open_stream(self, turn: Turn, thread: uuid.UUID, ids: list[str]) -> StreamingResponse:
        legacy = self._legacy

        def post(legacy: bool) -> Awaitable[StreamingResponse]:
            body = build_run_input(turn, thread, ids, legacy=legacy)
            return self._client.open_stream("POST", (), body, turn=turn)

        try:
            try:
                response = await post(legacy)
            except UpstreamRejected:
                if legacy:
                    raise
                response = await post(legacy=True)
                self._legacy = True
        except UpstreamRefused as error:
            self._source.mark_down(error)
            raise
        self._source.mark_up()
        return response

    def _map_payload(self, mapper: AGUIEventMapper, payload: bytes) -> list[Event]:
        if payload.startswith(_RAW_PREFIXES):
            return []
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._client.errors.invalid_response("an event that is no JSON") from error
        if not isinstance(event, dict):
            raise self._client.errors.invalid_response("an event that is no object")
        return mapper.feed(event)


class AguiSource(PeerSource):
    def __init__(self, name: str, options: AgentOptions) -> None:
        super().__init__(name)
        self._client = AgentClient(name, options)
        agent = AguiAgent(name, self._client, self, title=options.title or name, description=options.description)
        self.agents = {name: agent}

    async def close(self) -> None:
        await super().close()
        self._client.close()

    async def probe(self) -> None:
        """Check that a server responds, with any status: AG-UI has no route but the one that starts a run."""
        try:
            await self._client.request_json("GET", (), idempotent=False, missing_ok=True)
        except UpstreamError as error:
            if isinstance(error, UpstreamRefused | UpstreamTimeout | UpstreamOverloaded):
                raise


def agui(name: str, options: Mapping[str, Any]) -> AguiSource:
    return AguiSource(name, parse_agent_options("agui", name, options, AgentOptions))
