"""CPU per token at full speed: the upstream writes 32 tokens at a time, as fast as they are taken."""

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

STREAMS, TOKENS, ROUNDS = 10, 1000, 3
MAX_COST_RATIO = 1 / 40


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    found = await stage.run_rounds("rush", ROUNDS, 120)
    return make_rows(stage, "CPU per token, full speed", "µs", found, CostLimits(foreign_ratio=MAX_COST_RATIO))


async def drive(job: dict[str, Any]) -> float:
    """µs per token of the peer's whole process tree, the requests' own cost included."""
    door = DOORS[job["door"]]
    await run_orders(job["url"], door, [StreamOrder(0, 3, 0)], job["key"])
    orders = [StreamOrder(i, TOKENS, 0) for i in range(STREAMS)]
    before = process.measure_cpu_seconds(job["pid"])
    await run_orders(job["url"], door, orders, job["key"])
    spent = process.measure_cpu_seconds(job["pid"]) - before
    return spent * 1e6 / (STREAMS * TOKENS)


SCENARIO = Scenario("rush", run, drive, short=False, order=3)
