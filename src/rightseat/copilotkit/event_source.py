"""RuntimeEventSource and RuntimeEventStream: an adapter emits its events here, the model reads them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator

from rightseat.copilotkit.errors import CopilotKitMisuseError
from rightseat.doors.copilotkit.runtime_events import (
    ActionExecutionArgs,
    ActionExecutionEnd,
    ActionExecutionResult,
    ActionExecutionStart,
    AgentStateMessage,
    RuntimeEvent,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
)

MAX_WAITING = 64
"""Events that wait for the client before `drain` waits too."""


class RuntimeEventStream:
    """The events of one answer. `send_…` never waits; `await drain()` after it does, while a slow client lags."""

    def __init__(self) -> None:
        self._events: deque[RuntimeEvent] = deque()
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_complete = self._is_closed = False

    def emit(self, event: RuntimeEvent) -> None:
        if self._is_complete:
            raise CopilotKitMisuseError(f"The adapter emits {event.type} after complete(). Call complete() last.")
        self._events.append(event)
        self._changed.set()
        if len(self._events) >= MAX_WAITING:
            self._has_room.clear()

    async def drain(self) -> None:
        """Wait until the client has taken most of the events."""
        await self._has_room.wait()

    def complete(self) -> None:
        """End the answer: no event may follow."""
        self._is_complete = True

    def close(self) -> None:
        """End the iteration after the events that are there."""
        self._is_closed = True
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[RuntimeEvent]:
        while True:
            while self._events:
                yield self._events.popleft()
                if len(self._events) < MAX_WAITING:
                    self._has_room.set()
            if self._is_closed:
                return
            self._changed.clear()
            await self._changed.wait()

    def send_text_message_start(self, *, message_id: str, parent_message_id: str | None = None) -> None:
        self.emit(TextMessageStart(message_id=message_id, parent_message_id=parent_message_id))

    def send_text_message_content(self, *, message_id: str, content: str) -> None:
        self.emit(TextMessageContent(message_id=message_id, content=content))

    def send_text_message_end(self, *, message_id: str) -> None:
        self.emit(TextMessageEnd(message_id=message_id))

    def send_text_message(self, message_id: str, content: str) -> None:
        """Send a whole text."""
        self.send_text_message_start(message_id=message_id)
        self.send_text_message_content(message_id=message_id, content=content)
        self.send_text_message_end(message_id=message_id)

    def send_action_execution_start(
        self, *, action_execution_id: str, action_name: str, parent_message_id: str | None = None
    ) -> None:
        start = ActionExecutionStart(
            action_execution_id=action_execution_id, action_name=action_name, parent_message_id=parent_message_id
        )
        self.emit(start)

    def send_action_execution_args(self, *, action_execution_id: str, args: str) -> None:
        self.emit(ActionExecutionArgs(action_execution_id=action_execution_id, args=args))

    def send_action_execution_end(self, *, action_execution_id: str) -> None:
        self.emit(ActionExecutionEnd(action_execution_id=action_execution_id))

    def send_action_execution(
        self, *, action_execution_id: str, action_name: str, args: str, parent_message_id: str | None = None
    ) -> None:
        """Send a whole call of an action."""
        self.send_action_execution_start(
            action_execution_id=action_execution_id, action_name=action_name, parent_message_id=parent_message_id
        )
        self.send_action_execution_args(action_execution_id=action_execution_id, args=args)
        self.send_action_execution_end(action_execution_id=action_execution_id)

    def send_action_execution_result(self, *, action_execution_id: str, action_name: str, result: str) -> None:
        event = ActionExecutionResult(action_execution_id=action_execution_id, action_name=action_name, result=result)
        self.emit(event)

    def send_agent_state_message(self, *, agent_name: str, state: str, node_name: str = "") -> None:
        self.emit(AgentStateMessage(agent_name=agent_name, state=state, node_name=node_name))


StreamCallback = Callable[[RuntimeEventStream], Awaitable[None]]


class Done:
    """An awaitable that has nothing to wait for: `stream` may be awaited, and need not be."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class RuntimeEventSource(RuntimeEventStream):
    """Where an adapter emits: by a function that it gives `stream`, or directly while it processes."""

    def __init__(self) -> None:
        super().__init__()
        self.callback: StreamCallback | None = None

    def stream(self, callback: StreamCallback) -> Done:
        """Let `callback` emit the events, once `process` has returned."""
        if self.callback is not None:
            raise CopilotKitMisuseError(
                "The adapter calls event_source.stream() twice. Emit all events by one function."
            )
        self.callback = callback
        return Done()
