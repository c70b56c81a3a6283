"""One attempt of one step. The last item is always a StepOutput, a Pause or a StepFailure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.config.secret import mask
from rightseat.engine.assembler import Opened
from rightseat.errors import ContinuationGone, FlowStopped, RightseatError
from rightseat.plugins.flows.stage import Output, Run, Stage, StepFailed
from rightseat.types.chunks import Fragment, Used
from rightseat.types.events import Event, Usage
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing, within
from rightseat.types.tools import Pause, plainly

log = logging.getLogger(__name__)
LONGEST = 4000


class Failure(Struct, frozen=True):
    text: str


async def attempted(run: Run, stage: Stage) -> AsyncIterator[Event | Output | Pause | Failure]:
    """Run the step and turn whatever it raises into a StepFailure: another package may have written it."""
    opened = Opened()
    last: Output | Pause | Failure = Failure("The step ended without an output.")
    try:
        async with closing(within(run(stage), stage.step.timeout)) as items:
            async for item in items:
                if isinstance(item, Output | Pause):
                    last = item
                else:
                    opened.see(item)
                    yield item
        # Inside the try: a result that cannot be stored is the step's failure.
        last = plain(last)
    except (FlowStopped, ContinuationGone):
        # Not failures of the step: a person stopped the flow, or the continuation is gone.
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        last = Failure("It was cancelled from inside.")
    except (TimeoutError, StepFailed, RightseatError) as error:
        last = failure(error, stage.step.timeout)
    except Exception as error:
        log.warning("step %s of %s failed", stage.step.name, stage.flow.id, exc_info=error)
        last = Failure(mask(f"{type(error).__name__}: {error}")[:LONGEST])
    for event in opened.ends():
        yield event
    yield last


def failure(error: TimeoutError | StepFailed | RightseatError, seconds: float | None) -> Failure:
    """Return the failure with a message for users and for on_error."""
    if isinstance(error, TimeoutError):
        return Failure(
            f"It took longer than {seconds:g} s and was stopped." if seconds else "It took too long."
        )
    if isinstance(error, RightseatError):
        return Failure(error.message[:LONGEST])
    return Failure(mask(str(error))[:LONGEST])


def plain(last: Output | Pause | Failure) -> Output | Pause | Failure:
    """Convert the outcome to plain JSON values; raise where it cannot be encoded (a lone surrogate, say)."""
    if isinstance(last, Output):
        made = msgspec.structs.replace(last, data=msgspec.to_builtins(last.data, enc_hook=plainly))
        msgspec.json.encode(made)
        return made
    if isinstance(last, Pause):
        if not last.asks:
            return Failure("The step stopped to ask, and asked nothing.")
        state = msgspec.to_builtins(last.state, enc_hook=plainly)
        msgspec.json.encode((state, last.asks))
        return msgspec.structs.replace(last, state=state)
    return last


class Metered:
    """Wraps a model and sums up the token usage of its calls."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.usage: Usage | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        async with closing(self.model.stream(prompt)) as fragments:
            async for fragment in fragments:
                if isinstance(fragment, Used):
                    self.usage = fragment.usage + (self.usage or Usage())
                yield fragment
