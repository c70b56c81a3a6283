"""One tools/call in progress: its runs, the elicitations between them, and the JSON-RPC messages sent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rightseat.doors.mcp.outcome import Heard, result_of
from rightseat.doors.mcp.questions import answer_of, put
from rightseat.doors.mcp.wire import Ask, response
from rightseat.engine.toolsets import CALLED
from rightseat.http.endpoint import Host
from rightseat.types.events import Event
from rightseat.types.streams import closing, merge
from rightseat.types.turn import Answer, Turn

ROUNDS = 10
PATIENCE = 600.0
"""Seconds that a user has to answer while the client's request is open."""


@dataclass(eq=False)
class Desk:
    """Calls in progress in this process, for handshake clients only: pending answers and cancellable calls.
    Stateless clients carry all state in their requests."""

    waiting: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    running: dict[tuple[str, str, str], Exchange] = field(default_factory=dict)

    def hear(self, owner: str, id: str, result: dict[str, Any]) -> None:
        future = self.waiting.get((owner, id))
        if future is not None and not future.done():
            future.set_result(result)

    def stop(self, owner: str, session: str, id: str) -> None:
        if session and (exchange := self.running.get((owner, session, id))):
            exchange.call_off()


class Exchange:
    """One tools/call: one run, or several with elicitations of a handshake client between them."""

    def __init__(self, desk: Desk, ask: Ask, turn: Turn, host: Host, *, asks: bool) -> None:
        self.desk = desk
        self.ask = ask
        self.turn = replace(turn, thread=turn.thread or secrets.token_hex(12))
        self.host = host
        self.asks = asks
        self.heard = Heard(turn.assistant == CALLED)
        self.progress = 0
        self.called_off = False
        self.wake = asyncio.Event()

    def call_off(self) -> None:
        self.called_off = True
        self.wake.set()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield progress, questions and finally the response. A cancelled call has no response."""
        key = (self.turn.owner.name, self.ask.session, str(self.ask.id))
        self.desk.running[key] = self
        try:
            for _ in range(ROUNDS):
                async with closing(self.round()) as told:
                    async for message in told:
                        yield message
                if self.called_off or not (self.heard.questions and self.asks):
                    break
                async with closing(self.questions()) as asked:
                    async for message in asked:
                        yield message
        finally:
            if self.desk.running.get(key) is self:
                del self.desk.running[key]
        if not self.called_off:
            yield response(self.ask, result_of(self.ask, self.heard, self.turn.thread))

    async def round(self) -> AsyncIterator[dict[str, Any]]:
        """Run the turn once; yield progress notifications if the client sent a progress token."""
        self.heard = Heard(self.turn.assistant == CALLED)
        self.wake.clear()
        # The run has its own task, so that it can be cancelled while it waits.
        async with closing(merge(self.events(), self.stopped())) as events:
            async for _, event in events:
                if event is None:
                    return
                told = self.heard.take(event)
                if told is not None and self.ask.token is not None:
                    self.progress += 1
                    yield notice(self.ask, self.progress, told)

    async def events(self) -> AsyncIterator[Event | None]:
        async with closing(self.host.run(self.turn)) as events:
            async for event in events:
                yield event
        self.wake.set()

    async def stopped(self) -> AsyncIterator[Event | None]:
        await self.wake.wait()
        if self.called_off:
            yield None

    async def questions(self) -> AsyncIterator[dict[str, Any]]:
        """Send elicitations on the request's own stream and wait for the answers that the client posts."""
        given: list[Answer] = []
        owner = self.turn.owner.name
        for question in self.heard.questions:
            id = f"ask-{secrets.token_hex(16)}"
            future = self.desk.waiting[owner, id] = asyncio.get_running_loop().create_future()
            try:
                yield {"jsonrpc": "2.0", "id": id, **put(question)}
                given.append(answer_of(f"{question.kind}.{question.id}", await self.patient(future)))
            finally:
                del self.desk.waiting[owner, id]
        self.turn = replace(self.turn, answers=tuple(given))

    async def patient(self, future: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        self.wake.clear()
        woken = asyncio.ensure_future(self.wake.wait())
        either: set[asyncio.Future[Any]] = {future, woken}
        try:
            await asyncio.wait(either, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        return future.result() if future.done() else {"action": "cancel"}


def notice(ask: Ask, progress: int, message: str) -> dict[str, Any]:
    params = {"progressToken": ask.token, "progress": progress, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
