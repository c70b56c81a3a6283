"""CPU per token at 20 tokens/s per stream: one token per wake-up, as a real model sends them."""

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

STREAMS, RATE, ROUNDS = 20, 20, 3
PART = 1 / 10


async def run(stage: Stage) -> Sequence[Row]:
    tokens, limit = (50, 6.0) if stage.short else (120, 4.0)
    found = await stage.rounds("paced", ROUNDS, tokens / RATE + 30, tokens=tokens)
    return judge(stage, "CPU per paced token", "µs", found, Limits(floor=limit, foreign=PART))


async def drive(job: dict[str, Any]) -> float:
    """µs per token of the peer's whole process tree, the requests' own cost included."""
    door = DOORS[job["door"]]
    await load(job["url"], door, [Order(0, 3, RATE)], job["key"], spread=1 / RATE)
    orders = [Order(i, job["tokens"], RATE) for i in range(STREAMS)]
    before = process.cpu_seconds(job["pid"])
    await load(job["url"], door, orders, job["key"], spread=1 / RATE)
    spent = process.cpu_seconds(job["pid"]) - before
    return spent * 1e6 / sum(order.tokens for order in orders)


SCENARIO = Scenario("paced", run, drive, order=1)
