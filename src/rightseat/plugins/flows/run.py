"""FlowRun: executes the steps of a flow, with retries, on_error, confirmations and saved progress."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct, json, to_builtins
from msgspec.structs import replace

from rightseat.config.secret import mask
from rightseat.errors import ContinuationGone, FlowFailed, FlowStopped, RightseatError
from rightseat.http.retry import RetryBudget, compute_backoff, current_retry_budget, with_retry_budget
from rightseat.plugins.flows.checkpoint import FlowChanged, FlowProgress, resolve_next_step
from rightseat.plugins.flows.step_context import FlowServices, StepContext, StepError, StepOutput, record_nothing
from rightseat.plugins.flows.steps import LLM, NONE, get_kind
from rightseat.plugins.plugin import END, Flow, Step
from rightseat.types.chunks import ModelChunk, UsageChunk
from rightseat.types.events import Custom, Event, OpenMessageTracker, StepEnd, StepStart, Usage
from rightseat.types.fencing import begin_effect
from rightseat.types.json_values import to_json_value
from rightseat.types.language import Language
from rightseat.types.model import Model, ModelWrapper, Prompt
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing, with_timeout
from rightseat.types.text import escape_invisible
from rightseat.types.tools import (
    RERUN_ACTION,
    RERUN_RETRY,
    RERUN_SKIP,
    Ask,
    Pause,
    fingerprint_tools,
    is_approved,
    make_approval,
)
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
MAX_ERROR_LENGTH = 4000


class StepFailure(Struct, frozen=True):
    text: str


StepOutcome = StepOutput | Pause | StepFailure


async def stream_attempt(ctx: StepContext) -> AsyncIterator[Event | StepOutcome]:
    """Run the step once; the last item is its outcome.

    Whatever it raises becomes a StepFailure: another package may have written it.
    """
    open_items = OpenMessageTracker()
    outcome: StepOutcome = StepFailure("The step ended without an output.")
    try:
        async with closing(with_timeout(get_kind(ctx.step.kind).run(ctx), ctx.step.timeout)) as items:
            async for item in items:
                if isinstance(item, StepOutput | Pause):
                    outcome = item
                else:
                    open_items.track(item)
                    yield item
        # Inside the try: a result that cannot be stored is the step's failure.
        outcome = make_storable(outcome)
    except (FlowStopped, ContinuationGone):
        # Not failures of the step: a person stopped the flow, or the continuation is gone.
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        outcome = StepFailure("It was cancelled from inside.")
    except (TimeoutError, StepError, RightseatError) as error:
        outcome = failure_from_error(error, ctx.step.timeout)
    except Exception as error:
        log.warning("step %s of %s failed", ctx.step.name, ctx.flow.id, exc_info=error)
        outcome = StepFailure(mask(f"{type(error).__name__}: {error}")[:MAX_ERROR_LENGTH])
    for event in open_items.end_events():
        yield event
    yield outcome


def failure_from_error(error: TimeoutError | StepError | RightseatError, seconds: float | None) -> StepFailure:
    """Return the failure with a message for users and for on_error."""
    if isinstance(error, TimeoutError):
        return StepFailure(f"It took longer than {seconds:g} s and was stopped." if seconds else "It took too long.")
    text = error.message if isinstance(error, RightseatError) else mask(str(error))
    return StepFailure(text[:MAX_ERROR_LENGTH])


def make_storable(outcome: StepOutcome) -> StepOutcome:
    """Convert the outcome to plain JSON values; raise where it cannot be encoded (a lone surrogate, say)."""
    if isinstance(outcome, StepOutput):
        outcome = replace(outcome, data=to_json_value(outcome.data))
    elif isinstance(outcome, Pause):
        if not outcome.asks:
            return StepFailure("The step stopped to ask, and asked nothing.")
        outcome = replace(outcome, state=to_json_value(outcome.state))
    json.encode(outcome)
    return outcome


class UsageTrackingModel(ModelWrapper):
    """Wraps a model and sums up the token usage of its calls."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.usage: Usage | None = None

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        async with closing(self.model.stream(prompt)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, UsageChunk):
                    self.usage = chunk.usage + (self.usage or Usage())
                yield chunk


ACTION, RETRY, SKIP, STOP = RERUN_ACTION, RERUN_RETRY, RERUN_SKIP, "stop"


def make_confirmation(flow: Flow, step: Step, language: Language) -> Ask:
    text = get_sentence("allow_step", language, step=describe_step(step), flow=flow.id)
    return make_approval(escape_invisible(text))


def make_rerun_question(flow: Flow, step: Step, language: Language) -> Ask:
    text = get_sentence("rerun_step", language, step=describe_step(step), flow=flow.id)
    action = {"type": "string", "enum": [RETRY, SKIP, STOP], "description": get_sentence("rerun_choices", language)}
    schema = {"type": "object", "properties": {ACTION: action}, "required": [ACTION]}
    return Ask(escape_invisible(text), "form", schema)


