"""What it costs to be there: start-up CPU, idle memory, and the command line's own start."""

import os
import resource
import subprocess
from collections.abc import Sequence

from bench.judge import beside
from bench.peers import Peer
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage

ROUNDS = 3
START_CPU_S, IDLE_MB, CLI_CPU_S = 1.0, 80.0, 0.3


async def run(stage: Stage) -> Sequence[Row]:
    rows: list[Row] = []
    all_starts, all_sizes = dict[str, list[float]](), dict[str, list[float]]()
    for peer in stage.peers:
        starts, sizes = all_starts[peer.name], all_sizes[peer.name] = await _starts(stage, peer)
        rows += [
            Row("start-up CPU", peer.name, "s", starts, limit=START_CPU_S if peer.ours else None),
            Row("idle RSS", peer.name, "MB", sizes, limit=IDLE_MB if peer.ours else None),
        ]
        if peer.cli:
            # The first one may still compile; it is not counted.
            costs = [_cli_cpu(peer.cli) for _ in range(ROUNDS + 1)][1:]
            rows.append(Row(f"CPU of `{peer.cli[-1]}`", peer.name, "s", costs, limit=CLI_CPU_S))
    rows += beside(stage.peers, "start-up CPU", all_starts)
    return rows + beside(stage.peers, "idle RSS", all_sizes)


async def _starts(stage: Stage, peer: Peer) -> tuple[list[float], list[float]]:
    starts, sizes = list[float](), list[float]()
    for _ in range(ROUNDS):
        async with stage.server(peer) as server:
            starts.append(server.ready_cpu)
            sizes.append(server.rss / 1e6)
    return starts, sizes


def _cli_cpu(line: Sequence[str]) -> float:
    # With compiled modules, as a user's second call has them.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


SCENARIO = Scenario("footprint", run, order=0)
