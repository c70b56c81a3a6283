"""A store that is slow to say what it has done."""

import asyncio
from collections.abc import Callable

from rightseat.stores.memory import MemoryStore
from rightseat.types.turn import Owner


class SlowStore(MemoryStore):
    """Store whose writes of checkpoints are done before their callers know."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()
        self.go_on = asyncio.Event()

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        await super().update_checkpoint(owner, key, update, seconds)
        self.written.set()
        await self.go_on.wait()