def describe_step(step: Step) -> str:
    """Return the step's name, kind and target."""
    target = step.params.get("endpoint") or step.params.get("tool") or step.params.get("flow")
    called = f"{step.kind} {target}" if isinstance(target, str) else step.kind
    return f"{step.name!r} ({called})"


STEP_EVENT = "flow_step"
MAX_SHOWN_BYTES = 4000


def describe_outcome(outcome: StepOutput | StepFailure | None, usage: Usage | None) -> dict[str, Any]:
    """Return the fields of the event that reports a finished step."""
    fields: dict[str, Any] = {}
    if isinstance(outcome, StepOutput):
        fields = {"output": truncate_data(outcome.data), "message": outcome.message}
    elif isinstance(outcome, StepFailure):
        fields = {"error": outcome.text}
    return fields if usage is None else {**fields, "usage": to_builtins(usage)}


def truncate_data(data: Any) -> Any:
    """Return the data, or the start of its JSON where it is long."""
    encoded = json.encode(data)
    return data if len(encoded) <= MAX_SHOWN_BYTES else encoded[:MAX_SHOWN_BYTES].decode(errors="ignore") + "…"


SaveProgress = Callable[[FlowProgress], Awaitable[None]]
INITIAL_BACKOFF, MAX_BACKOFF = 0.2, 5.0


class FlowFinished(Struct, frozen=True):
    """All steps are done. `output` is the last step's."""

    progress: FlowProgress
    output: StepOutput


