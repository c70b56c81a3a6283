"""CPU per token at 20 tokens/s per stream: one token per wake-up, as a real model sends them."""

from collections.abc import Sequence
from typing import Any

from bench.comparison import CostLimits, make_rows
from bench.doors import DOORS
from bench.order import StreamOrder
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from bench.streams import run_orders
from tests.kit import process

STREAMS, RATE, ROUNDS = 20, 20, 3
MAX_COST_RATIO = 1 / 10


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    tokens, limit = (50, 8.0) if stage.short else (120, 5.0)
    found = await stage.run_rounds("paced", ROUNDS, tokens / RATE + 30, tokens=tokens)
    return make_rows(
        stage, "CPU per paced token", "µs", found, CostLimits(floor_ratio=limit, foreign_ratio=MAX_COST_RATIO)
    )


async def drive(job: dict[str, Any]) -> float:
    """µs per token of the peer's whole process tree, the requests' own cost included. All streams begin within the
    time of `spread` tokens."""
    door = DOORS[job["door"]]
    await run_orders(job["url"], door, [StreamOrder(0, 3, RATE)], job["key"], spread=1 / RATE)
    orders = [StreamOrder(i, job["tokens"], RATE) for i in range(job.get("streams", STREAMS))]
    before = process.measure_cpu_seconds(job["pid"])
    await run_orders(job["url"], door, orders, job["key"], spread=job.get("spread", 1) / RATE)
    spent = process.measure_cpu_seconds(job["pid"]) - before
    return spent * 1e6 / sum(order.tokens for order in orders)


SCENARIO = Scenario("paced", run, drive, order=1)
