"""What it costs to be there: start-up CPU, idle memory, and the command line's own start."""

import os
import resource
import subprocess
from collections.abc import Sequence

from bench.comparison import compare_peers
from bench.peers import BenchPeer
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession

ROUNDS = 3
START_CPU_S, IDLE_MB, CLI_CPU_S = 1.0, 80.0, 0.3


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    all_starts, all_sizes = dict[str, list[float]](), dict[str, list[float]]()
    for peer in stage.peers:
        starts, sizes = all_starts[peer.name], all_sizes[peer.name] = await _measure_starts(stage, peer)
        rows += [
            ResultRow("start-up CPU", peer.name, "s", starts, limit=START_CPU_S if peer.is_ours else None),
            ResultRow("idle RSS", peer.name, "MB", sizes, limit=IDLE_MB if peer.is_ours else None),
        ]
        if peer.cli:
            # The first one may still compile; it is not counted.
            costs = [_measure_cli_cpu(peer.cli) for _ in range(ROUNDS + 1)][1:]
            rows.append(ResultRow(f"CPU of `{peer.cli[-1]}`", peer.name, "s", costs, limit=CLI_CPU_S))
    rows += compare_peers(stage.peers, "start-up CPU", all_starts)
    return rows + compare_peers(stage.peers, "idle RSS", all_sizes)


async def _measure_starts(stage: BenchSession, peer: BenchPeer) -> tuple[list[float], list[float]]:
    starts, sizes = list[float](), list[float]()
    for _ in range(ROUNDS):
        async with stage.make_fresh_server(peer) as server:
            starts.append(server.startup_cpu_seconds)
            sizes.append(server.rss_bytes / 1e6)
    return starts, sizes


def _measure_cli_cpu(line: Sequence[str]) -> float:
    # With compiled modules, as a user's second call has them.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


SCENARIO = Scenario("footprint", run, order=0)
