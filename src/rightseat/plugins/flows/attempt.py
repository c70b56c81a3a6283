"""One attempt of one step. The last item is always a StepOutput, a Pause or a StepFailure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.config.secret import mask
from rightseat.engine.assembler import OpenMessageTracker
from rightseat.errors import ContinuationGone, FlowStopped, RightseatError
from rightseat.plugins.flows.stage import StepContext, StepError, StepOutput, StepRunner
from rightseat.types.chunks import ModelChunk, UsageChunk
from rightseat.types.events import Event, Usage
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing, with_timeout
from rightseat.types.tools import Pause, encode_fallback

log = logging.getLogger(__name__)
MAX_ERROR_LENGTH = 4000


class StepFailure(Struct, frozen=True):
    text: str


async def stream_attempt(
    run: StepRunner, ctx: StepContext
) -> AsyncIterator[Event | StepOutput | Pause | StepFailure]:
    """Run the step and turn whatever it raises into a StepFailure: another package may have written it."""
    open_items = OpenMessageTracker()
    outcome: StepOutput | Pause | StepFailure = StepFailure("The step ended without an output.")
    try:
        async with closing(with_timeout(run(ctx), ctx.step.timeout)) as items:
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


def failure_from_error(
    error: TimeoutError | StepError | RightseatError, seconds: float | None
) -> StepFailure:
    """Return the failure with a message for users and for on_error."""
    if isinstance(error, TimeoutError):
        return StepFailure(
            f"It took longer than {seconds:g} s and was stopped." if seconds else "It took too long."
        )
    if isinstance(error, RightseatError):
        return StepFailure(error.message[:MAX_ERROR_LENGTH])
    return StepFailure(mask(str(error))[:MAX_ERROR_LENGTH])


def make_storable(outcome: StepOutput | Pause | StepFailure) -> StepOutput | Pause | StepFailure:
    """Convert the outcome to plain JSON values; raise where it cannot be encoded (a lone surrogate, say)."""
    if isinstance(outcome, StepOutput):
        output = msgspec.structs.replace(
            outcome, data=msgspec.to_builtins(outcome.data, enc_hook=encode_fallback)
        )
        msgspec.json.encode(output)
        return output
    if isinstance(outcome, Pause):
        if not outcome.asks:
            return StepFailure("The step stopped to ask, and asked nothing.")
        state = msgspec.to_builtins(outcome.state, enc_hook=encode_fallback)
        msgspec.json.encode((state, outcome.asks))
        return msgspec.structs.replace(outcome, state=state)
    return outcome


class UsageTrackingModel:
    """Wraps a model and sums up the token usage of its calls."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.usage: Usage | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        async with closing(self.model.stream(prompt)) as fragments:
            async for fragment in fragments:
                if isinstance(fragment, UsageChunk):
                    self.usage = fragment.usage + (self.usage or Usage())
                yield fragment
