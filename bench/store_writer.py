"""Program of the scenarios `shared_store` and `postgres_store`: streams that append paced tokens, as runs do.

`python -m bench.store_writer PLACE one|shared|memory|postgres STREAMS TOKENS` prints CPU per token and how long entries
waited. PLACE is a folder, or the URL of a database.
"""

import asyncio
import json
import sys
import time
from functools import partial
from pathlib import Path

from bench.rows import quantile
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.shared import SharedSQLiteStore
from rightseat.types.events import RunFinished, TextDelta
from rightseat.types.stores import MonitoredStore
from rightseat.types.threads import ThreadStore
from rightseat.types.turn import Owner

RATE = 20
OWNER = Owner("bench")


class Waits:
    """Seconds between the append of each entry and the moment its reader may have it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def note(self, begun: float, stored: asyncio.Future[None]) -> None:
        stored.result()
        self.seconds.append(time.perf_counter() - begun)


async def write_stream(store: ThreadStore, thread: str, tokens: int, delay: float, waits: Waits) -> None:
    lease = await store.begin_run(OWNER, thread, "r", assistant="", name="")
    await asyncio.sleep(delay)
    last: asyncio.Future[None] | None = None
    for number in range(1, tokens + 1):
        last = store.append_entries(OWNER, thread, lease.before + number, [TextDelta("m", " token")], lease.fence)
        if last is not None:
            last.add_done_callback(partial(waits.note, time.perf_counter()))
        await asyncio.sleep(1 / RATE)
    last = store.append_entries(OWNER, thread, lease.before + tokens + 1, [RunFinished("stop")], lease.fence)
    if last is not None:
        await last


def open_store(place: str, mode: str) -> ThreadStore:
    if mode == "memory":
        return MemoryStore()
    if mode == "postgres":
        # Imported here: it needs an extra.
        from rightseat.stores.postgres.store import PostgresStore

        return PostgresStore(place)
    folder = Path(place)
    return SharedSQLiteStore(folder, folder / "run") if mode == "shared" else SQLiteStore(folder)


async def main(place: str, mode: str, streams: int, tokens: int) -> None:
    store = open_store(place, mode)
    waits = Waits()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    before = time.process_time()
    prefix = f"{store.worker}-"
    # Spread over one interval, as streams that began at any time.
    runs = [write_stream(store, f"{prefix}{n}", tokens, n / streams / RATE, waits) for n in range(streams)]
    await asyncio.gather(*runs)
    spent = time.process_time() - before
    failure = store.failure if isinstance(store, MonitoredStore) else ""
    await store.close()
    waited = waits.seconds or [0.0]
    result = {
        "cpu": spent * 1e6 / (streams * tokens),
        "p50": quantile(waited, 0.5) * 1e3,
        "p99": quantile(waited, 0.99) * 1e3,
        "failure": failure,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
