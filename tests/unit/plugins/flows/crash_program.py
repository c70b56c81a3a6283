"""Runs one flow, killed at its n-th point, then again to its end, as a program.

For each point it forks a child, which kills itself there (SIGKILL: nothing is tidied up), and another, which
asks the same again on the same data folder. What came of it is N.json for point N; 0 is a run without harm.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Event, Interrupt, StepEnd, StepStart, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.stores import Continuation
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.rounds import limit_rounds, sample_evenly
from tests.unit.plugins.flows.conversations import make_flow

FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts}, next: order}
  - {name: order, call_type: api, params: {endpoint: POST /orders}, next: mail}
  - {name: mail, call_type: api, params: {endpoint: POST /mails}, next: both}
  - name: both
    call_type: parallel
    params:
      branches:
        left: {call_type: api, params: {endpoint: GET /hosts}}
        right: [{call_type: api, params: {endpoint: POST /mails}}, {call_type: extract, params: {keys: [n]}}]
    next: each
  - name: each
    call_type: loop
    params: {over: "{start.hosts}", steps: {call_type: api, params: {endpoint: POST /orders}}}
    next: sub
  - {name: sub, call_type: flow, params: {flow: inner}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{steps}"}, next: end}
  - {name: end, call_type: none}
"""
INNER = """
name: inner
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: sure}
  - {name: sure, call_type: ask, params: {question: "Sure?"}, next: mail}
  - {name: mail, call_type: api, params: {endpoint: POST /mails}}
"""
EMPTY = {"type": "object", "properties": {}}
OWNER = Owner("me")
MAX_PROCESSES = 4


@dataclass
class CrashPoints:
    """Counts where the process might die, and dies at number `last`."""

    crash_at: int
    passed: int = 0
    names: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        self.passed += 1
        self.names.append(name)
        if self.passed == self.crash_at:
            os.kill(os.getpid(), signal.SIGKILL)


class CrashingStore(SQLiteStore):
    crash_points: CrashPoints
    last_checkpoint: bytes = b"{}"

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        body = update(await self.get_checkpoint(owner, key))
        self.crash_points("before note" if body else "before forget")
        await super().update_checkpoint(owner, key, update, seconds)
        # Times of model calls belong to nobody's run.
        self.last_checkpoint = body if owner == OWNER and body else self.last_checkpoint
        self.crash_points("after note")

    async def save_continuation(self, continuation: Continuation) -> None:
        self.crash_points("before save")
        await super().save_continuation(continuation)
        self.crash_points("after save")

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        found = await super().claim_continuation(owner, resume_token, assistant, answered_ids)
        self.crash_points("after claim")
        return found


def make_tool(name: str, sink: Path, points: CrashPoints) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        points(f"inside {name}: before")
        with sink.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, ctx.idempotency_key]) + "\n")
            file.flush()
            os.fsync(file.fileno())
        points(f"inside {name}: after")
        yield Result({"hosts": [1, 2], "n": name})

    return Tool(name, name, EMPTY, call)


async def run_flow(folder: Path, crash_at: int) -> dict[str, Any]:
    points = CrashPoints(crash_at)
    store = CrashingStore(folder)
    store.crash_points = points
    names = ("GET /hosts", "POST /orders", "POST /mails")
    outer, inner = make_flow(FLOW), make_flow(INNER)
    services = FlowServices(
        model=FakeModel(reply_text("All ", "done.")),
        operations={name: make_tool(name, folder / "sink", points) for name in names},
        scripts={},
        flows={"inner": inner},
        databases={},
        repeatable={"GET /hosts", "POST /orders"},
    )
    texts: list[str] = []
    questions: list[str] = []
    answers: tuple[InterruptAnswer, ...] = ()
    responder = FlowResponder("p.f", outer, lambda flow, turn: services, store)
    while True:
        turn = Turn(messages=(text_message("user", "go"),), thread="t", owner=OWNER, answers=answers)
        interrupts: list[Interrupt] = []
        texts.clear()
        async with closing(responder(turn)) as events:
            async for event in events:
                if isinstance(event, StepStart | StepEnd | TextDelta):
                    points(f"event {type(event).__name__}")
                if isinstance(event, Interrupt):
                    interrupts.append(event)
                elif isinstance(event, TextDelta):
                    texts.append(event.text)
        questions += [one.message for one in interrupts]
        if not interrupts:
            break
        answers = tuple(answer_interrupt(one) for one in interrupts)
    await store.close()
    outputs = json.loads(store.last_checkpoint)["outputs"]
    return {"text": "".join(texts), "outputs": outputs, "questions": questions, "points": points.names}


def answer_interrupt(one: Interrupt) -> InterruptAnswer:
    payload: Any = {"then": "retry"} if one.kind == "form" else "yes"
    return InterruptAnswer(one.id, payload=payload)


def run_in_child(folder: Path, crash_at: int) -> int:
    """The child's wait status: 0, or the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            found = asyncio.run(run_flow(folder, crash_at))
            (folder / "found").write_text(json.dumps(found), encoding="utf-8")
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def read_effects(folder: Path) -> list[list[str]]:
    sink = folder / "sink"
    lines = sink.read_text(encoding="utf-8").splitlines() if sink.exists() else []
    return [json.loads(line) for line in lines]


def write_outcome(folder: Path, number: int) -> None:
    """Written beside the folder, as one JSON object."""
    folder.mkdir()
    killed = run_in_child(folder, number)
    before = read_effects(folder)
    again = 0 if killed == 0 else run_in_child(folder, 0)
    found = folder / "found"
    record = {
        "number": number,
        "killed": killed,
        "again": again,
        "before": before,
        "effects": read_effects(folder),
        **(json.loads(found.read_text(encoding="utf-8")) if found.exists() else {}),
    }
    folder.with_suffix(".json").write_text(json.dumps(record), encoding="utf-8")


def choose_points(names: list[str]) -> list[int]:
    """Return the points to be killed at: `ROUNDS` of them, and those at which an effect has just happened."""
    points = range(1, names.index("before forget") + 2)
    effects = [number for number in points if re.fullmatch("inside POST .*: after", names[number - 1])]
    return sorted({*sample_evenly(points), *(effects[::2] if len(points) > limit_rounds(len(points)) else ())})


def main(home: Path) -> None:
    """Each point in a process of its own, a few at a time: most of it is waiting for the disk."""
    write_outcome(home / "0", 0)
    names = json.loads((home / "0.json").read_text(encoding="utf-8"))["points"]
    running: set[int] = set()
    for number in choose_points(names):
        if len(running) == MAX_PROCESSES:
            running.discard(os.wait()[0])
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                write_outcome(home / str(number), number)
                code = 0
            finally:
                os._exit(code)
        running.add(pid)
    while running:
        running.discard(os.wait()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
