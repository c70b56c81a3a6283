"""Step kinds `flow`, `loop` and `parallel`: run other steps inside a step, with progress saved in its state."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from rightseat.plugins.flows import conditions
from rightseat.plugins.flows.checkpoint import FlowProgress, restore_progress, start_progress
from rightseat.plugins.flows.load import check_nested_keys, check_steps, check_transitions, parse_nested_steps
from rightseat.plugins.flows.paths import decode_json_text, describe_value
from rightseat.plugins.flows.run import FlowFinished, FlowRun
from rightseat.plugins.flows.step_context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    StepStream,
    check_param_names,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.steps import StepKind
from rightseat.plugins.flows.templates import StepVariables, fill_template, fill_value
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.streams import closing, merge
from rightseat.types.tools import Ask, Pause

MAX_FLOW_DEPTH = 5
DEFAULT_ROUNDS = 20
MAX_ROUNDS = 1000
ITEM, ROUND = "item", "round"
MAX_BRANCHES = 50
DEFAULT_AT_ONCE = 4


async def stream_subflow(ctx: StepContext, flow: Flow) -> StepStream:
    """Run a flow inside a step, with the context's question, outputs, key and saved state."""
    progress = start_progress(flow, ctx.question, ctx.key)
    if ctx.state is not None:
        progress = restore_progress(ctx.state, flow, ctx.turn.get_language())
        if ctx.answers:
            # Saved at once: after a crash the answers must not be applied twice.
            progress = progress.with_answers(ctx.answers)
            await ctx.save_state(progress.as_dict)

    async def save_progress(progress: FlowProgress) -> None:
        await ctx.save_state(progress.as_dict)

    run = FlowRun(
        flow, ctx.services, ctx.turn, progress, save_progress, ctx.outputs, ctx.previous, ctx.last, ctx.record_effect
    )
    async with closing(run.stream()) as items:
        async for item in items:
            if isinstance(item, FlowFinished):
                yield structs.replace(item.output, jump=None, spoken=item.progress.spoken)
            else:
                yield item


