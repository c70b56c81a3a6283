"""Step kind `loop`: repeats `params.steps` for each item of `params.over`, or until `params.until` holds, at
most `params.max` times. `{item}` is the item, `{round}` its number from 1. The output lists all rounds'."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from rightseat.plugins.flows import conditions
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepError, StepOutput, make_step_problem
from rightseat.plugins.flows.load import parse_nested_steps
from rightseat.plugins.flows.paths import decode_json_text, describe_value
from rightseat.plugins.flows.run import SubflowState, stream_subflow
from rightseat.plugins.flows.steps.parallel import check_nested_steps
from rightseat.plugins.flows.templates import StepVariables, fill_value
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

DEFAULT_ROUNDS = 20
MAX_ROUNDS = 1000
ITEM, ROUND = "item", "round"


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    most = params.get("max", DEFAULT_ROUNDS)
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MAX_ROUNDS:
        yield make_step_problem(flow, step, "params.max", f"It is no number from 1 to {MAX_ROUNDS}.", "Write one.")
    if "steps" not in params:
        yield make_step_problem(flow, step, "params.steps", "There are none.", "Write what each round does.")
        return
    visible_steps = (*flow.steps.values(), Step(name=ITEM, kind="none"), Step(name=ROUND, kind="none"))
    scope = structs.replace(flow, steps={one.name: one for one in visible_steps})
    yield from check_nested_steps(params["steps"], step.name, step, scope, known)
    if "until" in params:
        try:
            conditions.parse_condition(params["until"])
        except conditions.InvalidCondition as error:
            yield make_step_problem(flow, step, "params.until", str(error), "See docs/flows.md, Conditions.")


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    loop = LoopRun(ctx)
    async with closing(loop.run()) as items:
        async for item in items:
            yield item


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

    @property
    def limit(self) -> int:
        return self.max_rounds if self.items is None else len(self.items)

    async def run(self) -> AsyncIterator[Event | StepOutput | Pause]:
        answers = self.ctx.answers
        while len(self.results) < self.limit and not self.is_finished():
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

    def stream_round(self, answers: tuple[Any, ...]) -> AsyncIterator[Event | StepOutput | Pause]:
        number = len(self.results)

        async def save_state(state: Any) -> None:
            await self.ctx.save_state({"results": self.results, "inner": state})

        item = None if self.items is None else self.items[number]
        previous = StepOutput(item) if self.items is not None else self.previous_output
        return stream_subflow(
            self.ctx,
            self.flow,
            outer_outputs={**self.ctx.outputs, ITEM: StepOutput(item), ROUND: StepOutput(number + 1)},
            previous=previous,
            key_suffix=f"/{number}",
            saved=SubflowState(self.inner, answers, save_state),
        )

    @property
    def previous_output(self) -> StepOutput | None:
        return StepOutput(self.results[-1]) if self.results else self.ctx.previous

    def is_finished(self) -> bool:
        """Whether `until` holds for the last round's output."""
        condition = self.ctx.step.params.get("until")
        if condition is None or not self.results:
            return False
        visible_outputs = {
            **self.ctx.outputs,
            ROUND: StepOutput(len(self.results)),
            self.ctx.step.name: self.previous_output,
        }
        outputs = {name: one for name, one in visible_outputs.items() if one is not None}
        return conditions.evaluate_condition(
            conditions.parse_condition(condition),
            StepVariables(replace(self.ctx, outputs=outputs, previous=self.previous_output)),
        )
