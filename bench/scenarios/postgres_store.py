"""The store in PostgreSQL: what a token costs this process more than in memory, and how long it waits for the log."""

from collections.abc import Sequence
from statistics import median

from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.scenarios.shared_store import ROUNDS, STREAMS, run_writers
from bench.session import BenchSession
from tests.kit.postgres import find_packaged_programs, find_system_programs, run_server


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    programs = find_packaged_programs() or find_system_programs()
    if programs is None:
        return []
    tokens = 60 if stage.short else 200
    memory, postgres = [], []
    with run_server(programs) as server:
        for _ in range(1 if stage.short else ROUNDS):
            memory += await run_writers("memory", 1, tokens)
            postgres += await run_writers("postgres", 1, tokens, server.url)
    floor = median(result["cpu"] for result in memory)
    name = "CPU per token in the store, PostgreSQL"
    return [
        ResultRow(name, "memory", "µs", [result["cpu"] for result in memory]),
        ResultRow(name, "postgres", "µs", [result["cpu"] for result in postgres]),
        ResultRow(name, "postgres over memory", "µs", [result["cpu"] - floor for result in postgres]),
        *(
            ResultRow(f"token waits for the database, {part}", f"1 × {STREAMS}", "ms", [r[part] for r in postgres])
            for part in ("p50", "p99")
        ),
    ]


SCENARIO = Scenario("postgres_store", run, short=False, order=9)
