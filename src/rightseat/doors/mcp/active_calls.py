"""Calls in progress of handshake clients: answers, cancellations and ends of sessions reach them at any worker.

Stateless clients carry all state in their requests. A handshake client's answer is a request of its own, which the
kernel may give to another worker than the one that runs the call: that worker tells all others. Whoever has the call
checks the user and the session.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import Unavailable
from rightseat.http.endpoint import ThreadService
from rightseat.types.live import ControlMessage, LivePlane
from rightseat.types.turn import Owner

if TYPE_CHECKING:
    from rightseat.runtime.worker_messages import WorkerMessages

MCP_MESSAGE = "mcp"
"""Kind of message to other workers that has a CallMessage."""
QUESTION_ID = re.compile(r"ask-[0-9a-f]{32}")
CallKey = tuple[str, str, str]
"""Owner, session and id of a call or of a question."""


class CallMessage(Struct, frozen=True, omit_defaults=True):
    """What a handshake client says about a call: the answer to a question, a cancellation, or the end of its session.
    `id` is that of the question or of the call."""

    kind: Literal["answer", "cancel", "end"]
    session: str
    id: str = ""
    result: dict[str, Any] = {}


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(CallMessage)


def make_messages(plane: LivePlane, store: object) -> WorkerMessages:
    # Imported here: one worker alone sends none.
    from rightseat.runtime.worker_messages import WorkerMessages

    return WorkerMessages(plane, store)


class McpCallRegistry:
    """Calls in progress in this process, for handshake clients only: pending answers and cancellable calls."""

    def __init__(self) -> None:
        self.pending_answers: dict[CallKey, asyncio.Future[dict[str, Any]]] = {}
        self.active_calls: dict[CallKey, Callable[[], None]] = {}
        """Functions that cancel the calls."""
        self.plane: LivePlane | None = None

    def listen(self, threads: ThreadService) -> None:
        """Handle what other workers are told about calls of this one. A second time changes nothing."""
        if threads.plane is not None and threads.plane is not self.plane:
            self.plane = threads.plane
            make_messages(threads.plane, threads.store).handle(MCP_MESSAGE, self.on_message)

    def on_message(self, message: ControlMessage) -> None:
        self.apply(message.owner, _decoder.decode(message.body))

    def apply(self, owner: str, message: CallMessage) -> bool:
        """Do what a client says; return whether this process has what the message is about. Ends of sessions may be
        about several processes."""
        key = (owner, message.session, message.id)
        if message.kind == "answer":
            future = self.pending_answers.get(key)
            if future is not None and not future.done():
                future.set_result(message.result)
            return future is not None
        if message.kind == "cancel":
            cancel = self.active_calls.get(key)
            if cancel is not None:
                cancel()
            return cancel is not None
        for active, cancel in list(self.active_calls.items()):
            if active[:2] == key[:2]:
                cancel()
        return False

    async def deliver(self, owner: Owner, message: CallMessage, threads: ThreadService) -> None:
        """Do what a client says, at whichever worker it is about. Raises Unavailable if a worker does not take it."""
        is_question = message.kind != "answer" or QUESTION_ID.fullmatch(message.id)
        if not message.session or not is_question or self.apply(owner.name, message) or threads.plane is None:
            return
        told = ControlMessage(MCP_MESSAGE, owner.name, body=_encode(message).decode())
        if not await make_messages(threads.plane, threads.store).broadcast(told):
            raise Unavailable("The call may be at a worker that is busy. Send this again.", retry_after=1)
