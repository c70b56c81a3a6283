"""One AG-UI agent as a Responder.

`[agents.NAME] kind = "agui"`: one agent at one address.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.agents._peer.client import AgentClient, AgentOptions, StreamingResponse, make_client, parse_agent_options
from rightseat.agents._peer.health import HealthMonitor
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.agents.agui.interrupts import PendingInterrupts, thread_of_interrupt
from rightseat.agents.agui.request import ToolResultIds, assign_message_ids, build_run_input
from rightseat.errors import (
    CallerError,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.http.sse import SseParser
from rightseat.types.agents import Agent, AgentThreadState
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import MAX_AGENT_DEPTH, Owner, Turn

EVENT_LIMIT = 32 << 20
"""Bytes of one event; a snapshot holds a whole state."""


# RAW events are large and more than half of what some peers send: skip them undecoded.
_RAW_PREFIXES = (b'{"type":"RAW"', b'{"type": "RAW"')


class AguiAgent:
    can_ask = True

    def __init__(self, name: str, client: AgentClient, health: HealthMonitor, *, title: str, description: str) -> None:
        self.name = name
        self.title = title
        self.description = description
        self._client = client
        self._health = health
        self._interrupts = PendingInterrupts(thread_of_interrupt)
        self._result_ids = ToolResultIds()
        self._legacy = False
        """The peer predates protocol 1.0 and rejects unknown fields."""

    @property
    def unavailable_reason(self) -> str:
        return self._health.down

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        """Return None: AG-UI has no request for a thread's history."""
        return None

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        if turn.depth > MAX_AGENT_DEPTH:
            raise CallerError(
                f"Assistants call each other more than {MAX_AGENT_DEPTH} levels deep. Remove the cycle in `agents`."
            )
        thread, turn = self._interrupts.resolve_turn(turn)
        ids = assign_message_ids(turn, thread, self._result_ids)
        mapper = AGUIEventMapper(turn, thread, [*ids, *self._interrupts.earlier_message_ids(turn)], self._client.errors)
        self._interrupts.mark_answered(turn)
        done = False
        try:
            async with closing(self._stream_events(turn, mapper, ids)) as events:
                async for event in events:
                    yield event
            final_events = mapper.finish()
            done = True
        finally:
            if not done:
                self._interrupts.reopen(turn)
        self._interrupts.finish_turn(turn, thread, mapper.interrupt_ids)
        self._result_ids.add(thread, mapper.result_message_ids)
        if mapper.interrupt_ids:
            sent = tuple(replace(message, id=id) for message, id in zip(turn.messages, ids, strict=True))
            self._interrupts.remember_history(mapper.interrupt_ids, (*sent, *mapper.items.messages))
        for event in final_events:
            yield event

    async def _stream_events(self, turn: Turn, mapper: AGUIEventMapper, ids: list[str]) -> AsyncIterator[Event]:
        reader = SseParser(EVENT_LIMIT)
        async with await self._open_stream(turn, mapper.thread, ids) as response:
            self._check_content_type(response)
            async for data in response:
                for payload in reader.feed(data):
                    for event in self._map_payload(mapper, payload):
                        yield event
            for payload in reader.close():
                for event in self._map_payload(mapper, payload):
                    yield event

    async def _open_stream(self, turn: Turn, thread: uuid.UUID, ids: list[str]) -> StreamingResponse:
        try:
            response = await self._post_run(turn, thread, ids, self._legacy)
        except UpstreamRefused as error:
            self._health.mark_down(error)
            raise
        self._health.mark_up()
        return response

    async def _post_run(self, turn: Turn, thread: uuid.UUID, ids: list[str], legacy: bool) -> StreamingResponse:
        try:
            return await self._client.open_stream(
                "POST", (), build_run_input(turn, thread, ids, legacy=legacy), turn=turn
            )
        except UpstreamRejected:
            if legacy:
                raise
            response = await self._client.open_stream(
                "POST", (), build_run_input(turn, thread, ids, legacy=True), turn=turn
            )
        self._legacy = True
        return response

    def _check_content_type(self, response: StreamingResponse) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
            raise self._client.errors.invalid_response("no event stream")

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


class AguiSource:
    tools: tuple[Tool, ...] = ()

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._client = make_client(name, options)
        self._health = HealthMonitor(name, self._probe)
        agent = AguiAgent(
            name, self._client, self._health, title=options.title or name, description=options.description
        )
        self.agents: Mapping[str, Agent] = {name: agent}

    async def start(self) -> None:
        await self._health.start()

    async def close(self) -> None:
        await self._health.close()
        self._client.close()

    async def _probe(self) -> None:
        """Check that a server responds, with any status: AG-UI has no route but the one that starts a run."""
        try:
            await self._client.request_json("GET", (), idempotent=False, missing_ok=True)
        except UpstreamError as error:
            if isinstance(error, UpstreamRefused | UpstreamTimeout | UpstreamOverloaded):
                raise


def agui(name: str, options: Mapping[str, Any]) -> AguiSource:
    return AguiSource(name, parse_agent_options("agui", name, options, AgentOptions))
