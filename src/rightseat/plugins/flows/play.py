"""Execution of a flow: step by step, saved after each, until it finishes, fails or asks."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import FlowFailed, FlowStopped
from rightseat.plugins.flows.attempt import Failure, Metered, attempted
from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.flows.progress import Progress, after
from rightseat.plugins.flows.question import AGAIN, RETRY, SKIP, agreement, may_have_run
from rightseat.plugins.flows.stage import Kit, Output, Stage
from rightseat.plugins.flows.steps import LLM, kind
from rightseat.plugins.flows.telling import told
from rightseat.types.events import Event, StepEnd, StepStart, Usage
from rightseat.types.streams import closing, within
from rightseat.types.tools import Ask, Pause, approves
from rightseat.types.turn import Turn

Note = Callable[[Progress], Awaitable[None]]
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0


class Done(Struct, frozen=True):
    """All steps are done. `output` is the last step's."""

    progress: Progress
    output: Output


async def play(
    flow: Flow,
    kit: Kit,
    turn: Turn,
    progress: Progress,
    note: Note,
    *,
    around: Mapping[str, Output] | None = None,
    before: Output | None = None,
    final: bool = True,
) -> AsyncIterator[Event | Pause | Done]:
    """Run the flow from its progress. A Pause holds the FlowProgress to resume with (`with_answers`).

    `outer_outputs` are outputs that its steps may name too, `previous` is the input of its first step.
    With `final` the text of its last step is streamed to the user.
    """
    steps = Play(flow, kit, turn, progress, note, around or {}, before, final)
    try:
        async with closing(within(steps.run(), flow.timeout)) as items:
            async for item in items:
                yield item
    except TimeoutError:
        at = f" It was at step {steps.progress.at!r}." if steps.progress.at else ""
        raise FlowFailed(
            f"The flow {flow.id} took longer than {flow.timeout:g} s and was stopped.{at}"
        ) from None


