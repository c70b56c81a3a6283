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

from bench.doors import AGUI, DOORS, Door
from bench.kept import Kept
from bench.load import Order, Wrong
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from tests.kit import process
from tests.kit.server import Server

ROUNDS, EACH, STEPS = 5, 10, 50
WARM, PAUSED, LINES = 200, 1000, 8
STEP_MS, PAUSED_KB = 1.0, 20.0
ORDER = Order(0, 5, 0)


async def run(stage: Stage) -> Sequence[Row]:
    ours = next((peer for peer in stage.peers if peer.ours), None)
    if ours is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        line = [*ours.command(stage.upstream), "--plugins", str(write(Path(folder)))]
        server = Server(command=line, env=ours.env(stage.upstream), cores=stage.peer_cores)
        async with server:
            found: dict[str, list[float]] = await stage.drive(
                "flows", ours, AGUI, 300, server, folder=str(server.folder)
            )
    name = "rightseat agui"
    return [
        Row("CPU per deterministic step, with journal", name, "ms", found["step"], limit=STEP_MS),
        Row(f"memory per flow, {PAUSED} that wait", name, "KB", found["memory"], limit=PAUSED_KB),
        Row(f"disk per flow, {PAUSED} that wait", name, "KB", found["disk"], limit=PAUSED_KB),
    ]


async def drive(job: dict[str, Any]) -> dict[str, list[float]]:
    async with _lines(job, 1) as [line]:
        steps = await _steps(line, job)
    # New ones: those that had waited until now would have been closed.
    async with _lines(job, LINES) as lines:
        memory, disk = await _waiting(lines, job)
    return {"step": steps, "memory": [memory], "disk": [disk]}


@asynccontextmanager
async def _lines(job: dict[str, Any], count: int) -> AsyncIterator[list[Kept]]:
    lines = [await Kept.to(job["url"]) for _ in range(count)]
    try:
        yield lines
    finally:
        for line in lines:
            line.close()


async def _steps(line: Kept, job: dict[str, Any]) -> list[float]:
    """Of each round the ms per step: what a long flow costs over a short one, asked by turns."""

    async def cost(flow: str) -> float:
        door = door_of(job, flow)
        before = process.cpu_seconds(job["pid"])
        for _ in range(EACH):
            ORDER.check(door.text(await line.ask(door.request(ORDER.prompt, True, job["key"]))))
        return (process.cpu_seconds(job["pid"]) - before) * 1e3 / EACH

    for flow in ("short", "long"):
        await cost(flow)
    rounds = [[await cost("long") - await cost("short") for _ in range(3)] for _ in range(ROUNDS)]
    return [median(costs) / STEPS for costs in rounds]


async def _waiting(lines: Sequence[Kept], job: dict[str, Any]) -> tuple[float, float]:
    """KB of memory and of disk that each flow takes which waits for its user."""
    door = door_of(job, "waiting")
    bodies: list[bytes] = []

    async def ask(line: Kept, times: int) -> None:
        for _ in range(times):
            body = await line.ask(door.request(ORDER.prompt, True, job["key"]))
            bodies.append(body)

    async def crowd(count: int) -> tuple[int, int]:
        await asyncio.gather(*(ask(line, count // len(lines)) for line in lines))
        return process.rss_bytes(job["pid"]), size(Path(job["folder"]))

    # The first ones fill caches and pools that the others share.
    before = await crowd(WARM)
    bodies.clear()
    after = await crowd(PAUSED)
    memory, disk = ((late - early) / PAUSED / 1e3 for early, late in zip(before, after, strict=True))
    for body in bodies[:: PAUSED // 20]:
        # Held is what goes on when it is answered.
        answer = answering(door, body).request(ORDER.prompt, True, job["key"])
        ORDER.check(door.text(await lines[0].ask(answer)))
    return memory, disk


def answering(door: Door, body: bytes) -> Door:
    """The door, with an answer to what was asked there last."""
    last = json.loads(body.rpartition(b"data: ")[2])
    if last.get("outcome", {}).get("type") != "interrupt":
        raise Wrong(f"it did not ask: {body[-300:]!r}")
    [asked] = last["outcome"]["interrupts"]
    resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "web-1"}]
    more = {"threadId": last["threadId"], "resume": resume}
    return replace(door, ask=lambda prompt, streamed: door.ask(prompt, streamed) | more)


def door_of(job: dict[str, Any], flow: str) -> Door:
    """The door, with a flow as the agent that is asked."""
    return replace(DOORS[job["door"]], path=f"/agui/bench.{flow}")


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def write(folder: Path) -> Path:
    """A plugin with the three flows."""
    place = folder / "bench"
    (place / "flows").mkdir(parents=True)
    (place / "plugin.json").write_text('{"name": "Bench", "description": "Flows to be measured."}', "utf-8")
    flows = {"short": _chain(0), "long": _chain(STEPS), "waiting": _asking()}
    for name, steps in flows.items():
        text = "\n".join((f"name: {name}", "description: Is measured.", "steps:", *steps))
        (place / "flows" / f"{name}.yaml").write_text(text, "utf-8")
    return place


def _chain(count: int) -> Iterator[str]:
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


def _asking() -> Iterator[str]:
    yield "  - {name: start, call_type: none, next: which}"
    yield "  - {name: which, call_type: ask, params: {question: Which host?}}"


SCENARIO = Scenario("flows", run, drive, short=False, order=5)
