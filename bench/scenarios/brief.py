"""CPU per short answer of five tokens, streamed and whole, on connections that are kept."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.judge import Limits, judge
from bench.kept import Kept
from bench.load import Order
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from tests.kit import process

CONNECTIONS, EACH, TOKENS, ROUNDS = 8, 50, 5, 3
PART = 1 / 20


async def run(stage: Stage) -> Sequence[Row]:
    rows: list[Row] = []
    for measure, streamed in (("CPU per short stream", True), ("CPU per short whole answer", False)):
        found = await stage.rounds("brief", ROUNDS, 120, whole=not streamed, streamed=streamed)
        rows += judge(stage, measure, "ms", found, Limits(foreign=PART))
    return rows


async def drive(job: dict[str, Any]) -> float:
    """ms per answer of the peer's whole process tree."""
    lines = [await Kept.to(job["url"]) for _ in range(CONNECTIONS)]
    try:
        # The first answers open the connections upstream; they are not counted.
        await asyncio.gather(*(_ask(line, i, 2, job) for i, line in enumerate(lines)))
        before = process.cpu_seconds(job["pid"])
        await asyncio.gather(*(_ask(line, i, EACH, job) for i, line in enumerate(lines)))
        spent = process.cpu_seconds(job["pid"]) - before
    finally:
        for line in lines:
            line.close()
    return spent * 1e3 / (CONNECTIONS * EACH)


async def _ask(line: Kept, number: int, times: int, job: dict[str, Any]) -> None:
    door, streamed = DOORS[job["door"]], job["streamed"]
    order = Order(number, TOKENS, 0)
    for _ in range(times):
        body = await line.ask(door.request(order.prompt, streamed, job["key"]))
        order.check(door.text(body) if streamed else door.whole_text(body))


SCENARIO = Scenario("brief", run, drive, short=False, order=4)