class Play:
    def __init__(
        self,
        flow: Flow,
        kit: Kit,
        turn: Turn,
        progress: Progress,
        note: Note,
        around: Mapping[str, Output],
        before: Output | None,
        final: bool,
    ) -> None:
        self.flow = flow
        self.kit = kit
        self.turn = turn
        self.progress = progress
        self.note = note
        self.around = around
        self.first = before
        self.final = final

    async def run(self) -> AsyncIterator[Event | Pause | Done]:
        while (step := self.in_hand) is not None:
            if self.progress.done >= self.flow.max_steps:
                raise FlowFailed(
                    f"The flow {self.flow.id} was stopped after {self.progress.done} steps, before "
                    f"{step.name!r}. Raise its max_steps if it needs more."
                )
            async with closing(self.step(step)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Pause):
                        return
        progress = self.progress
        yield Done(progress, progress.outputs.get(progress.previous, Output()))

    @property
    def in_hand(self) -> Step | None:
        progress = self.progress
        if progress.handler == "flow":
            return self.flow.on_error
        if progress.at is None:
            return None
        step = self.flow.steps[progress.at]
        return step.on_error if progress.handler else step

    async def keep(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)
        await self.note(self.progress)

    # One step

    async def step(self, step: Step) -> AsyncIterator[Event | Pause]:
        yield StepStart(step.name)
        yield told(self.flow, self.progress, step, input=step.params)
        before = await self.before(step)
        if isinstance(before, Pause):
            yield StepEnd(step.name)
            yield before
            return
        metered = Metered(self.kit.model)
        last: Output | Pause | Failure = before or Failure("")
        if before is None:
            async with closing(self.tries(step, metered)) as items:
                async for item in items:
                    if isinstance(item, Output | Pause | Failure):
                        last = item
                    else:
                        yield item
        if metered.usage is not None:
            self.progress = replace(self.progress, usage=metered.usage + (self.progress.usage or Usage()))
        if isinstance(last, Pause):
            await self.keep(begun=False, asking="step", asks=last.asks, state=last.state)
            yield StepEnd(step.name)
            yield self.pause()
            return
        outcome = told(self.flow, self.progress, step, last, metered.usage)
        if isinstance(last, Output):
            # Saved before the event is sent: a client that disconnects now does not undo the step.
            await self.advance(step, last)
        yield outcome
        yield StepEnd(step.name)
        if isinstance(last, Failure):
            await self.fail(step, last)

    async def before(self, step: Step) -> Output | Pause | None:
        """Return a question to ask first, an output that replaces the run, or None to run the step."""
        progress = self.progress
        if progress.asks:
            return self.pause()
        if progress.asking == "again":
            chosen = progress.verdict.get(AGAIN) if isinstance(progress.verdict, dict) else None
            if chosen == SKIP:
                return Output(None, "It was left out: it may have run before.")
            if chosen != RETRY:
                raise FlowStopped(f"The flow {self.flow.id} was stopped at step {step.name!r}.")
            self.progress = replace(progress, begun=False, asking="", verdict=None)
        elif progress.begun and not self.repeatable(step):
            return await self.ask("again", may_have_run(self.flow, step))
        if not step.confirm or self.progress.agreed:
            return None
        if progress.asking != "confirm":
            return await self.ask("confirm", agreement(self.flow, step))
        if not approves(progress.verdict):
            raise FlowStopped(
                f"The step {step.name!r} was not allowed, so the flow {self.flow.id} ends here."
            )
        self.progress = replace(progress, agreed=True, asking="", verdict=None)
        return None

    async def ask(self, asking: Literal["confirm", "again"], ask: Ask) -> Pause:
        await self.keep(asking=asking, asks=(ask,))
        return self.pause()

    def pause(self) -> Pause:
        return Pause(self.progress.asks, self.progress.plain)

    async def tries(self, step: Step, metered: Metered) -> AsyncIterator[Event | Output | Pause | Failure]:
        """Run the step with its retries; the last item is the final outcome."""
        if not self.repeatable(step):
            await self.keep(begun=True)
        last: Output | Pause | Failure = Failure("")
        for number in range(step.retry + 1):
            if number:
                await asyncio.sleep(min(FIRST_WAIT * 2 ** (number - 1), LONGEST_WAIT))
            tried = attempted(perform, self.stage(step, metered))
            async with closing(tried) as items:
                async for item in items:
                    if isinstance(item, Output | Pause | Failure):
                        last = self.possible(item)
                    else:
                        yield item
            if not isinstance(last, Failure):
                break
        yield last

    def stage(self, step: Step, metered: Metered) -> Stage:
        async def keep(state: Any) -> None:
            # The state includes the answers now.
            await self.keep(state=state, answers=())

        progress = self.progress
        return Stage(
            flow=self.flow,
            step=step,
            kit=dataclasses.replace(self.kit, model=metered),
            turn=self.turn,
            question=progress.question,
            outputs={**self.around, **progress.outputs},
            previous=progress.outputs.get(progress.previous, self.first),
            failure=progress.failure,
            last=self.final and self.ends(step),
            key=progress.step_key(step),
            state=progress.state,
            answers=progress.answers,
            keep=keep,
        )

    def repeatable(self, step: Step) -> bool:
        if step.repeatable is not None:
            return step.repeatable
        return kind(step.kind).repeatable(step, self.kit)

    def ends(self, step: Step) -> bool:
        return after(self.flow, step.next) is None and not tuple(kind(step.kind).jumps(step))

    def possible(self, item: Output | Pause | Failure) -> Output | Pause | Failure:
        jump = item.jump if isinstance(item, Output) else None
        if jump is None or jump == END or jump in self.flow.steps:
            return item
        return Failure(f"It chose the step {jump[:80]!r}, and there is none of that name.")

    async def advance(self, step: Step, output: Output) -> None:
        spoken = output.spoken or (step.kind == LLM and self.final and self.ends(step))
        self.progress = self.progress.ended(step, output, after(self.flow, output.jump or step.next))
        await self.keep(spoken=spoken)

    async def fail(self, step: Step, failure: Failure) -> None:
        """Continue with on_error, or raise FlowFailed."""
        progress = self.progress
        if progress.handler:
            raise FlowFailed(
                f"The flow {self.flow.id} failed at step {progress.at!r}: {progress.failure} "
                f"Its on_error failed too: {failure.text}"
            )
        if step.on_error is None and self.flow.on_error is None:
            raise FlowFailed(f"The flow {self.flow.id} failed at step {step.name!r}: {failure.text}")
        self.progress = progress.failed("step" if step.on_error else "flow", failure.text)
        await self.keep()


def perform(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    return kind(stage.step.kind).run(stage)
