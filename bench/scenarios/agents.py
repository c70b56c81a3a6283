"""CPU per event that an agent's server sends and a client gets: a recorded LangGraph run, through our door
and through CopilotKit's own runtime, where that is measured beside us."""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import node
from bench.doors import COPILOTKIT
from bench.machine import OWN_ENV
from bench.order import StreamOrder
from bench.peers import BenchPeer
from bench.peers.rightseat import SERVE
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from bench.streams import run_orders
from tests.kit import process
from tests.kit.server import RightseatProcess

LOCK = "copilotkit-runtime"
DOOR = replace(COPILOTKIT, name="agent", path="/copilotkit/agent/desk/run")
STREAMS, TOKENS, RATE, ROUNDS = 5, 200, 50, 3
MAX_COST_RATIO = 1 / 5
CONFIG = """
[server]
access_log = false
[agents.desk]
kind = "langgraph"
url = "{url}"
"""


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    ours = next((peer for peer in stage.peers if peer.is_ours), None)
    if ours is None:
        return []
    theirs = next((peer for peer in stage.peers if peer.lock == LOCK), None)
    rows: list[ResultRow] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        line = [sys.executable, "-m", "bench.langgraph_server"]
        graphs = await stack.enter_async_context(RightseatProcess(command=line, env=OWN_ENV))
        ends = [(ours, await stack.enter_async_context(make_own_server(stage, folder, graphs.url)))]
        if theirs is not None:
            ends.append((theirs, await stack.enter_async_context(make_foreign_server(stage, graphs.url))))
        for name, rate in (("paced", RATE), ("full speed", 0)):
            found: dict[str, list[float]] = {peer.name: [] for peer, _ in ends}
            for _ in range(ROUNDS):
                for peer, server in ends:
                    found[peer.name].append(await stage.drive("agents", peer, DOOR, 120, server, rate=rate))
            rows += make_rows(f"CPU per agent's event, {name}", found, ours, theirs)
    return rows


def make_rows(
    measure: str, costs: dict[str, list[float]], ours: BenchPeer, theirs: BenchPeer | None
) -> list[ResultRow]:
    rows = [ResultRow(measure, name, "µs", rounds) for name, rounds in costs.items()]
    if theirs is None:
        return rows
    parts = [a / b for a, b in zip(costs[ours.name], costs[theirs.name], strict=True)]
    return [*rows, ResultRow(measure, f"{ours.name} ÷ {theirs.name}", "part", parts, limit=MAX_COST_RATIO)]


def make_own_server(stage: BenchSession, folder: Path, url: str) -> RightseatProcess:
    config = folder / "rightseat.toml"
    config.write_text(CONFIG.format(url=url), encoding="utf-8")
    line = [SERVE[0], "serve", "--config", str(config), "--port", "0", "--model", "openai:bench"]
    env = {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": f"{stage.upstream}/v1"}
    return RightseatProcess(command=line, env=env, cpu_cores=stage.peer_cores)


def make_foreign_server(stage: BenchSession, url: str) -> RightseatProcess:
    line = node.make_command(LOCK, "launch_copilotkit_langgraph.mjs", url)
    return RightseatProcess(command=line, env=node.ENV, cpu_cores=stage.peer_cores, start_timeout=60)


async def drive(job: dict[str, Any]) -> float:
    """µs per event of the server's whole process tree, the requests' own cost included."""
    await run_orders(job["url"], DOOR, [StreamOrder(0, 20, 0)], job["key"])
    orders = [StreamOrder(number, TOKENS, job["rate"]) for number in range(STREAMS)]
    before = process.measure_cpu_seconds(job["pid"])
    await run_orders(job["url"], DOOR, orders, job["key"])
    return (process.measure_cpu_seconds(job["pid"]) - before) * 1e6 / (STREAMS * TOKENS)


SCENARIO = Scenario("agents", run, drive, short=False, order=5)
