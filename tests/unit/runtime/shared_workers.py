"""Two workers with one store, a model that speaks when it is let, and readers."""

import asyncio
import copy
import sys
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rightseat import Owner, Runtime, Turn, text_message
from rightseat.live.memory import MemoryHub, MemoryPlane
from rightseat.runtime.shared_threads import SharedThreadRuns
from rightseat.runtime.threads import RunLimits
from rightseat.stores.memory import MemoryStore
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.events import TextDelta
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from rightseat.types.threads import ANY_FENCE, NumberedEntry, ThreadStore
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import read_into, wait_until

ME = Owner("me")


class GatedModel(Model):
    """A model that says a word each time it is let, and counts its calls."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.calls = 0
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.calls += 1
        try:
            while (word := await self.words.get()) is not None:
                yield TextChunk(word)
            yield FinishChunk("stop")
        finally:
            self.closed.set()

    def say(self, *words: str | None) -> None:
        for word in words:
            self.words.put_nowait(word)


class ListedPresence:
    """Presence that a test tells who is dead."""

    def __init__(self, worker: str, dead: set[str]) -> None:
        self.worker = worker
        self.dead = dead

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return set(workers) & self.dead

    async def close(self) -> None:
        pass


class LoggingStore(MemoryStore):
    """A store that has entries a moment after they are appended, as one that other processes share."""

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Any, fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        if fence == ANY_FENCE:
            return super().append_entries(owner, thread, first, entries)
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def store() -> None:
            refused = super(LoggingStore, self).append_entries(owner, thread, first, entries, fence)
            if stored.done():
                return
            if refused is None:
                stored.set_result(None)
            else:
                stored.set_exception(refused.exception() or RuntimeError())
                stored.exception()

        asyncio.get_running_loop().call_later(0.001, store)
        return stored


class Workers:
    """Two workers, A and B, with one store."""

    def __init__(self, stores: tuple[ThreadStore, ThreadStore], **limits: Any) -> None:
        self.hub = MemoryHub()
        self.dead: set[str] = set()
        self.model = GatedModel()
        self.runtime = Runtime(model=self.model)
        self.a, self.b = (self.make_worker(store, **limits) for store in stores)

    def make_worker(self, store: ThreadStore, **limits: Any) -> SharedThreadRuns:
        plane, presence = MemoryPlane(self.hub, store.worker), ListedPresence(store.worker, self.dead)
        return SharedThreadRuns(store, RunLimits(**limits), plane=plane, presence=presence)

    async def start(self, worker: SharedThreadRuns, run: str = "r1", text: str = "hi") -> AsyncIterator[NumberedEntry]:
        turn = Turn(messages=(text_message("user", text),), thread="t", run=run, owner=ME)
        return await worker.start(turn, self.runtime.run)

    def kill(self, worker: SharedThreadRuns) -> None:
        """Let a worker be dead for the others: what it still does reaches nobody."""
        self.dead.add(worker.store.worker)
        self.hub.planes.pop(worker.store.worker, None)


MakeWorkers = Callable[..., Workers]


def share_memory_store(folder: Path) -> tuple[ThreadStore, ThreadStore]:
    first = MemoryStore(worker="1")
    second = copy.copy(first)
    second.worker = "2"
    return first, second


def share_logging_store(folder: Path) -> tuple[ThreadStore, ThreadStore]:
    first = LoggingStore(worker="1")
    second = copy.copy(first)
    second.worker = "2"
    return first, second


def share_sqlite_file(folder: Path) -> tuple[ThreadStore, ThreadStore]:
    from rightseat.stores.sqlite.shared import SharedSQLiteStore

    run_folder = folder / "run"
    run_folder.mkdir()
    return SharedSQLiteStore(folder, run_folder), SharedSQLiteStore(folder, run_folder)


STORES: dict[str, Callable[[Path], tuple[ThreadStore, ThreadStore]]] = {
    "memory": share_memory_store,
    "logged": share_logging_store,
}
if sys.platform != "win32":
    STORES["sqlite"] = share_sqlite_file


async def collect(items: AsyncIterator[NumberedEntry]) -> list[NumberedEntry]:
    async with asyncio.timeout(HANG_TIMEOUT), closing(items):
        return [item async for item in items]


@asynccontextmanager
async def reading(items: AsyncIterator[NumberedEntry]) -> AsyncIterator[list[NumberedEntry]]:
    """What a reader has so far; it leaves at the end of the block."""
    seen: list[NumberedEntry] = []
    task = asyncio.create_task(read_into(items, seen))
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.wait([task])


def join_words(items: list[NumberedEntry]) -> str:
    return "".join(event.text for _, event in items if isinstance(event, TextDelta))


def drop_deltas(items: list[NumberedEntry]) -> list[NumberedEntry]:
    return [item for item in items if not isinstance(item[1], TextDelta)]


async def wait_for_words(seen: list[NumberedEntry], words: str) -> None:
    await wait_until(lambda: join_words(seen) == words)
