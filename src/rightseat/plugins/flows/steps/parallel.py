"""Step kind `parallel`: runs `params.branches` concurrently, `params.at_once` at a time. A branch is a step
or a list of steps. The output maps branch names to outputs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.checkpoint import restore_progress
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepError, StepOutput, make_step_problem
from rightseat.plugins.flows.load import check_steps, check_transitions, parse_nested_steps
from rightseat.plugins.flows.run import SubflowState, stream_subflow
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.streams import closing, merge
from rightseat.types.tools import Ask, Pause

MAX_BRANCHES = 50
DEFAULT_AT_ONCE = 4


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    branches_value = step.params.get("branches")
    if not isinstance(branches_value, dict) or not branches_value:
        fix = "Write a name for each, and its call_type and params."
        yield make_step_problem(flow, step, "params.branches", "There are none.", fix)
        return
    if len(branches_value) > MAX_BRANCHES:
        yield make_step_problem(flow, step, "params.branches", f"There are more than {MAX_BRANCHES}.", "Use a loop.")
    at_once = step.params.get("at_once", DEFAULT_AT_ONCE)
    if not isinstance(at_once, int) or isinstance(at_once, bool) or not 1 <= at_once <= MAX_BRANCHES:
        yield make_step_problem(
            flow, step, "params.at_once", f"It is no number from 1 to {MAX_BRANCHES}.", "Write one."
        )
    for name, value in branches_value.items():
        yield from check_nested_steps(value, f"{step.name}/{name}", step, flow, known)


def check_nested_steps(value: Any, name: str, step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    """Check the steps nested in a step."""
    try:
        subflow = parse_nested_steps(value, name, flow)
    except ValueError as error:
        yield make_step_problem(flow, step, "params", f"{name}: {error}", "See the chapter on steps in docs/flows.md.")
        return
    first = next(iter(subflow.steps))
    scope = replace(flow, steps={**flow.steps, **subflow.steps})
    for one in (*check_steps(subflow, known, scope), *check_transitions(subflow, first)):
        yield make_step_problem(flow, step, "params", f"{name}: {one.what}", one.fix, one.gravity)


def parse_branches(ctx: StepContext) -> dict[str, Flow]:
    value_by_name = ctx.step.params.get("branches") or {}
    try:
        return {
            str(name): parse_nested_steps(value, f"{ctx.step.name}/{name}", ctx.flow, str(name))
            for name, value in value_by_name.items()
        }
    except ValueError as error:
        raise StepError(str(error)) from None


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    flows = parse_branches(ctx)
    states: dict[str, Any] = await restore_branch_states(ctx, flows)
    semaphore = asyncio.Semaphore(int(ctx.step.params.get("at_once", DEFAULT_AT_ONCE)))
    names = list(flows)
    outputs: dict[str, StepOutput] = {}
    paused: dict[str, Pause] = {}
    streams = [stream_branch(ctx, name, flows[name], states, semaphore) for name in names]
    async with closing(merge(*streams)) as items:
        async for number, item in items:
            if isinstance(item, StepOutput):
                outputs[names[number]] = item
            elif isinstance(item, Pause):
                paused[names[number]] = item
            else:
                yield item
    if not paused:
        yield StepOutput({name: outputs[name].data for name in names}, f"{len(names)} branches were run.")
        return
    asks: list[Ask] = []
    asked: list[tuple[str, int]] = []
    for name in names:
        if name in paused:
            asks += paused[name].asks
            asked.append((name, len(paused[name].asks)))
            states[name] = paused[name].state
    yield Pause(tuple(asks), {"branches": states, "asked": asked})


async def restore_branch_states(ctx: StepContext, flows: dict[str, Flow]) -> dict[str, Any]:
    """Return each branch's state, with the answers to its own questions."""
    if not isinstance(ctx.state, dict):
        return {}
    states: dict[str, Any] = dict(ctx.state.get("branches") or {})
    if not ctx.answers:
        return states
    asked = ctx.state.get("asked") or []
    place = len(ctx.answers) - sum(count for _, count in asked)
    for name, count in asked:
        answers = ctx.answers[place : place + count]
        place += count
        if name in flows:
            states[name] = restore_progress(states[name], flows[name]).with_answers(answers).as_dict
    await ctx.save_state({"branches": states})
    return states


async def stream_branch(
    ctx: StepContext, name: str, flow: Flow, states: dict[str, Any], semaphore: asyncio.Semaphore
) -> AsyncIterator[Event | StepOutput | Pause]:
    async def save_state(state: Any) -> None:
        states[name] = state
        await ctx.save_state({"branches": dict(states)})

    saved = SubflowState(states.get(name), (), save_state)
    async with semaphore:
        stream = stream_subflow(
            ctx, flow, outer_outputs=ctx.outputs, previous=ctx.previous, key_suffix=f"/{name}", saved=saved
        )
        async with closing(stream) as items:
            async for item in items:
                yield item
