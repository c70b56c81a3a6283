"""Mutated requests at a door of the real server: no 5xx, no hang, no growth, and it works on."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fuzz.mutations import Mutant, mutant
from tests.fuzz.valid import CHAT, EMBEDDINGS, SCRIPT
from tests.kit.client import Client, Closed, request
from tests.kit.faults import body
from tests.kit.patience import STUCK
from tests.kit.rounds import rounds
from tests.kit.server import Server
from tests.kit.upstream import Upstream

DOORS = ("openai", "agui")
GROWTH = 50e6
CANARY_EVERY = 1000
AT_ONCE = 4
CONFIG = """
[server]
log_level = "error"
[models.default]
spec = "scripted:script.json"
[models.vectors]
spec = "openai:vectors"
base_url = "{upstream}"
[assistants.default]
model = "default"
tools = ["sums:add"]
"""
SUMS = 'def add(a: int, b: int) -> int:\n    "Adds."\n    return a + b\n'
VECTOR = b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]}],"model":"vectors"}'


def count_requests() -> int:
    """Return how many requests each door gets: a hundred a round."""
    return 100 * rounds(200)


@dataclass
class Row:
    """What became of one door's requests."""

    door: str
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0
    slowest: float = 0
    growth: float = 0
    canaries: int = 0
    unset: int = 0
    """Told that nobody has set this up here: 503, as promised, so it is shown and is no fault."""
    faults: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    def cells(self) -> tuple[str, ...]:
        kinds = Counter(status // 100 for status, times in self.statuses.items() for _ in range(times))
        return (
            self.door,
            f"{self.count:,}",
            *(f"{kinds[kind]:,}" for kind in (2, 4)),
            f"{self.unset}",
            f"{kinds[5] - self.unset}",
            f"{self.slowest * 1000:.0f}",
            f"{self.growth / 1e6:+.1f}",
            f"{self.canaries}",
            f"{self.seconds:.0f}",
            f"{len(self.faults)}",
        )


HEADINGS = (
    "door",
    "requests",
    "2xx",
    "4xx",
    "503 not configured",
    "other 5xx",
    "slowest, ms",
    "RSS, MB",
    "canaries",
    "seconds",
    "faults",
)


async def whole_answer(url: str, made: Mutant) -> tuple[int, bytes]:
    async with asyncio.timeout(STUCK), Client(url) as client:
        headers = {"Connection": "close", **made.headers}
        await client.send(request(made.method, made.target, made.body, headers))
        head = await client.head()
        bare = made.method == "HEAD" or head.status == 204
        return head.status, b"" if bare else await client.body()


async def attempt(url: str, number: int, row: Row) -> None:
    made = mutant(row.door, number)
    begun = time.monotonic()
    try:
        status, said = await whole_answer(url, made)
    except (TimeoutError, Closed, ConnectionError) as error:
        row.statuses[0] += 1
        row.faults.append(f"{row.door} {number}: {type(error).__name__} {error}: {made}"[:600])
        return
    row.slowest = max(row.slowest, time.monotonic() - begun)
    row.statuses[status] += 1
    if status == 503 and made.target == EMBEDDINGS and b'"code":"not_configured"' in said:
        # A mutant that lost its model's name asks the scripted model, which has no vectors.
        row.unset += 1
    elif status >= 500 or b'"code":"internal"' in said:
        row.faults.append(f"{row.door} {number}: {status} {said[:200]!r}: {made}"[:600])


async def canary(url: str, row: Row) -> None:
    """An ordinary request, directly after strange ones."""
    said = json.dumps({"messages": [{"role": "user", "content": "add"}]}).encode()
    try:
        status, answer = await whole_answer(url, Mutant("POST", CHAT, said))
    except (TimeoutError, Closed, ConnectionError) as error:
        row.faults.append(f"canary: {type(error).__name__} {error}")
        return
    if status != 200 or b"The sum is 3" not in answer:
        row.faults.append(f"canary: {status} {answer[:200]!r}")
    row.canaries += 1


@asynccontextmanager
async def target() -> AsyncIterator[Server]:
    """The real server: a scripted model with a tool, and another for vectors."""
    async with Upstream() as upstream:
        upstream.reply = body(VECTOR)
        server = Server(config=CONFIG.format(upstream=upstream.url))
        (server.folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        (server.folder / "sums.py").write_text(SUMS, encoding="utf-8")
        async with server:
            yield server


async def storm(door: str, count: int, server: Server) -> Row:
    row = Row(door)
    # What a process takes once, at its first requests, is no growth.
    for number in range(100):
        await attempt(server.url, number, Row(door))
    await canary(server.url, row)
    begun, before = time.monotonic(), server.rss
    for first in range(0, count, CANARY_EVERY):
        numbers = iter(range(first, min(first + CANARY_EVERY, count)))
        await asyncio.gather(*(each(numbers, server.url, row) for _ in range(AT_ONCE)))
        await canary(server.url, row)
    row.seconds, row.growth = time.monotonic() - begun, float(server.rss - before)
    if row.growth > GROWTH:
        row.faults.append(f"memory grew by {row.growth / 1e6:.0f} MB")
    return row


async def each(numbers: Iterator[int], url: str, row: Row) -> None:
    """Takes from what is left; several of these share it."""
    for number in numbers:
        await attempt(url, number, row)
