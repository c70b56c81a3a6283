"""Program of a worker that shares a store: it reads commands from its input and writes one line for each."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from rightseat.errors import Conflict
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.sqlite.shared import SharedSQLiteStore
from rightseat.types.events import RunFinished, RunStarted, TextDelta, TextStart
from rightseat.types.threads import Lease, ThreadEntry
from rightseat.types.turn import Owner

ME = Owner("me")


def open_store(place: str, *more: str) -> SharedSQLiteStore | PostgresStore:
    """Open the store in a folder, or in a schema of a database."""
    if place.startswith("postgresql:"):
        return PostgresStore(place, schema=more[0])
    return SharedSQLiteStore(Path(place), Path(place) / "run")


class Commands:
    def __init__(self, *place: str) -> None:
        self.store = open_store(*place)
        self.leases: dict[str, Lease] = {}
        self.said: dict[str, int] = {}

    async def begin(self, thread: str) -> str:
        try:
            lease = await self.store.begin_run(ME, thread, f"r-{self.store.worker}", assistant="", name="")
        except Conflict:
            return "busy"
        self.leases[thread] = lease
        return f"lease {lease.fence}"

    async def end(self, thread: str) -> str:
        lease = self.leases.pop(thread)
        await self.store.append_entries(ME, thread, lease.before + 1, [RunFinished("stop")], lease.fence)
        return "ended"

    async def say(self, thread: str, count: str) -> str:
        """Append deltas; what is said to be said is what a reader may have seen."""
        lease, first = self.leases[thread], self.said.get(thread, 0)
        start = lease.before + first + 1
        if not first:
            opened: list[ThreadEntry] = [RunStarted(thread, "r"), TextStart("m")]
            await self.store.append_entries(ME, thread, start, opened, lease.fence)
            first, start = 2, start + 2
        for number in range(int(count)):
            await self.store.append_entries(ME, thread, start + number, [TextDelta("m", f"{number} ")], lease.fence)
        self.said[thread] = first + int(count)
        return f"said {count}"

    async def stream(self, prefix: str, streams: str, count: str) -> str:
        """Append to many threads at once, each token after the one before has been shown."""

        async def run(thread: str) -> None:
            lease = await self.store.begin_run(ME, thread, "r", assistant="", name="")
            for number in range(int(count)):
                text = TextDelta("m", f"{number} ")
                await self.store.append_entries(ME, thread, lease.before + number + 1, [text], lease.fence)
            end = lease.before + int(count) + 1
            await self.store.append_entries(ME, thread, end, [RunFinished("stop")], lease.fence)

        await asyncio.gather(*(run(f"{prefix}-{number}") for number in range(int(streams))))
        return f"streamed {int(streams) * int(count)} failures {int(bool(self.store.failure))}"

    async def fork(self) -> str:
        """Start a child without exec, as libraries do; it outlives this process."""
        pid = os.fork()
        if not pid:
            os.close(0)
            os.close(1)
            signal.pause()
        return str(pid)

    async def block(self) -> str:
        """Block the event loop until the input ends."""
        print("blocking", flush=True)
        sys.stdin.read()
        return "ended"


async def main() -> None:
    commands = Commands(*sys.argv[1:])
    print(commands.store.worker, flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *words = line.split()
        print(await getattr(commands, name)(*words), flush=True)


asyncio.run(main())
