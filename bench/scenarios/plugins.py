"""Plugins: what a hundred of them cost at the start, in memory, and in every turn."""

import asyncio
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.doors import DOORS, OPENAI
from bench.keep_alive import KeepAliveConnection
from bench.order import StreamOrder
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from tests.kit import process
from tests.kit.server import RightseatProcess

ROUNDS, BATCHES, CONNECTIONS, EACH, TOKENS = 5, 10, 8, 5, 5
# Both are shown sixteen tools and the search for others, so that only the number of operations differs.
FEW, MANY = (1, 17), (100, 20)
START_CPU_S, RSS_MB, MAX_TURN_RATIO = 4.0, 160.0, 1.2
QUESTION = "Which volume of the cluster has an open ticket since the last backup, and who owns it?"
NOUNS = (
    "host server network disk volume user group ticket report alert metric package image cluster node "
    "region policy rule token session backup snapshot invoice order product customer shipment payment "
    "calendar event message channel document folder branch commit build pipeline secret certificate topic"
)
TEXT = "{type: string, maxLength: 80}"
NUMBER = "{type: integer, minimum: 1, maximum: 100, default: 20}"
VERBS = (("get", "List"), ("get", "Show"), ("post", "Create"), ("put", "Replace"), ("delete", "Delete"))


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    ours = next((peer for peer in stage.peers if peer.is_ours), None)
    if ours is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        servers = [_make_server(stage, ours, write_plugins(Path(folder), *size)) for size in (FEW, MANY)]
        async with servers[0] as few, servers[1] as many:
            start, size = many.startup_cpu_seconds, many.rss_bytes / 1e6
            other = {"many_url": many.url, "many_pid": many.pid}
            costs: list[list[float]] = await stage.drive("plugins", ours, OPENAI, 180, few, **other)
    name, most = "rightseat openai", MANY[0] * MANY[1]
    return [
        ResultRow(f"start-up CPU with {most} operations", name, "s", [start], limit=START_CPU_S),
        ResultRow(f"idle RSS with {most} operations", name, "MB", [size], limit=RSS_MB),
        ResultRow(f"CPU per turn with {FEW[0] * FEW[1]} operations", name, "ms", costs[0]),
        ResultRow(f"CPU per turn with {most} operations", name, "ms", costs[1]),
        ResultRow("CPU per turn, many operations ÷ few", name, "part", costs[2], limit=MAX_TURN_RATIO),
    ]


def _make_server(stage: BenchSession, peer: Any, folder: Path) -> RightseatProcess:
    line = [*peer.command(stage.upstream), "--plugins", str(folder)]
    return RightseatProcess(command=line, env=peer.env(stage.upstream), cpu_cores=stage.peer_cores, start_timeout=60)


async def drive(job: dict[str, Any]) -> list[list[float]]:
    """Of each round the ms per turn of both servers, and the one as a part of the other.

    They are asked by turns, a few questions at a time: what else happens on the machine meets both alike.
    """
    few = MeasuredServer(
        job["url"], job["pid"], [await KeepAliveConnection.connect(job["url"]) for _ in range(CONNECTIONS)]
    )
    many = MeasuredServer(
        job["many_url"],
        job["many_pid"],
        [await KeepAliveConnection.connect(job["many_url"]) for _ in range(CONNECTIONS)],
    )
    try:
        for server in (few, many):
            await server.measure_turns(5, job)
        rounds = []
        for _ in range(ROUNDS):
            pairs = [(await few.measure_turns(EACH, job), await many.measure_turns(EACH, job)) for _ in range(BATCHES)]
            rounds.append([median(column) for column in zip(*((a, b, b / a) for a, b in pairs), strict=True)])
    finally:
        for line in (*few.connections, *many.connections):
            line.close()
    return [list(column) for column in zip(*rounds, strict=True)]


@dataclass(slots=True)
class MeasuredServer:
    url: str
    pid: int
    connections: list[KeepAliveConnection]
    count: int = 0

    async def measure_turns(self, times: int, job: dict[str, Any]) -> float:
        """ms per turn of the server's whole process tree."""
        before = process.measure_cpu_seconds(self.pid)
        await asyncio.gather(*(self.ask_questions(line, i, times, job) for i, line in enumerate(self.connections)))
        return (process.measure_cpu_seconds(self.pid) - before) * 1e3 / (len(self.connections) * times)

    async def ask_questions(self, line: KeepAliveConnection, number: int, times: int, job: dict[str, Any]) -> None:
        door, order = DOORS[job["door"]], StreamOrder(number, TOKENS, 0)
        for _ in range(times):
            self.count += 1
            # No two questions are the same: nothing that was found for one helps the next.
            question = f"{order.prompt} {QUESTION} It is ticket {self.count}."
            order.check(door.read_streamed_text(await line.request(door.format_request(question, True, job["key"]))))


def write_plugins(folder: Path, plugins: int, operations: int) -> Path:
    """Plugins as people write them: a few nouns each, and what one does with them."""
    home = folder / f"{plugins}x{operations}"
    for number in range(plugins):
        place = home / f"plugin_{number:03}"
        place.mkdir(parents=True)
        chance = random.Random(number)
        theme = chance.sample(NOUNS.split(), 4)
        about = {"name": f"{theme[0]} desk", "description": f"Manages {', '.join(theme)} of part {number}."}
        (place / "plugin.json").write_text(json.dumps(about), "utf-8")
        (place / "openapi.yaml").write_text("\n".join(_document(chance, theme, operations)), "utf-8")
    return home


def _document(chance: random.Random, theme: list[str], operations: int) -> Iterator[str]:
    yield "openapi: 3.0.0\ninfo: {title: Desk, version: '1'}\nservers: [{url: https://desk.example}]\npaths:"
    for number in range(operations):
        method, verb = VERBS[number % len(VERBS)]
        noun, other = chance.choice(theme), chance.choice(NOUNS.split())
        yield f"  /{noun}s/{{id}}/{other}{number}:"
        yield f"    {method}:"
        yield f"      description: {verb} the {other} of a {noun}, with its state, owner and last change."
        yield "      parameters:"
        yield f"        - {{name: id, in: path, required: true, description: A {noun}., schema: {TEXT}}}"
        yield f"        - {{name: limit, in: query, schema: {NUMBER}}}"
        yield "      responses:"
        yield "        '200':"
        yield "          description: What was asked for."
        yield "          content:"
        yield "            application/json:"
        yield f"              schema: {{type: object, properties: {{{other}: {TEXT}}}}}"


SCENARIO = Scenario("plugins", run, drive, short=False, order=5)
