"""Flows: what a step costs that asks nobody, with its journal, and the room that one takes while it waits."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.doors import AGUI, DOORS, BenchDoor
from bench.keep_alive import KeepAliveConnection
from bench.order import StreamOrder, WrongAnswer
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from tests.kit import process
from tests.kit.server import RightseatProcess

ROUNDS, EACH, STEPS = 5, 10, 50
WARM, WAITING_FLOWS, CONNECTIONS = 200, 1000, 8
STEP_MS, PAUSED_KB = 1.0, 20.0
ORDER = StreamOrder(0, 5, 0)


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    ours = next((peer for peer in stage.peers if peer.is_ours), None)
    if ours is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        line = [*ours.command(stage.upstream), "--plugins", str(write_plugin(Path(folder)))]
        server = RightseatProcess(command=line, env=ours.env(stage.upstream), cpu_cores=stage.peer_cores)
        async with server:
            found: dict[str, list[float]] = await stage.drive(
                "flows", ours, AGUI, 300, server, folder=str(server.folder)
            )
    name = "rightseat agui"
    return [
        ResultRow("CPU per deterministic step, with journal", name, "ms", found["step"], limit=STEP_MS),
        ResultRow(f"memory per flow, {WAITING_FLOWS} that wait", name, "KB", found["memory"], limit=PAUSED_KB),
        ResultRow(f"disk per flow, {WAITING_FLOWS} that wait", name, "KB", found["disk"], limit=PAUSED_KB),
    ]


async def drive(job: dict[str, Any]) -> dict[str, list[float]]:
    async with _open_connections(job, 1) as [line]:
        steps = await _measure_steps(line, job)
    # New ones: those that had waited until now would have been closed.
    async with _open_connections(job, CONNECTIONS) as lines:
        memory, disk = await _measure_waiting(lines, job)
    return {"step": steps, "memory": [memory], "disk": [disk]}


@asynccontextmanager
async def _open_connections(job: dict[str, Any], count: int) -> AsyncIterator[list[KeepAliveConnection]]:
    lines = [await KeepAliveConnection.connect(job["url"]) for _ in range(count)]
    try:
        yield lines
    finally:
        for line in lines:
            line.close()


async def _measure_steps(line: KeepAliveConnection, job: dict[str, Any]) -> list[float]:
    """Of each round the ms per step: what a long flow costs over a short one, asked by turns."""

    async def cost(flow: str) -> float:
        door = make_flow_door(job, flow)
        before = process.measure_cpu_seconds(job["pid"])
        for _ in range(EACH):
            ORDER.check(
                door.read_streamed_text(await line.request(door.format_request(ORDER.prompt, True, job["key"])))
            )
        return (process.measure_cpu_seconds(job["pid"]) - before) * 1e3 / EACH

    for flow in ("short", "long"):
        await cost(flow)
    rounds = [[await cost("long") - await cost("short") for _ in range(3)] for _ in range(ROUNDS)]
    return [median(costs) / STEPS for costs in rounds]


async def _measure_waiting(lines: Sequence[KeepAliveConnection], job: dict[str, Any]) -> tuple[float, float]:
    """KB of memory and of disk that each flow takes which waits for its user."""
    door = make_flow_door(job, "waiting")
    bodies: list[bytes] = []

    async def ask(line: KeepAliveConnection, times: int) -> None:
        for _ in range(times):
            body = await line.request(door.format_request(ORDER.prompt, True, job["key"]))
            bodies.append(body)

    async def crowd(count: int) -> tuple[int, int]:
        await asyncio.gather(*(ask(line, count // len(lines)) for line in lines))
        return process.measure_rss_bytes(job["pid"]), get_folder_size(Path(job["folder"]))

    # The first ones fill caches and pools that the others share.
    before = await crowd(WARM)
    bodies.clear()
    after = await crowd(WAITING_FLOWS)
    memory, disk = ((late - early) / WAITING_FLOWS / 1e3 for early, late in zip(before, after, strict=True))
    for body in bodies[:: WAITING_FLOWS // 20]:
        # Held is what goes on when it is answered.
        answer = answer_interrupt(door, body).format_request(ORDER.prompt, True, job["key"])
        ORDER.check(door.read_streamed_text(await lines[0].request(answer)))
    return memory, disk


def answer_interrupt(door: BenchDoor, body: bytes) -> BenchDoor:
    """The door, with an answer to what was asked there last."""
    last = json.loads(body.rpartition(b"data: ")[2])
    if last.get("outcome", {}).get("type") != "interrupt":
        raise WrongAnswer(f"it did not ask: {body[-300:]!r}")
    [interrupt] = last["outcome"]["interrupts"]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "web-1"}]
    more = {"threadId": last["threadId"], "resume": resume}
    return replace(door, make_body=lambda prompt, streamed: door.make_body(prompt, streamed) | more)


def make_flow_door(job: dict[str, Any], flow: str) -> BenchDoor:
    """The door, with a flow as the agent that is asked."""
    return replace(DOORS[job["door"]], path=f"/agui/bench.{flow}")


def get_folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def write_plugin(folder: Path) -> Path:
    """A plugin with the three flows."""
    place = folder / "bench"
    (place / "flows").mkdir(parents=True)
    (place / "plugin.json").write_text('{"name": "Bench", "description": "Flows to be measured."}', "utf-8")
    flows = {"short": _format_chain(0), "long": _format_chain(STEPS), "waiting": _format_question_flow()}
    for name, steps in flows.items():
        text = "\n".join((f"name: {name}", "description: Is measured.", "steps:", *steps))
        (place / "flows" / f"{name}.yaml").write_text(text, "utf-8")
    return place


def _format_chain(count: int) -> Iterator[str]:
    """Steps that are decided in code, then one that the model answers in."""
    names = ["start", *(f"s{number}" for number in range(1, count)), "answer"] if count else ["start"]
    for number, name in enumerate(names[:-1]):
        if number % 2:
            met = f"{{step: {names[number + 1]}, when: {{path: question, contains: bench}}}}"
            choices = f"[{met}, {{step: end, description: never}}]"
            yield f"  - {{name: {name}, call_type: choice, params: {{choices: {choices}}}}}"
        else:
            yield f"  - {{name: {name}, call_type: none, next: {names[number + 1]}}}"
    yield f"  - {{name: {names[-1]}, call_type: llm, params: {{user_prompt: '{{question}}'}}, next: end}}"
    yield "  - {name: end, call_type: none}"


def _format_question_flow() -> Iterator[str]:
    yield "  - {name: start, call_type: none, next: which}"
    yield "  - {name: which, call_type: ask, params: {question: Which host?}}"


SCENARIO = Scenario("flows", run, drive, short=False, order=5)
