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
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightseat.plugins.flows.context import FlowServices
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Event, Interrupt, StepEnd, StepStart, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.stores import Continuation
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.house import Lines, says
from tests.kit.rounds import rounds, spread
from tests.unit.plugins.flows.acting import flow

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
ME = Owner("me")
AT_ONCE = 4


@dataclass
class Points:
    """Counts where the process might die, and dies at number `last`."""

    last: int
    passed: int = 0
    names: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        self.passed += 1
        self.names.append(name)
        if self.passed == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class Deadly(SQLiteStore):
    points: Points
    last: bytes = b"{}"

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        self.points("before note")
        await super().save_checkpoint(owner, key, body, seconds)
        self.last = body
        self.points("after note")

    async def save_continuation(self, continuation: Continuation) -> None:
        self.points("before save")
        await super().save_continuation(continuation)
        self.points("after save")

    async def take_continuation(self, owner: Owner, ticket: str) -> Continuation | None:
        found = await super().take_continuation(owner, ticket)
        self.points("after take")
        return found

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        self.points("before forget")
        await super().delete_checkpoint(owner, key)


def tool(name: str, sink: Path, points: Points) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        points(f"inside {name}: before")
        with sink.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, ctx.idempotency_key]) + "\n")
            file.flush()
            os.fsync(file.fileno())
        points(f"inside {name}: after")
        yield Result({"hosts": [1, 2], "n": name})

    return Tool(name, name, EMPTY, call)


async def run(folder: Path, last: int) -> dict[str, Any]:
    points = Points(last)
    store = Deadly(folder)
    store.points = points
    names = ("GET /hosts", "POST /orders", "POST /mails")
    outer, inner = flow(FLOW), flow(INNER)
    kit = FlowServices(
        model=Lines(says("All ", "done.")),
        operations={name: tool(name, folder / "sink", points) for name in names},
        scripts={},
        flows={"inner": inner},
        databases={},
        repeatable={"GET /hosts", "POST /orders"},
    )
    told: list[str] = []
    questions: list[str] = []
    answers: tuple[InterruptAnswer, ...] = ()
    responder = FlowResponder("p.f", outer, lambda flow, turn: kit, store)
    while True:
        turn = Turn(messages=(text_message("user", "go"),), thread="t", owner=ME, answers=answers)
        asked: list[Interrupt] = []
        told.clear()
        async with closing(responder(turn)) as events:
            async for event in events:
                if isinstance(event, StepStart | StepEnd | TextDelta):
                    points(f"event {type(event).__name__}")
                if isinstance(event, Interrupt):
                    asked.append(event)
                elif isinstance(event, TextDelta):
                    told.append(event.text)
        questions += [one.message for one in asked]
        if not asked:
            break
        answers = tuple(answer(one) for one in asked)
    await store.close()
    outputs = json.loads(store.last)["outputs"]
    return {"text": "".join(told), "outputs": outputs, "questions": questions, "points": points.names}


def answer(one: Interrupt) -> InterruptAnswer:
    payload: Any = {"then": "retry"} if one.kind == "form" else "yes"
    return InterruptAnswer(one.id, payload=payload)


def child(folder: Path, last: int) -> int:
    """The child's wait status: 0, or the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            found = asyncio.run(run(folder, last))
            (folder / "found").write_text(json.dumps(found), encoding="utf-8")
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def effects(folder: Path) -> list[list[str]]:
    sink = folder / "sink"
    lines = sink.read_text(encoding="utf-8").splitlines() if sink.exists() else []
    return [json.loads(line) for line in lines]


def outcome(folder: Path, number: int) -> None:
    """Written beside the folder, as one JSON object."""
    folder.mkdir()
    killed = child(folder, number)
    before = effects(folder)
    again = 0 if killed == 0 else child(folder, 0)
    found = folder / "found"
    told = {
        "number": number,
        "killed": killed,
        "again": again,
        "before": before,
        "effects": effects(folder),
        **(json.loads(found.read_text(encoding="utf-8")) if found.exists() else {}),
    }
    folder.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")


def chosen(names: list[str]) -> list[int]:
    """Return the points to be killed at: `ROUNDS` of them, and those at which an effect has just happened."""
    points = range(1, names.index("before forget") + 2)
    effects = [number for number in points if re.fullmatch("inside POST .*: after", names[number - 1])]
    return sorted({*spread(points), *(effects[::2] if len(points) > rounds(len(points)) else ())})


def main(home: Path) -> None:
    """Each point in a process of its own, a few at a time: most of it is waiting for the disk."""
    outcome(home / "0", 0)
    names = json.loads((home / "0.json").read_text(encoding="utf-8"))["points"]
    running: set[int] = set()
    for number in chosen(names):
        if len(running) == AT_ONCE:
            running.discard(os.wait()[0])
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                outcome(home / str(number), number)
                code = 0
            finally:
                os._exit(code)
        running.add(pid)
    while running:
        running.discard(os.wait()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
