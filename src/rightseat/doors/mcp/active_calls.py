"""Calls in progress of handshake clients: answers, cancellations and ends of sessions reach them at any worker.

Stateless clients carry all state in their requests. A handshake client's answer is a request of its own, which the
kernel may give to another worker than the one that runs the call: that worker tells all others. Whoever has the call
checks the user and the session.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import StoreFailed, Unavailable
from rightseat.http.endpoint import ThreadService
from rightseat.types.live import ControlMessage
from rightseat.types.stores import CheckpointStore
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
MCP_MESSAGE = "mcp"
"""Kind of message to other workers that has a CallMessage."""
QUESTION_ID = re.compile(r"ask-[0-9a-f]{32}")
MAX_INLINE_BYTES = 32_000
"""Size of a message up to which workers tell it to each other directly. Larger ones are kept in the store."""
STORED_SECONDS = 300.0
SEND_ATTEMPTS = 60
"""How often other workers are told what one of them does not take. It takes a fifth of a second each time."""
CallKey = tuple[str, str, str]
"""Owner, session and id of a call or of a question."""


class CallMessage(Struct, frozen=True, omit_defaults=True, tag="call"):
    """What a handshake client says about a call: the answer to a question, a cancellation, or the end of its session.
    `id` is that of the question or of the call."""

    kind: Literal["answer", "cancel", "end"]
    session: str
    id: str = ""
    result: dict[str, Any] = {}


class StoredMessage(Struct, frozen=True, tag="stored"):
    """Key of a CallMessage in the store."""

    key: str


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(CallMessage | StoredMessage)


class McpCallRegistry:
    """Calls in progress in this process, for handshake clients only: pending answers and cancellable calls."""

    def __init__(self) -> None:
        self.pending_answers: dict[CallKey, asyncio.Future[dict[str, Any]]] = {}
        self.active_calls: dict[CallKey, Callable[[], None]] = {}
        """Functions that cancel the calls."""
        self.tasks: set[asyncio.Task[None]] = set()

    def listen(self, threads: ThreadService) -> None:
        """Handle what other workers are told about calls of this one. A second time changes nothing."""
        if threads.plane is not None:
            threads.plane.handle(MCP_MESSAGE, partial(self.on_message, threads))

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
        body = _encode(message)
        if len(body) > MAX_INLINE_BYTES:
            body = await store_message(owner, body, threads)
        told = ControlMessage(MCP_MESSAGE, owner.name, body=body.decode())
        for _ in range(SEND_ATTEMPTS):
            if await threads.plane.broadcast(told):
                return
        raise Unavailable("The call may be at a worker that is busy. Send this again.", retry_after=1)

    def on_message(self, threads: ThreadService, message: ControlMessage) -> None:
        call_message = _decoder.decode(message.body)
        if isinstance(call_message, CallMessage):
            self.apply(message.owner, call_message)
        elif isinstance(threads.store, CheckpointStore):
            task = asyncio.create_task(self.apply_stored(Owner(message.owner), call_message.key, threads.store))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def apply_stored(self, owner: Owner, key: str, store: CheckpointStore) -> None:
        try:
            body = await store.get_checkpoint(owner, key)
        except StoreFailed:
            log.warning("the answer of an MCP client cannot be read: the store failed")
            return
        if body is not None and isinstance(message := _decoder.decode(body), CallMessage):
            self.apply(owner.name, message)


async def store_message(owner: Owner, body: bytes, threads: ThreadService) -> bytes:
    """Keep a message that is too large to be told, and return what to tell instead."""
    if not isinstance(threads.store, CheckpointStore):
        raise Unavailable("The answer is too large to reach its call. Send a shorter one.")
    key = f"mcp_{secrets.token_hex(16)}"
    await threads.store.save_checkpoint(owner, key, body, STORED_SECONDS)
    return _encode(StoredMessage(key))
