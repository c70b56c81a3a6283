"""Execution of a flow: step by step, saved after each, until it finishes, fails or asks."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import FlowFailed, FlowStopped
from rightseat.plugins.flows.attempt import StepFailure, UsageTrackingModel, stream_attempt
from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.flows.progress import FlowProgress, resolve_next_step
from rightseat.plugins.flows.question import ACTION, RETRY, SKIP, make_confirmation, make_rerun_question
from rightseat.plugins.flows.stage import FlowServices, StepContext, StepOutput
from rightseat.plugins.flows.steps import LLM, get_kind
from rightseat.plugins.flows.telling import make_step_event
from rightseat.types.events import Event, StepEnd, StepStart, Usage
from rightseat.types.streams import closing, with_timeout
from rightseat.types.tools import Ask, Pause, is_approved
from rightseat.types.turn import Turn

SaveProgress = Callable[[FlowProgress], Awaitable[None]]
INITIAL_BACKOFF, MAX_BACKOFF = 0.2, 5.0


class FlowFinished(Struct, frozen=True):
    """All steps are done. `output` is the last step's."""

    progress: FlowProgress
    output: StepOutput


async def stream_flow(
    flow: Flow,
    services: FlowServices,
    turn: Turn,
    progress: FlowProgress,
    save_progress: SaveProgress,
    *,
    outer_outputs: Mapping[str, StepOutput] | None = None,
    previous: StepOutput | None = None,
    final: bool = True,
) -> AsyncIterator[Event | Pause | FlowFinished]:
    """Run the flow from its progress. A Pause holds the FlowProgress to resume with (`with_answers`).

    `outer_outputs` are outputs that its steps may name too, `previous` is the input of its first step.
    With `final` the text of its last step is streamed to the user.
    """
    run = FlowRun(flow, services, turn, progress, save_progress, outer_outputs or {}, previous, final)
    try:
        async with closing(with_timeout(run.run(), flow.timeout)) as items:
            async for item in items:
                yield item
    except TimeoutError:
        at = f" It was at step {run.progress.at!r}." if run.progress.at else ""
        raise FlowFailed(
            f"The flow {flow.id} took longer than {flow.timeout:g} s and was stopped.{at}"
        ) from None