def check_nested_steps(value: Any, name: str, step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    """Check the steps nested in a step."""
    try:
        subflow = parse_nested_steps(value, name, flow)
    except ValueError as error:
        yield make_step_problem(flow, step, "params", f"{name}: {error}", "See the chapter on steps in docs/flows.md.")
        return
    for key, fix in check_nested_keys(value):
        yield make_step_problem(flow, step, f"params.{key}", f"{name}: Nothing reads {key!r}.", fix, "warning")
    first = next(iter(subflow.steps))
    scope = structs.replace(flow, steps={**flow.steps, **subflow.steps})
    for problem in (*check_steps(subflow, known, scope), *check_transitions(subflow, first)):
        yield make_step_problem(flow, step, "params", f"{name}: {problem.what}", problem.fix, problem.gravity)


def run_flow(ctx: StepContext) -> StepStream:
    """Run another flow, `params.flow`, of this plugin or as "plugin/name", with `params.question` or the current
    question. Its last output is the step's."""
    flow, services = find_flow(ctx)
    if ctx.turn.depth >= MAX_FLOW_DEPTH:
        raise StepError(f"Flows run each other more than {MAX_FLOW_DEPTH} deep.")
    template = ctx.step.params.get("question")
    question = fill_template(template, StepVariables(ctx)) if isinstance(template, str) and template else ctx.question
    turn = structs.replace(ctx.turn, depth=ctx.turn.depth + 1)
    return stream_subflow(
        replace(ctx, services=services, turn=turn, question=question, outputs={}, previous=None), flow
    )


def find_flow(ctx: StepContext) -> tuple[Flow, FlowServices]:
    name = str(ctx.step.params.get("flow") or "")
    flow = ctx.services.flows.get(name) or ctx.services.flows.get(f"{ctx.flow.plugin}/{name}")
    if flow is None:
        raise StepError(f"There is no flow {name!r}.")
    if flow.plugin == ctx.flow.plugin or ctx.services.get_plugin_services is None:
        return flow, ctx.services
    return flow, replace(ctx.services.get_plugin_services(flow.plugin), store=ctx.services.store)


def check_flow_step(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "A flow step", ("flow", "question"))
    name = step.params.get("flow")
    if not isinstance(name, str) or not name:
        yield make_step_problem(flow, step, "params.flow", "It names no flow.", format_hint("", known.flows))
    elif name in (flow.name, flow.id):
        yield make_step_problem(flow, step, "params.flow", "A flow cannot run itself.", "Use `next` or a loop.")
    elif name not in known.flows:
        plugin, slash, _ = name.partition("/")
        if not slash or plugin == flow.plugin:
            what = f"There is no flow {name!r} in this plugin."
            yield make_step_problem(flow, step, "params.flow", what, format_hint(name, known.flows))


def run_loop(ctx: StepContext) -> StepStream:
    """Repeat `params.steps` for each item of `params.over`, or until `params.until` holds, at most `params.max`
    times. `{item}` is the item, `{round}` its number from 1. The output lists all rounds'."""
    return LoopRun(ctx).run()


class LoopRun:
    def __init__(self, ctx: StepContext) -> None:
        self.ctx = ctx
        self.max_rounds = int(ctx.step.params.get("max", DEFAULT_ROUNDS))
        self.items = self.get_items()
        state = ctx.state if isinstance(ctx.state, dict) else {}
        self.results: list[Any] = list(state.get("results") or ())
        self.inner: Any = state.get("inner")
        try:
            self.flow = parse_nested_steps(ctx.step.params.get("steps"), ctx.step.name, ctx.flow)
        except ValueError as error:
            raise StepError(str(error)) from None

    def get_items(self) -> list[Any] | None:
        template = self.ctx.step.params.get("over")
        if template is None:
            return None
        items = decode_json_text(fill_value(template, StepVariables(self.ctx)))
        if not isinstance(items, list):
            raise StepError(f"`over` must be a list, but it is {describe_value(items)}.")
        if len(items) > self.max_rounds:
            raise StepError(f"There are {len(items)} items, and at most {self.max_rounds} rounds. Raise `max`.")
        return items

    async def run(self) -> StepStream:
        answers = self.ctx.answers
        limit = self.max_rounds if self.items is None else len(self.items)
        while len(self.results) < limit and not self.is_finished():
            output: StepOutput | None = None
            async with closing(self.stream_round(answers)) as items:
                async for item in items:
                    if isinstance(item, Pause):
                        yield Pause(item.asks, {"results": self.results, "inner": item.state})
                        return
                    if isinstance(item, StepOutput):
                        output = item
                    else:
                        yield item
            answers = ()
            self.results.append(output.data if output else None)
            self.inner = None
            await self.ctx.save_state({"results": self.results})
        count = len(self.results)
        yield StepOutput(self.results, "1 round was run." if count == 1 else f"{count} rounds were run.")

    def stream_round(self, answers: tuple[Any, ...]) -> StepStream:
        number = len(self.results)

        async def save_state(state: Any) -> None:
            await self.ctx.save_state({"results": self.results, "inner": state})

        item = StepOutput(None if self.items is None else self.items[number])
        previous = StepOutput(self.results[-1]) if self.results else self.ctx.previous
        round_ctx = replace(
            self.ctx,
            outputs={**self.ctx.outputs, ITEM: item, ROUND: StepOutput(number + 1)},
            previous=previous if self.items is None else item,
            last=False,
            key=f"{self.ctx.key}/{number}",
            state=self.inner,
            answers=answers,
            save_state=save_state,
        )
        return stream_subflow(round_ctx, self.flow)

    def is_finished(self) -> bool:
        """Whether `until` holds for the last round's output."""
        condition = self.ctx.step.params.get("until")
        if condition is None or not self.results:
            return False
        previous = StepOutput(self.results[-1])
        outputs = {**self.ctx.outputs, ROUND: StepOutput(len(self.results)), self.ctx.step.name: previous}
        return conditions.evaluate_condition(
            conditions.parse_condition(condition), StepVariables(replace(self.ctx, outputs=outputs, previous=previous))
        )


def check_loop(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    yield from check_param_names(flow, step, "A loop", ("over", "until", "steps", "max"))
    if not is_number_between(params.get("max", DEFAULT_ROUNDS), MAX_ROUNDS):
        yield make_step_problem(flow, step, "params.max", f"It is no number from 1 to {MAX_ROUNDS}.", "Write one.")
    if "steps" not in params:
        yield make_step_problem(flow, step, "params.steps", "There are none.", "Write what each round does.")
        return
    variables = {name: Step(name=name, kind="none") for name in (ITEM, ROUND)}
    scope = structs.replace(flow, steps={**flow.steps, **variables})
    yield from check_nested_steps(params["steps"], step.name, step, scope, known)
    if "until" in params:
        try:
            conditions.parse_condition(params["until"])
        except conditions.InvalidCondition as error:
            yield make_step_problem(flow, step, "params.until", str(error), "See docs/flows.md, Conditions.")


def is_number_between(value: Any, most: int) -> bool:
    """Whether the value is a whole number from 1 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


async def run_parallel(ctx: StepContext) -> StepStream:
    """Run `params.branches` concurrently, `params.at_once` at a time. A branch is a step or a list of steps. The
    output maps branch names to outputs."""
    flows = parse_branches(ctx)
    states = await restore_branch_states(ctx, flows)
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


def parse_branches(ctx: StepContext) -> dict[str, Flow]:
    branches = ctx.step.params.get("branches") or {}
    try:
        return {
            str(name): parse_nested_steps(value, f"{ctx.step.name}/{name}", ctx.flow, str(name))
            for name, value in branches.items()
        }
    except ValueError as error:
        raise StepError(str(error)) from None


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
) -> StepStream:
    async def save_state(state: Any) -> None:
        states[name] = state
        await ctx.save_state({"branches": dict(states)})

    branch_ctx = replace(
        ctx, last=False, key=f"{ctx.key}/{name}", state=states.get(name), answers=(), save_state=save_state
    )
    async with semaphore, closing(stream_subflow(branch_ctx, flow)) as items:
        async for item in items:
            yield item


def check_parallel(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "A parallel step", ("branches", "at_once"))
    branches = step.params.get("branches")
    if not isinstance(branches, dict) or not branches:
        fix = "Write a name for each, and its call_type and params."
        yield make_step_problem(flow, step, "params.branches", "There are none.", fix)
        return
    if len(branches) > MAX_BRANCHES:
        yield make_step_problem(flow, step, "params.branches", f"There are more than {MAX_BRANCHES}.", "Use a loop.")
    if not is_number_between(step.params.get("at_once", DEFAULT_AT_ONCE), MAX_BRANCHES):
        what = f"It is no number from 1 to {MAX_BRANCHES}."
        yield make_step_problem(flow, step, "params.at_once", what, "Write one.")
    for name, value in branches.items():
        yield from check_nested_steps(value, f"{step.name}/{name}", step, flow, known)


STEP_KINDS = {
    "flow": StepKind(run_flow, check_flow_step),
    "loop": StepKind(run_loop, check_loop),
    "parallel": StepKind(run_parallel, check_parallel),
}
