"""Step kind `loop`: repeats `params.steps` for each item of `params.over`, or until `params.until` holds, at
most `params.max` times. `{item}` is the item, `{round}` its number from 1. The output lists all rounds'."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from rightseat.plugins.flows import when
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.inner import Place, inner
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.names import Names
from rightseat.plugins.flows.path import opened, there
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.flows.steps.parallel import check_inner
from rightseat.plugins.flows.template import value_of
from rightseat.plugins.flows.written import sequence
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

ROUNDS = 20
MOST = 1000
ITEM, ROUND = "item", "round"


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    params = step.params
    most = params.get("max", ROUNDS)
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST:
        yield problem(flow, step, "params.max", f"It is no number from 1 to {MOST}.", "Write one.")
    if "steps" not in params:
        yield problem(flow, step, "params.steps", "There are none.", "Write what each round does.")
        return
    seen = (*flow.steps.values(), Step(name=ITEM, kind="none"), Step(name=ROUND, kind="none"))
    around = structs.replace(flow, steps={one.name: one for one in seen})
    yield from check_inner(params["steps"], step.name, step, around, known)
    if "until" in params:
        try:
            when.read(params["until"])
        except when.BadCondition as error:
            yield problem(flow, step, "params.until", str(error), "See docs/flows.md, Conditions.")


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    rounds = Rounds(stage)
    async with closing(rounds.run()) as items:
        async for item in items:
            yield item


class Rounds:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.most = int(stage.step.params.get("max", ROUNDS))
        self.items = self.over()
        state = stage.state if isinstance(stage.state, dict) else {}
        self.results: list[Any] = list(state.get("results") or ())
        self.inner: Any = state.get("inner")
        try:
            self.flow = sequence(stage.step.params.get("steps"), stage.step.name, stage.flow)
        except ValueError as error:
            raise StepFailed(str(error)) from None

    def over(self) -> list[Any] | None:
        given = self.stage.step.params.get("over")
        if given is None:
            return None
        items = opened(value_of(given, Names(self.stage)))
        if not isinstance(items, list):
            raise StepFailed(f"A loop goes over a list, and this is {there(items)}.")
        if len(items) > self.most:
            raise StepFailed(f"There are {len(items)} items, and at most {self.most} rounds. Raise `max`.")
        return items

    @property
    def limit(self) -> int:
        return self.most if self.items is None else len(self.items)

    async def run(self) -> AsyncIterator[Event | Output | Pause]:
        answers = self.stage.answers
        while len(self.results) < self.limit and not self.enough():
            found: Output | None = None
            async with closing(self.round(answers)) as items:
                async for item in items:
                    if isinstance(item, Pause):
                        yield Pause(item.asks, {"results": self.results, "inner": item.state})
                        return
                    if isinstance(item, Output):
                        found = item
                    else:
                        yield item
            answers = ()
            self.results.append(found.data if found else None)
            self.inner = None
            await self.stage.keep({"results": self.results})
        count = len(self.results)
        yield Output(self.results, "1 round was run." if count == 1 else f"{count} rounds were run.")

    def round(self, answers: tuple[Any, ...]) -> AsyncIterator[Event | Output | Pause]:
        number = len(self.results)

        async def keep(state: Any) -> None:
            await self.stage.keep({"results": self.results, "inner": state})

        item = None if self.items is None else self.items[number]
        before = Output(item) if self.items is not None else self.last
        return inner(
            self.stage,
            self.flow,
            around={**self.stage.outputs, ITEM: Output(item), ROUND: Output(number + 1)},
            before=before,
            mark=f"/{number}",
            place=Place(self.inner, answers, keep),
        )

    @property
    def last(self) -> Output | None:
        return Output(self.results[-1]) if self.results else self.stage.previous

    def enough(self) -> bool:
        """Whether `until` holds for the last round's output."""
        given = self.stage.step.params.get("until")
        if given is None or not self.results:
            return False
        seen = {**self.stage.outputs, ROUND: Output(len(self.results)), self.stage.step.name: self.last}
        outputs = {name: one for name, one in seen.items() if one is not None}
        return when.holds(when.read(given), Names(replace(self.stage, outputs=outputs, previous=self.last)))
