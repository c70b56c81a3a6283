"""CPU per token at 20 tokens/s per stream: one token per wake-up, as a real model sends them."""

import asyncio
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.doors import DOORS, Door
from bench.load import Order
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage, label
from bench.streams import connect
from tests.kit import process

STREAMS, RATE, ROUNDS = 20, 20, 3
FLOOR = "splice"


async def run(stage: Stage) -> Sequence[Row]:
    tokens, limit = (80, 6.0) if stage.short else (120, 4.0)
    found: dict[str, list[float]] = {label(peer, door): [] for peer, door in stage.doors()}
    for _ in range(ROUNDS):
        # Interleaved: what else happens on the machine meets every peer alike.
        for peer, door in stage.doors():
            cost = await stage.drive("paced", peer, door, tokens / RATE + 30, tokens=tokens)
            found[label(peer, door)].append(float(cost))
    floor = median(found[FLOOR]) if FLOOR in found else None
    ours = {label(peer, door) for peer, door in stage.doors() if peer.ours}
    return [
        Row(
            "CPU per paced token",
            name,
            "µs",
            rounds,
            ratio=median(rounds) / floor if floor else None,
            limit=limit if floor and name in ours else None,
        )
        for name, rounds in found.items()
    ]


async def drive(job: dict[str, Any]) -> float:
    """µs per token of the peer's whole process tree, the requests' own cost included."""
    door = DOORS[job["door"]]
    await _load(job["url"], door, [Order(0, 3, RATE)])
    orders = [Order(i, job["tokens"], RATE) for i in range(STREAMS)]
    before = process.cpu_seconds(job["pid"])
    await _load(job["url"], door, orders)
    spent = process.cpu_seconds(job["pid"]) - before
    return spent * 1e6 / sum(order.tokens for order in orders)


async def _load(url: str, door: Door, orders: Sequence[Order]) -> None:
    streams = await connect(url, [door.request(order.prompt) for order in orders], spread=1 / RATE)
    await asyncio.gather(*(stream.done for stream in streams))
    for stream, order in zip(streams, orders, strict=True):
        stream.verify(door, order)
        stream.transport.abort()


SCENARIO = Scenario("paced", run, drive, order=1)
