"""WorkerMessages: control messages of any size between workers. Large ones are kept in the store and named."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from rightseat.errors import StoreFailed
from rightseat.types.live import ControlMessage, LivePlane, MessageHandler
from rightseat.types.stores import CheckpointStore
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
MAX_INLINE_BYTES = 32_000
"""Size of a body up to which workers send it directly."""
STORED_SECONDS = 300.0
SEND_ATTEMPTS = 60
"""How often a message is sent that a worker does not take. The plane takes a fifth of a second for each attempt."""


class WorkerMessages:
    """Messages to other workers whose body is a text of any length."""

    def __init__(self, plane: LivePlane, store: object) -> None:
        self.plane = plane
        self.store = store if isinstance(store, CheckpointStore) else None
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def worker(self) -> str:
        return self.plane.worker

    def handle(self, kind: str, handler: MessageHandler) -> None:
        """Set the handler of a kind of message. It gets the whole body."""
        self.plane.handle(kind, partial(self.receive, handler))

    async def send(self, worker: str, message: ControlMessage) -> bool:
        """Send a message; return False if the worker is gone, or takes none for several seconds."""
        return await self.repeat(partial(self.plane.send, worker), message)

    async def broadcast(self, message: ControlMessage) -> bool:
        """Send a message to all other workers; return False if one of them takes none for several seconds."""
        return await self.repeat(self.plane.broadcast, message)

    async def repeat(self, send: Callable[[ControlMessage], Awaitable[bool]], message: ControlMessage) -> bool:
        body = message.body.encode()
        if len(body) > MAX_INLINE_BYTES and self.store is not None:
            key = f"message_{secrets.token_hex(16)}"
            await self.store.save_checkpoint(Owner(message.owner), key, body, STORED_SECONDS)
            message = replace(message, body={"key": key})
        for _ in range(SEND_ATTEMPTS):
            if await send(message):
                return True
        return False

    def receive(self, handler: MessageHandler, message: ControlMessage) -> None:
        if isinstance(message.body, str):
            handler(message)
        else:
            task = asyncio.create_task(self.receive_stored(handler, message))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def receive_stored(self, handler: MessageHandler, message: ControlMessage) -> None:
        if self.store is None:
            return
        try:
            body = await self.store.get_checkpoint(Owner(message.owner), message.body["key"])
        except StoreFailed:
            log.warning("a message of another worker cannot be read: the store failed")
            return
        if body is not None:
            handler(replace(message, body=body.decode()))