@dataclass
class FlowRun:
    """A run of the flow from its progress. A Pause holds the FlowProgress to resume with (`with_answers`).

    `outer_outputs` are outputs that its steps may name too, `initial_output` is the input of its first step. With
    `is_final` the text of its last step is streamed to the user.
    """

    flow: Flow
    services: FlowServices
    turn: Turn
    progress: FlowProgress
    save_progress: SaveProgress
    outer_outputs: Mapping[str, StepOutput] = field(default_factory=dict)
    initial_output: StepOutput | None = None
    is_final: bool = True
    record_effect: Callable[[], Awaitable[None]] = record_nothing

    async def stream(self) -> AsyncIterator[Event | Pause | FlowFinished]:
        """Run the steps within the flow's timeout."""
        try:
            async with closing(with_timeout(self.run(), self.flow.timeout)) as items:
                async for item in items:
                    yield item
        except TimeoutError:
            at = f" It was at step {self.progress.at!r}." if self.progress.at else ""
            raise FlowFailed(
                f"The flow {self.flow.id} took longer than {self.flow.timeout:g} s and was stopped.{at}"
            ) from None

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
        yield self.make_step_event(step, input=step.params)
        model = UsageTrackingModel(self.services.model)
        result: StepOutcome | None = await self.check_preconditions(step)
        if result is None:
            try:
                async with closing(self.stream_attempts(step, model)) as items:
                    async for item in items:
                        if isinstance(item, StepOutcome):
                            result = item
                        else:
                            yield item
            except FlowChanged:
                # Some of the sub-flow's steps may have had their effect.
                await self.forget_question(step, begun=True)
                yield StepEnd(step.name)
                yield Pause(self.progress.asks, self.progress.as_dict)
                return
            if model.usage is not None:
                self.progress = replace(self.progress, usage=model.usage + (self.progress.usage or Usage()))
            if isinstance(result, Pause):
                tool = self.fingerprint_tool(step)
                await self.save(begun=False, asking="step", asks=result.asks, state=result.state, tool=tool)
        if isinstance(result, Pause):
            yield StepEnd(step.name)
            yield Pause(self.progress.asks, self.progress.as_dict)
            return
        outcome_event = self.make_step_event(step, **describe_outcome(result, model.usage))
        if isinstance(result, StepOutput):
            # Saved before the event is sent: a client that disconnects now does not undo the step.
            await self.advance(step, result)
        yield outcome_event
        yield StepEnd(step.name)
        if isinstance(result, StepFailure):
            await self.handle_failure(step, result)

    def make_step_event(self, step: Step, **fields: Any) -> Custom:
        total = sum(other.kind != NONE for other in self.flow.steps.values())
        number = self.progress.done + 1
        progress = f"{number}/{max(total, number)}"
        return Custom(
            STEP_EVENT, {"flow": self.flow.id, "step": step.name, "kind": step.kind, "progress": progress, **fields}
        )

    async def check_preconditions(self, step: Step) -> StepOutput | Pause | None:
        """Return a question to ask first, an output that replaces the run, or None to run the step."""
        language = self.turn.get_language()
        if self.progress.tool and self.progress.tool != self.fingerprint_tool(step):
            await self.forget_question(step, begun=self.progress.begun)
        progress = self.progress
        if progress.asks:
            return Pause(progress.asks)
        if progress.asking == "again":
            chosen = progress.verdict.get(ACTION) if isinstance(progress.verdict, dict) else None
            if chosen == SKIP:
                return StepOutput(None, "It was left out: it may have run before.")
            if chosen != RETRY:
                raise FlowStopped(get_sentence("flow_stopped", language, flow=self.flow.id, step=repr(step.name)))
            self.progress = replace(progress, begun=False, asking="", verdict=None)
        elif progress.begun and not self.is_repeatable(step):
            return await self.ask("again", step, make_rerun_question(self.flow, step, language))
        if not step.confirm or self.progress.agreed:
            return None
        if progress.asking != "confirm":
            return await self.ask("confirm", step, make_confirmation(self.flow, step, language))
        if not is_approved(progress.verdict):
            raise FlowStopped(get_sentence("step_denied", language, step=repr(step.name), flow=self.flow.id))
        self.progress = replace(progress, agreed=True, asking="", verdict=None)
        return None

    async def ask(self, asking: Literal["confirm", "again"], step: Step, ask: Ask) -> Pause:
        await self.save(asking=asking, asks=(ask,), tool=self.fingerprint_tool(step))
        return Pause((ask,))

    def fingerprint_tool(self, step: Step) -> str:
        """Return the fingerprint of the tool that the step calls; empty if it calls none."""
        tool = get_kind(step.kind).get_tool(step, self.services)
        return "" if tool is None else fingerprint_tools([tool])

    async def forget_question(self, step: Step, *, begun: bool) -> None:
        """Reset the step, whose tool or sub-flow is no longer the one that was asked about. The answer of this turn is
        refused. With `begun` the person decides whether the step runs again."""
        language = self.turn.get_language()
        self.progress = self.progress.reset_step()
        if begun:
            await self.ask("again", step, make_rerun_question(self.flow, step, language))
        else:
            await self.save()
        if self.turn.answers:
            raise ContinuationGone(get_sentence("called_tool_changed", language, step=repr(step.name)))

    async def stream_attempts(self, step: Step, model: UsageTrackingModel) -> AsyncIterator[Event | StepOutcome]:
        """Run the step with its retries; the last item is the final outcome."""
        if not self.is_repeatable(step):
            await begin_effect(self.services.store, lambda: self.save(begun=True))
        budget = self.make_retry_budget(step)
        outcome: StepOutcome = StepFailure("")
        for number in range((step.retry or 0) + 1):
            if number:
                if budget is None or budget.is_spent or not budget.take():
                    break
                await asyncio.sleep(compute_backoff(number, INITIAL_BACKOFF, MAX_BACKOFF))
            attempt = stream_attempt(self.make_context(step, model))
            async with closing(with_retry_budget(attempt, budget)) as items:
                async for item in items:
                    if isinstance(item, StepOutcome):
                        outcome = self.validate_jump(item)
                    else:
                        yield item
            if not isinstance(outcome, StepFailure):
                break
        if budget is not None:
            budget.has_failed = isinstance(outcome, StepFailure)
        yield outcome

    def make_retry_budget(self, step: Step) -> RetryBudget | None:
        """Return the step's retries, which its HTTP requests use too: its own, else those of the step around it."""
        if step.retry is not None:
            return RetryBudget(step.retry)
        outer = current_retry_budget()
        return outer.enter_part(self.progress.make_step_key(step)) if outer is not None else None

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
            record_effect=self.record_effect,
        )

    def is_repeatable(self, step: Step) -> bool:
        repeatable = step.repeatable
        return get_kind(step.kind).repeatable(step, self.services) if repeatable is None else repeatable

    def has_effect(self, step: Step) -> bool:
        """Whether the step would do something twice in another run; its `repeatable` in the file decides first."""
        check = get_kind(step.kind).has_effect
        if step.repeatable is not None or check is None:
            return not self.is_repeatable(step)
        return check(step, self.services)

    def is_last_step(self, step: Step) -> bool:
        return resolve_next_step(self.flow, step.next) is None and not tuple(get_kind(step.kind).jumps(step))

    def validate_jump(self, outcome: StepOutcome) -> StepOutcome:
        jump = outcome.jump if isinstance(outcome, StepOutput) else None
        if jump is None or jump == END or jump in self.flow.steps:
            return outcome
        return StepFailure(f"It chose the step {jump[:80]!r}, and there is none of that name.")

    async def advance(self, step: Step, output: StepOutput) -> None:
        if self.has_effect(step):
            await self.record_effect()
        spoken = output.spoken or (step.kind == LLM and self.is_final and self.is_last_step(step))
        self.progress = self.progress.after_step(step, output, resolve_next_step(self.flow, output.jump or step.next))
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
