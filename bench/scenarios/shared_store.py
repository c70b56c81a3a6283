"""The store of several workers: what a token costs more than in one process, and how long it waits for the log."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession

STREAMS, WRITERS, ROUNDS = 50, 4, 3
MAX_COST_RATIO = 12.0
"""Windows are ten times as many as the flushes of one process."""


async def run_writers(mode: str, writers: int, tokens: int, place: str = "") -> list[dict[str, Any]]:
    """Run processes that append at the same time; returns what each measured."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "bench.store_writer", place or folder, mode, str(STREAMS), str(tokens)]
        pipe = asyncio.subprocess.PIPE
        processes = [
            await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe)
            for _ in range(writers)
        ]
        try:
            outputs = [process.stdout for process in processes if process.stdout is not None]
            for output in outputs:
                await output.readline()
            for process in processes:
                assert process.stdin is not None
                process.stdin.write(b"go\n")
            results: list[dict[str, Any]] = [json.loads(await output.readline()) for output in outputs]
        finally:
            for process in processes:
                if process.returncode is None:
                    process.terminate()
                await process.wait()
    assert not any(result["failure"] for result in results), results
    return results


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    tokens = 60 if stage.short else 200
    one, shared, crowded = [], [], []
    for _ in range(1 if stage.short else ROUNDS):
        one += await run_writers("one", 1, tokens)
        shared += await run_writers("shared", 1, tokens)
        crowded += await run_writers("shared", WRITERS, tokens)
    cost, floor = [result["cpu"] for result in shared], median(result["cpu"] for result in one)
    return [
        ResultRow("CPU per token in the store", "one process", "µs", [result["cpu"] for result in one]),
        ResultRow("CPU per token in the store", "shared", "µs", cost, median(cost) / floor, MAX_COST_RATIO),
        *(
            ResultRow(f"token waits for the log, {part}", f"{count} × {STREAMS}", "ms", [r[part] for r in results])
            for part in ("p50", "p99")
            for count, results in ((1, shared), (WRITERS, crowded))
        ),
    ]


SCENARIO = Scenario("shared_store", run, short=False, order=9)