class FlowRun:
    def __init__(
        self,
        flow: Flow,
        services: FlowServices,
        turn: Turn,
        progress: FlowProgress,
        save_progress: SaveProgress,
        outer_outputs: Mapping[str, StepOutput],
        previous: StepOutput | None,
        is_final: bool,
    ) -> None:
        self.flow = flow
        self.services = services
        self.turn = turn
        self.progress = progress
        self.save_progress = save_progress
        self.outer_outputs = outer_outputs
        self.initial_output = previous
        self.is_final = is_final

    async def run(self) -> AsyncIterator[Event | Pause | FlowFinished]:
        while (step := self.current_step) is not None:
            if self.progress.done >= self.flow.max_steps:
                raise FlowFailed(
                    f"The flow {self.flow.id} was stopped after {self.progress.done} steps, before "
                    f"{step.name!r}. Raise its max_steps if it needs more."
                )
            async with closing(self.stream_step(step)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Pause):
                        return
        progress = self.progress
        yield FlowFinished(progress, progress.outputs.get(progress.previous, StepOutput()))

    @property
    def current_step(self) -> Step | None:
        progress = self.progress
        if progress.handler == "flow":
            return self.flow.on_error
        if progress.at is None:
            return None
        step = self.flow.steps[progress.at]
        return step.on_error if progress.handler else step

    async def save(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)
        await self.save_progress(self.progress)

    # One step

    async def stream_step(self, step: Step) -> AsyncIterator[Event | Pause]:
        yield StepStart(step.name)
        yield make_step_event(self.flow, self.progress, step, input=step.params)
        shortcut = await self.check_preconditions(step)
        if isinstance(shortcut, Pause):
            yield StepEnd(step.name)
            yield shortcut
            return
        model = UsageTrackingModel(self.services.model)
        result: StepOutput | Pause | StepFailure = shortcut or StepFailure("")
        if shortcut is None:
            async with closing(self.stream_attempts(step, model)) as items:
                async for item in items:
                    if isinstance(item, StepOutput | Pause | StepFailure):
                        result = item
                    else:
                        yield item
        if model.usage is not None:
            self.progress = replace(self.progress, usage=model.usage + (self.progress.usage or Usage()))
        if isinstance(result, Pause):
            await self.save(begun=False, asking="step", asks=result.asks, state=result.state)
            yield StepEnd(step.name)
            yield self.make_pause()
            return
        outcome_event = make_step_event(self.flow, self.progress, step, result, model.usage)
        if isinstance(result, StepOutput):
            # Saved before the event is sent: a client that disconnects now does not undo the step.
            await self.advance(step, result)
        yield outcome_event
        yield StepEnd(step.name)
        if isinstance(result, StepFailure):
            await self.handle_failure(step, result)

    async def check_preconditions(self, step: Step) -> StepOutput | Pause | None:
        """Return a question to ask first, an output that replaces the run, or None to run the step."""
        progress = self.progress
        if progress.asks:
            return self.make_pause()
        if progress.asking == "again":
            chosen = progress.verdict.get(ACTION) if isinstance(progress.verdict, dict) else None
            if chosen == SKIP:
                return StepOutput(None, "It was left out: it may have run before.")
            if chosen != RETRY:
                raise FlowStopped(f"The flow {self.flow.id} was stopped at step {step.name!r}.")
            self.progress = replace(progress, begun=False, asking="", verdict=None)
        elif progress.begun and not self.is_repeatable(step):
            return await self.ask("again", make_rerun_question(self.flow, step))
        if not step.confirm or self.progress.agreed:
            return None
        if progress.asking != "confirm":
            return await self.ask("confirm", make_confirmation(self.flow, step))
        if not is_approved(progress.verdict):
            raise FlowStopped(
                f"The step {step.name!r} was not allowed, so the flow {self.flow.id} ends here."
            )
        self.progress = replace(progress, agreed=True, asking="", verdict=None)
        return None

    async def ask(self, asking: Literal["confirm", "again"], ask: Ask) -> Pause:
        await self.save(asking=asking, asks=(ask,))
        return self.make_pause()

    def make_pause(self) -> Pause:
        return Pause(self.progress.asks, self.progress.as_dict)

    async def stream_attempts(
        self, step: Step, model: UsageTrackingModel
    ) -> AsyncIterator[Event | StepOutput | Pause | StepFailure]:
        """Run the step with its retries; the last item is the final outcome."""
        if not self.is_repeatable(step):
            await self.save(begun=True)
        outcome: StepOutput | Pause | StepFailure = StepFailure("")
        for number in range(step.retry + 1):
            if number:
                await asyncio.sleep(min(INITIAL_BACKOFF * 2 ** (number - 1), MAX_BACKOFF))
            attempt = stream_attempt(run_step_kind, self.make_context(step, model))
            async with closing(attempt) as items:
                async for item in items:
                    if isinstance(item, StepOutput | Pause | StepFailure):
                        outcome = self.validate_jump(item)
                    else:
                        yield item
            if not isinstance(outcome, StepFailure):
                break
        yield outcome

    def make_context(self, step: Step, model: UsageTrackingModel) -> StepContext:
        async def save_state(state: Any) -> None:
            # The state includes the answers now.
            await self.save(state=state, answers=())

        progress = self.progress
        return StepContext(
            flow=self.flow,
            step=step,
            services=dataclasses.replace(self.services, model=model),
            turn=self.turn,
            question=progress.question,
            outputs={**self.outer_outputs, **progress.outputs},
            previous=progress.outputs.get(progress.previous, self.initial_output),
            failure=progress.failure,
            last=self.is_final and self.is_last_step(step),
            key=progress.make_step_key(step),
            state=progress.state,
            answers=progress.answers,
            save_state=save_state,
        )

    def is_repeatable(self, step: Step) -> bool:
        if step.repeatable is not None:
            return step.repeatable
        return get_kind(step.kind).repeatable(step, self.services)

    def is_last_step(self, step: Step) -> bool:
        return resolve_next_step(self.flow, step.next) is None and not tuple(get_kind(step.kind).jumps(step))

    def validate_jump(self, outcome: StepOutput | Pause | StepFailure) -> StepOutput | Pause | StepFailure:
        jump = outcome.jump if isinstance(outcome, StepOutput) else None
        if jump is None or jump == END or jump in self.flow.steps:
            return outcome
        return StepFailure(f"It chose the step {jump[:80]!r}, and there is none of that name.")

    async def advance(self, step: Step, output: StepOutput) -> None:
        spoken = output.spoken or (step.kind == LLM and self.is_final and self.is_last_step(step))
        self.progress = self.progress.after_step(
            step, output, resolve_next_step(self.flow, output.jump or step.next)
        )
        await self.save(spoken=spoken)

    async def handle_failure(self, step: Step, failure: StepFailure) -> None:
        """Continue with on_error, or raise FlowFailed."""
        progress = self.progress
        if progress.handler:
            raise FlowFailed(
                f"The flow {self.flow.id} failed at step {progress.at!r}: {progress.failure} "
                f"Its on_error failed too: {failure.text}"
            )
        if step.on_error is None and self.flow.on_error is None:
            raise FlowFailed(f"The flow {self.flow.id} failed at step {step.name!r}: {failure.text}")
        self.progress = progress.after_failure("step" if step.on_error else "flow", failure.text)
        await self.save()


def run_step_kind(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    return get_kind(ctx.step.kind).run(ctx)
