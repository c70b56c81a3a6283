"""CPU per short answer of five tokens, streamed and whole, on connections that are kept."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.comparison import CostLimits, make_rows
from bench.doors import DOORS
from bench.keep_alive import KeepAliveConnection
from bench.order import StreamOrder
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from tests.kit import process

CONNECTIONS, EACH, TOKENS, ROUNDS = 8, 50, 5, 3
MAX_COST_RATIO = 1 / 20


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    for measure, streamed in (("CPU per short stream", True), ("CPU per short whole answer", False)):
        found = await stage.run_rounds("brief", ROUNDS, 120, unstreamed=not streamed, streamed=streamed)
        rows += make_rows(stage, measure, "ms", found, CostLimits(foreign_ratio=MAX_COST_RATIO))
    return rows


async def drive(job: dict[str, Any]) -> float:
    """ms per answer of the peer's whole process tree."""
    lines = [await KeepAliveConnection.connect(job["url"]) for _ in range(CONNECTIONS)]
    try:
        # The first answers open the connections upstream; they are not counted.
        await asyncio.gather(*(_ask_repeatedly(line, i, 2, job) for i, line in enumerate(lines)))
        before = process.measure_cpu_seconds(job["pid"])
        await asyncio.gather(*(_ask_repeatedly(line, i, EACH, job) for i, line in enumerate(lines)))
        spent = process.measure_cpu_seconds(job["pid"]) - before
    finally:
        for line in lines:
            line.close()
    return spent * 1e3 / (CONNECTIONS * EACH)


async def _ask_repeatedly(line: KeepAliveConnection, number: int, times: int, job: dict[str, Any]) -> None:
    door, streamed = DOORS[job["door"]], job["streamed"]
    order = StreamOrder(number, TOKENS, 0)
    for _ in range(times):
        body = await line.request(door.format_request(order.prompt, streamed, job["key"]))
        order.check(door.read_streamed_text(body) if streamed else door.read_unstreamed_text(body))


SCENARIO = Scenario("brief", run, drive, short=False, order=4)
