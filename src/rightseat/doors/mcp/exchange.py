"""One tools/call in progress: its runs, the elicitations between them, and the JSON-RPC messages sent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rightseat.doors.mcp.outcome import RunOutcome, make_result
from rightseat.doors.mcp.questions import make_elicitation, parse_answer
from rightseat.doors.mcp.wire import McpRequest, make_response
from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.http.endpoint import Host
from rightseat.types.events import Event
from rightseat.types.streams import closing, merge
from rightseat.types.turn import InterruptAnswer, Turn

MAX_ROUNDS = 10
ANSWER_TIMEOUT = 600.0
"""Seconds that a user has to answer while the client's request is open."""


@dataclass(eq=False)
class McpCallRegistry:
    """Calls in progress in this process, for handshake clients only: pending answers and cancellable calls.
    Stateless clients carry all state in their requests."""

    pending_answers: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    active_calls: dict[tuple[str, str, str], ServedToolCall] = field(default_factory=dict)

    def resolve_answer(self, owner: str, id: str, result: dict[str, Any]) -> None:
        future = self.pending_answers.get((owner, id))
        if future is not None and not future.done():
            future.set_result(result)

    def cancel_call(self, owner: str, session: str, id: str) -> None:
        if session and (exchange := self.active_calls.get((owner, session, id))):
            exchange.cancel()


class ServedToolCall:
    """One tools/call: one run, or several with elicitations of a handshake client between them."""

    def __init__(
        self, registry: McpCallRegistry, rpc: McpRequest, turn: Turn, host: Host, *, asks_client: bool
    ) -> None:
        self.registry = registry
        self.rpc = rpc
        self.turn = replace(turn, thread=turn.thread or secrets.token_hex(12))
        self.host = host
        self.asks_client = asks_client
        self.outcome = RunOutcome(turn.assistant == DIRECT_CALLS)
        self.progress = 0
        self.cancelled = False
        self.wake = asyncio.Event()

    def cancel(self) -> None:
        self.cancelled = True
        self.wake.set()

    async def stream_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield progress, questions and finally the response. A cancelled call has no response."""
        key = (self.turn.owner.name, self.rpc.session, str(self.rpc.id))
        self.registry.active_calls[key] = self
        try:
            for _ in range(MAX_ROUNDS):
                async with closing(self.stream_run()) as run_messages:
                    async for message in run_messages:
                        yield message
                if self.cancelled or not (self.outcome.questions and self.asks_client):
                    break
                async with closing(self.stream_questions()) as questions:
                    async for message in questions:
                        yield message
        finally:
            if self.registry.active_calls.get(key) is self:
                del self.registry.active_calls[key]
        if not self.cancelled:
            yield make_response(self.rpc, make_result(self.rpc, self.outcome, self.turn.thread))

    async def stream_run(self) -> AsyncIterator[dict[str, Any]]:
        """Run the turn once; yield progress notifications if the client sent a progress token."""
        self.outcome = RunOutcome(self.turn.assistant == DIRECT_CALLS)
        self.wake.clear()
        # The run has its own task, so that it can be cancelled while it waits.
        async with closing(merge(self.stream_events(), self.stream_cancellation())) as events:
            async for _, event in events:
                if event is None:
                    return
                progress = self.outcome.add_event(event)
                if progress is not None and self.rpc.progress_token is not None:
                    self.progress += 1
                    yield make_progress_notification(self.rpc, self.progress, progress)

    async def stream_events(self) -> AsyncIterator[Event | None]:
        async with closing(self.host.run(self.turn)) as events:
            async for event in events:
                yield event
        self.wake.set()

    async def stream_cancellation(self) -> AsyncIterator[Event | None]:
        await self.wake.wait()
        if self.cancelled:
            yield None

    async def stream_questions(self) -> AsyncIterator[dict[str, Any]]:
        """Send elicitations on the request's own stream and wait for the answers that the client posts."""
        answers: list[InterruptAnswer] = []
        owner = self.turn.owner.name
        for question in self.outcome.questions:
            id = f"ask-{secrets.token_hex(16)}"
            future = self.registry.pending_answers[owner, id] = asyncio.get_running_loop().create_future()
            try:
                yield {"jsonrpc": "2.0", "id": id, **make_elicitation(question)}
                answers.append(
                    parse_answer(f"{question.kind}.{question.id}", await self.wait_for_answer(future))
                )
            finally:
                del self.registry.pending_answers[owner, id]
        self.turn = replace(self.turn, answers=tuple(answers))

    async def wait_for_answer(self, future: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        self.wake.clear()
        woken = asyncio.ensure_future(self.wake.wait())
        either: set[asyncio.Future[Any]] = {future, woken}
        try:
            await asyncio.wait(either, timeout=ANSWER_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        return future.result() if future.done() else {"action": "cancel"}


def make_progress_notification(rpc: McpRequest, progress: int, message: str) -> dict[str, Any]:
    params = {"progressToken": rpc.progress_token, "progress": progress, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
