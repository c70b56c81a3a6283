"""CPU per token at full speed: the upstream writes 32 tokens at a time, as fast as they are taken."""

from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.judge import Limits, judge
from bench.load import Order
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from bench.streams import load
from tests.kit import process

STREAMS, TOKENS, ROUNDS = 10, 1000, 3
PART = 1 / 40


async def run(stage: Stage) -> Sequence[Row]:
    found = await stage.rounds("rush", ROUNDS, 120)
    return judge(stage, "CPU per token, full speed", "µs", found, Limits(foreign=PART))


async def drive(job: dict[str, Any]) -> float:
    """µs per token of the peer's whole process tree, the requests' own cost included."""
    door = DOORS[job["door"]]
    await load(job["url"], door, [Order(0, 3, 0)], job["key"])
    orders = [Order(i, TOKENS, 0) for i in range(STREAMS)]
    before = process.cpu_seconds(job["pid"])
    await load(job["url"], door, orders, job["key"])
    spent = process.cpu_seconds(job["pid"]) - before
    return spent * 1e6 / (STREAMS * TOKENS)


SCENARIO = Scenario("rush", run, drive, short=False, order=3)
