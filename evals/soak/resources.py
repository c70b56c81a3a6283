"""What a server uses, as the kernel and its own metrics tell it, and the verdict on how that grew."""

import asyncio
import contextlib
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from rightseat.http.client import IDLE_SECONDS
from tests.kit.client import RawHttpClient
from tests.kit.process import PROC
from tests.kit.server import RightseatProcess

MAX_RSS_GROWTH = 0.05
RSS_SLACK_BYTES = 4 << 20
"""SQLite's page cache (2 MB a connection) and the allocator's arenas go on filling for about five minutes; a leak
of one KiB a visit is three times as much in two minutes."""
MAX_POOL_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""The default executor of asyncio begins a thread when all it has are busy, and keeps it."""
MAX_DATABASE_GROWTH = 0.05
POOL_SECONDS = 2 * IDLE_SECONDS + 5
"""Idle connections to a model are all closed by then: one that is left is lost."""
SAMPLE_SECONDS = 0.5
KEPT_ROW_BYTES = 1024
COUNT_THREAD_ROWS = """SELECT (SELECT count(*) FROM threads) + (SELECT count(*) FROM entries)
 + (SELECT count(*) FROM leases) + (SELECT count(*) FROM runs)"""
DATABASE_SLACK_BYTES = 256 << 10
"""Pages that SQLite has for its next rows: a small file may grow by so much."""
RUNNING_TASKS = re.compile(r"^rightseat_(tasks|runs_active) (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a server uses while it does nothing."""

    rss_bytes: float
    descriptors: float
    model_connections: float
    threads: float
    children: float
    tasks: float
    runs: float
    thread_rows: float
    kept_rows: float
    """Results of tools, which are kept for a day."""
    database_bytes: float


LABELS = {
    "rss_bytes": "RSS, MB",
    "descriptors": "descriptors",
    "model_connections": "connections to the model",
    "threads": "threads",
    "children": "child processes",
    "tasks": "asyncio tasks",
    "runs": "active runs",
    "thread_rows": "rows of threads",
    "kept_rows": "rows of kept results",
    "database_bytes": "database, MB",
}


async def read_metrics(url: str) -> dict[str, float]:
    async with RawHttpClient(url) as client:
        await client.get("/metrics")
        head = await client.read_head()
        body = await client.read_body()
    assert head.status == 200, f"/metrics answered {head.status}"
    return {name: float(value) for name, value in RUNNING_TASKS.findall(body.decode())}


def measure_database(folder: Path) -> tuple[int, int, int]:
    """Return the rows of threads, the rows of kept results, and the bytes of pages in use: free pages are used again
    before the file grows."""
    thread_rows = kept_rows = used = 0
    for file in folder.rglob("*.db"):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            thread_rows += connection.execute(COUNT_THREAD_ROWS).fetchone()[0]
            kept_rows += connection.execute("SELECT count(*) FROM kept").fetchone()[0]
            names = ("page_count", "freelist_count", "page_size")
            [pages], [free], [size] = (connection.execute(f"PRAGMA {name}").fetchone() for name in names)
            used += (pages - free) * size
    return thread_rows, kept_rows, used


@dataclass(frozen=True, slots=True)
class UsageMeter:
    """Measures one server. Connections to its model at `upstream_port` are kept for a while on purpose: they are
    counted apart."""

    server: RightseatProcess
    upstream_port: int
    database: Path

    async def measure(self) -> Usage:
        metrics = await read_metrics(self.server.url)
        pooled = {f"socket:[{inode}]" for inode in list_socket_inodes(self.server.pid, self.upstream_port)}
        files = self.server.open_files
        return Usage(
            self.measure_rss(),
            sum(file not in pooled for file in files),
            sum(file in pooled for file in files),
            self.server.thread_count,
            len(self.server.child_pids),
            metrics["tasks"],
            metrics["runs_active"],
            *measure_database(self.database),
        )

    def measure_rss(self) -> int:
        """Return the bytes of the server's own process."""
        return int((PROC / str(self.server.pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    async def measure_idle(self, seconds: float, *, pool_seconds: float = 0) -> Usage:
        """Return the least of each figure within `seconds` without load: what is on its way out is not counted.
        Connections to the model get `pool_seconds` more to be closed."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        seen = [await self.measure()]
        while (now := loop.time()) < end or (seen[-1].model_connections and now < end + pool_seconds):
            await asyncio.sleep(SAMPLE_SECONDS)
            seen.append(await self.measure())
        return Usage(*(min(getattr(usage, field.name) for usage in seen) for field in fields(Usage)))

    @contextlib.asynccontextmanager
    async def sample_rss(self) -> AsyncIterator[list[int]]:
        """Fill a list with the RSS at equal times until the block is left."""
        samples = [self.measure_rss()]

        async def sample() -> None:
            while True:
                await asyncio.sleep(SAMPLE_SECONDS)
                samples.append(self.measure_rss())

        task = asyncio.create_task(sample())
        try:
            yield samples
        finally:
            task.cancel()
            await asyncio.wait([task])


def list_socket_inodes(pid: int, remote_port: int) -> set[str]:
    """Return the inodes of TCP sockets that are connected to a port."""
    lines = (PROC / str(pid) / "net" / "tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    return {row[9] for row in rows if int(row[2].rpartition(":")[2], 16) == remote_port}


def find_growth(before: Usage, after: Usage) -> list[str]:
    """Return a sentence for each figure that grew beyond what is allowed."""
    limits = compute_limits(before, after.kept_rows)
    problems = []
    for name, label in LABELS.items():
        then, now = getattr(before, name), getattr(after, name)
        if now > getattr(limits, name):
            grew = f"grew from {format_figure(name, then)} to {format_figure(name, now)}"
            problems.append(f"{label} {grew if now > then else f'stay open: {now:g}'}")
    return problems


def compute_limits(before: Usage, kept_rows: float) -> Usage:
    """Return what a server may use at the end; `kept_rows` are there by promise and have their place."""
    database = before.database_bytes * (1 + MAX_DATABASE_GROWTH) + DATABASE_SLACK_BYTES
    return replace(
        before,
        rss_bytes=before.rss_bytes * (1 + MAX_RSS_GROWTH) + RSS_SLACK_BYTES,
        threads=before.threads + MAX_POOL_THREADS,
        model_connections=0,
        kept_rows=kept_rows,
        database_bytes=database + max(0.0, kept_rows - before.kept_rows) * KEPT_ROW_BYTES,
    )


def format_figure(name: str, value: float) -> str:
    return f"{value / 1e6:.1f}" if name.endswith("bytes") else f"{value:g}"


def format_table(columns: Iterable[tuple[str, Usage]]) -> str:
    columns = list(columns)
    lines = [("", *(title for title, _ in columns))]
    lines += [
        (label, *(format_figure(name, getattr(usage, name)) for _, usage in columns)) for name, label in LABELS.items()
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
