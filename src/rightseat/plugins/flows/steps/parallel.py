"""Step kind `parallel`: runs `params.branches` concurrently, `params.at_once` at a time. A branch is a step
or a list of steps. The output maps branch names to outputs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.check import of_steps, ways
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.inner import Place, inner
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.progress import restored
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.flows.written import sequence
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.streams import closing, merge
from rightseat.types.tools import Ask, Pause

MOST = 50
AT_ONCE = 4


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    given = step.params.get("branches")
    if not isinstance(given, dict) or not given:
        fix = "Write a name for each, and its call_type and params."
        yield problem(flow, step, "params.branches", "There are none.", fix)
        return
    if len(given) > MOST:
        yield problem(flow, step, "params.branches", f"There are more than {MOST}.", "Use a loop.")
    at_once = step.params.get("at_once", AT_ONCE)
    if not isinstance(at_once, int) or isinstance(at_once, bool) or not 1 <= at_once <= MOST:
        yield problem(flow, step, "params.at_once", f"It is no number from 1 to {MOST}.", "Write one.")
    for name, value in given.items():
        yield from check_inner(value, f"{step.name}/{name}", step, flow, known)


def check_inner(value: Any, name: str, step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    """Check the steps nested in a step."""
    try:
        made = sequence(value, name, flow)
    except ValueError as error:
        yield problem(flow, step, "params", f"{name}: {error}", "See the chapter on steps in docs/flows.md.")
        return
    first = next(iter(made.steps))
    around = replace(flow, steps={**flow.steps, **made.steps})
    for one in (*of_steps(made, known, around), *ways(made, first)):
        yield problem(flow, step, "params", f"{name}: {one.what}", one.fix, one.gravity)


def branches(stage: Stage) -> dict[str, Flow]:
    given = stage.step.params.get("branches") or {}
    try:
        return {
            str(name): sequence(value, f"{stage.step.name}/{name}", stage.flow, str(name))
            for name, value in given.items()
        }
    except ValueError as error:
        raise StepFailed(str(error)) from None


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    flows = branches(stage)
    states: dict[str, Any] = await heard(stage, flows)
    gate = asyncio.Semaphore(int(stage.step.params.get("at_once", AT_ONCE)))
    names = list(flows)
    found: dict[str, Output] = {}
    paused: dict[str, Pause] = {}
    streams = [branch(stage, name, flows[name], states, gate) for name in names]
    async with closing(merge(*streams)) as items:
        async for number, item in items:
            if isinstance(item, Output):
                found[names[number]] = item
            elif isinstance(item, Pause):
                paused[names[number]] = item
            else:
                yield item
    if not paused:
        yield Output({name: found[name].data for name in names}, f"{len(names)} branches were run.")
        return
    asks: list[Ask] = []
    asked: list[tuple[str, int]] = []
    for name in names:
        if name in paused:
            asks += paused[name].asks
            asked.append((name, len(paused[name].asks)))
            states[name] = paused[name].state
    yield Pause(tuple(asks), {"branches": states, "asked": asked})


async def heard(stage: Stage, flows: dict[str, Flow]) -> dict[str, Any]:
    """Return each branch's state, with the answers to its own questions."""
    if not isinstance(stage.state, dict):
        return {}
    states: dict[str, Any] = dict(stage.state.get("branches") or {})
    if not stage.answers:
        return states
    asked = stage.state.get("asked") or []
    place = len(stage.answers) - sum(count for _, count in asked)
    for name, count in asked:
        answers = stage.answers[place : place + count]
        place += count
        if name in flows:
            states[name] = restored(states[name], flows[name]).heard(answers).plain
    await stage.keep({"branches": states})
    return states


async def branch(
    stage: Stage, name: str, flow: Flow, states: dict[str, Any], gate: asyncio.Semaphore
) -> AsyncIterator[Event | Output | Pause]:
    async def keep(state: Any) -> None:
        states[name] = state
        await stage.keep({"branches": dict(states)})

    place = Place(states.get(name), (), keep)
    async with gate:
        playing = inner(
            stage, flow, around=stage.outputs, before=stage.previous, mark=f"/{name}", place=place
        )
        async with closing(playing) as items:
            async for item in items:
                yield item
