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
from bench.load import Order
from bench.machine import OWN_ENV
from bench.peers import Peer
from bench.peers.rightseat import SERVE
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from bench.streams import load
from tests.kit import process
from tests.kit.server import Server

LOCK = "copilotkit-runtime"
DOOR = replace(COPILOTKIT, name="agent", path="/copilotkit/agent/desk/run")
STREAMS, TOKENS, RATE, ROUNDS = 5, 200, 50, 3
PART = 1 / 5
CONFIG = """
[server]
access_log = false
[agents.desk]
kind = "langgraph"
url = "{url}"
"""


async def run(stage: Stage) -> Sequence[Row]:
    ours = next((peer for peer in stage.peers if peer.ours), None)
    if ours is None:
        return []
    theirs = next((peer for peer in stage.peers if peer.lock == LOCK), None)
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        line = [sys.executable, "-m", "bench.graphs"]
        graphs = await stack.enter_async_context(Server(command=line, env=OWN_ENV))
        ends = [(ours, await stack.enter_async_context(mine(stage, folder, graphs.url)))]
        if theirs is not None:
            ends.append((theirs, await stack.enter_async_context(foreign(stage, graphs.url))))
        for name, rate in (("paced", RATE), ("full speed", 0)):
            found: dict[str, list[float]] = {peer.name: [] for peer, _ in ends}
            for _ in range(ROUNDS):
                for peer, server in ends:
                    found[peer.name].append(await stage.drive("agents", peer, DOOR, 120, server, rate=rate))
            rows += judged(f"CPU per agent's event, {name}", found, ours, theirs)
    return rows


def judged(measure: str, found: dict[str, list[float]], ours: Peer, theirs: Peer | None) -> list[Row]:
    rows = [Row(measure, name, "µs", rounds) for name, rounds in found.items()]
    if theirs is None:
        return rows
    parts = [a / b for a, b in zip(found[ours.name], found[theirs.name], strict=True)]
    return [*rows, Row(measure, f"{ours.name} ÷ {theirs.name}", "part", parts, limit=PART)]


def mine(stage: Stage, folder: Path, url: str) -> Server:
    config = folder / "rightseat.toml"
    config.write_text(CONFIG.format(url=url), encoding="utf-8")
    line = [SERVE[0], "serve", "--config", str(config), "--port", "0", "--model", "openai:bench"]
    env = {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": f"{stage.upstream}/v1"}
    return Server(command=line, env=env, cores=stage.peer_cores)


def foreign(stage: Stage, url: str) -> Server:
    line = node.command(LOCK, "launch_copilotkit_langgraph.mjs", url)
    return Server(command=line, env=node.ENV, cores=stage.peer_cores, patience=60)


async def drive(job: dict[str, Any]) -> float:
    """µs per event of the server's whole process tree, the requests' own cost included."""
    await load(job["url"], DOOR, [Order(0, 20, 0)], job["key"])
    orders = [Order(number, TOKENS, job["rate"]) for number in range(STREAMS)]
    before = process.cpu_seconds(job["pid"])
    await load(job["url"], DOOR, orders, job["key"])
    return (process.cpu_seconds(job["pid"]) - before) * 1e6 / (STREAMS * TOKENS)


SCENARIO = Scenario("agents", run, drive, short=False, order=5)
