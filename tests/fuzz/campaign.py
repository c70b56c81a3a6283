"""Mutated requests at a door of the real server: no 5xx, no hang, no growth, and it works on."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fuzz.mutations import MutatedRequest, mutate_request
from tests.fuzz.valid_requests import CHAT_PATH, EMBEDDINGS_PATH, SCRIPT
from tests.kit.client import RawHttpClient, TruncatedResponse, build_raw_request
from tests.kit.faults import answer_body
from tests.kit.rounds import limit_rounds
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

DOORS = ("openai", "agui")
MAX_GROWTH_BYTES = 50e6
CANARY_EVERY = 1000
CONCURRENCY = 4
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
TOOL_MODULE = 'def add(a: int, b: int) -> int:\n    "Adds."\n    return a + b\n'
EMBEDDING_BODY = b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1]}],"model":"vectors"}'


def count_requests() -> int:
    """Return how many requests each door gets: a hundred a round."""
    return 100 * limit_rounds(200)


@dataclass
class CampaignResult:
    """What became of one door's requests."""

    door: str
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0
    slowest: float = 0
    growth: float = 0
    canaries: int = 0
    unconfigured: int = 0
    """Told that nobody has set this up here: 503, as promised, so it is shown and is no fault."""
    faults: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    def format_cells(self) -> tuple[str, ...]:
        kinds = Counter(status // 100 for status, times in self.statuses.items() for _ in range(times))
        return (
            self.door,
            f"{self.count:,}",
            *(f"{kinds[kind]:,}" for kind in (2, 4)),
            f"{self.unconfigured}",
            f"{kinds[5] - self.unconfigured}",
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


async def send_mutant(url: str, mutated: MutatedRequest) -> tuple[int, bytes]:
    async with asyncio.timeout(HANG_TIMEOUT), RawHttpClient(url) as client:
        headers = {"Connection": "close", **mutated.headers}
        await client.send(build_raw_request(mutated.method, mutated.target, mutated.body, headers))
        head = await client.read_head()
        bare = mutated.method == "HEAD" or head.status == 204
        return head.status, b"" if bare else await client.read_body()


async def try_mutant(url: str, number: int, result: CampaignResult) -> None:
    mutated = mutate_request(result.door, number)
    started = time.monotonic()
    try:
        status, content = await send_mutant(url, mutated)
    except (TimeoutError, TruncatedResponse, ConnectionError) as error:
        result.statuses[0] += 1
        result.faults.append(f"{result.door} {number}: {type(error).__name__} {error}: {mutated}"[:600])
        return
    result.slowest = max(result.slowest, time.monotonic() - started)
    result.statuses[status] += 1
    if status == 503 and mutated.target == EMBEDDINGS_PATH and b'"code":"not_configured"' in content:
        # A mutant that lost its model's name asks the scripted model, which has no vectors.
        result.unconfigured += 1
    elif status >= 500 or b'"code":"internal"' in content:
        result.faults.append(f"{result.door} {number}: {status} {content[:200]!r}: {mutated}"[:600])


async def send_canary(url: str, result: CampaignResult) -> None:
    """An ordinary request, directly after strange ones."""
    question = json.dumps({"messages": [{"role": "user", "content": "add"}]}).encode()
    try:
        status, answer = await send_mutant(url, MutatedRequest("POST", CHAT_PATH, question))
    except (TimeoutError, TruncatedResponse, ConnectionError) as error:
        result.faults.append(f"canary: {type(error).__name__} {error}")
        return
    if status != 200 or b"The sum is 3" not in answer:
        result.faults.append(f"canary: {status} {answer[:200]!r}")
    result.canaries += 1


@asynccontextmanager
async def run_target() -> AsyncIterator[RightseatProcess]:
    """The real server: a scripted model with a tool, and another for vectors."""
    async with FakeUpstream() as upstream:
        upstream.reply = answer_body(EMBEDDING_BODY)
        server = RightseatProcess(config=CONFIG.format(upstream=upstream.base_url))
        (server.folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        (server.folder / "sums.py").write_text(TOOL_MODULE, encoding="utf-8")
        async with server:
            yield server


async def run_campaign(door: str, count: int, server: RightseatProcess) -> CampaignResult:
    result = CampaignResult(door)
    # What a process takes once, at its first requests, is no growth.
    for number in range(100):
        await try_mutant(server.url, number, CampaignResult(door))
    await send_canary(server.url, result)
    started, before = time.monotonic(), server.rss_bytes
    for first in range(0, count, CANARY_EVERY):
        numbers = iter(range(first, min(first + CANARY_EVERY, count)))
        await asyncio.gather(*(try_numbers(numbers, server.url, result) for _ in range(CONCURRENCY)))
        await send_canary(server.url, result)
    result.seconds, result.growth = time.monotonic() - started, float(server.rss_bytes - before)
    if result.growth > MAX_GROWTH_BYTES:
        result.faults.append(f"memory grew by {result.growth / 1e6:.0f} MB")
    return result


async def try_numbers(numbers: Iterator[int], url: str, result: CampaignResult) -> None:
    """Takes from what is left; several of these share it."""
    for number in numbers:
        await try_mutant(url, number, result)
