"""RunSupervisor runs turns: admission, deadlines, observers, incidents, draining."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import INTERNAL_ERROR, Restarting, RightseatError, TimedOut, Unavailable, error_class_for
from rightseat.http.descriptors import find_descriptor_error
from rightseat.runtime.incidents import (
    Environment,
    Incident,
    IncidentSource,
    RequestInfo,
    RunContext,
    build_incident,
    report_cause,
)
from rightseat.types.agents import Responder
from rightseat.types.events import (
    Event,
    OpenMessageTracker,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnd,
    StepStart,
    TextDelta,
)
from rightseat.types.fencing import RunEffects, current_effects
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
DEFAULT_ASSISTANT = "default"
MAX_REFUSALS = 5
"""Refusals of one request that are reported: a GraphQL document may have many errors."""
EFFECT_NOTE = "A tool may have had an effect already: look at what it did before you ask again."
LOG_LEVELS = {"caller": logging.INFO, "upstream": logging.WARNING, "ours": logging.ERROR}


class RuntimeLimits(Struct, frozen=True):
    run_seconds: float = 600.0
    runs: int = 1000


class RunHandle:
    """Handle of an active run, by which a deadline or a restart aborts it."""

    def __init__(self) -> None:
        self.task = asyncio.current_task()
        self.error: RightseatError | None = None

    def abort(self, error: RightseatError) -> None:
        if self.error is None and self.task is not None:
            self.error = error
            self.task.cancel()

    def consume_error(self) -> RightseatError | None:
        """Return the error that this run was aborted with and clear the cancellation that carried it."""
        if self.error is not None and self.task is not None:
            self.task.uncancel()
        return self.error


class RunObserver:
    """Observes one run from its start to any end. Not a Layer: that would cost time for every token."""

    awaits_text = False
    """Whether no text was sent yet; `on_first_text` is called before the first."""

    def on_first_text(self) -> None: ...
    def on_event(self, event: Event) -> None: ...
    def on_end(self, failed: RightseatError | None) -> None: ...


@dataclass(eq=False)
class RunSupervisor:
    respond: Responder
    limits: RuntimeLimits = RuntimeLimits()
    environment: Environment = "production"
    make_observer: Callable[[Turn], RunObserver] = lambda turn: RunObserver()
    on_incident: Callable[[Incident], None] = lambda incident: None
    on_stop: Callable[[Turn], None] = lambda turn: None
    """Called for a run that has no end because its client has left or stopped it."""
    on_refusal: Callable[[Incident], None] = lambda incident: None
    is_remote: Callable[[str], bool] = lambda name: False
    active: set[RunHandle] = field(default_factory=set)
    draining: bool = False
    """Whether this process is about to end."""
    refuses_runs: bool = False
    """Whether new runs are refused. A process among others that drains takes those that still reach it."""
    _idle_future: asyncio.Future[None] | None = None

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        """Run a turn. The one place where an exception becomes RunFailed: events come out, never errors."""
        seconds = self.limits.run_seconds
        deadline = asyncio.get_running_loop().time() + seconds
        turn = replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id(), deadline=deadline)
        open_messages = OpenMessageTracker()
        observer = self.make_observer(turn)
        context = RunContext(turn)
        failed: RightseatError | None = None
        ended = False
        run, effects = RunHandle(), RunEffects()
        current_effects.set(effects)
        self.active.add(run)
        timer = asyncio.get_running_loop().call_at(
            deadline, run.abort, TimedOut(f"The run took longer than {seconds:g} s and was stopped.")
        )
        try:
            self.check_admission()
            yield RunStarted(turn.thread, turn.run)
            async with closing(self.respond(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta:
                        open_messages.track(event)
                        observer.on_event(event)
                        self.record_event(context, event)
                        ended = isinstance(event, RunFinished | RunFailed)
                    elif observer.awaits_text:
                        observer.on_first_text()
                    yield event
            return
        except RightseatError as error:
            failed = error
        except asyncio.CancelledError:
            failed = run.consume_error()
            if failed is None:
                raise
        except Exception as error:
            failed = find_descriptor_error(error) or RightseatError(INTERNAL_ERROR.message)
            failed.__cause__ = error
            report_cause(error)
        finally:
            timer.cancel()
            self.remove_run(run)
            observer.on_end(failed)
            if failed is None and not (ended or self.draining):
                self.on_stop(turn)
        last = to_run_failed(failed)
        self.report_failure(context, last, failed)
        for event in open_messages.end_events():
            yield event
        yield tell_effect(last) if effects.has_begun else last

    def record_event(self, context: RunContext, event: Event) -> None:
        if isinstance(event, RunFailed):
            self.report_failure(context, event)
        elif isinstance(event, StepStart | StepEnd):
            context.on_step(event)

    def report_failure(self, context: RunContext, failed: RunFailed, error: RightseatError | None = None) -> None:
        """Log a failed run and report the incident. The message is not logged: it may quote the client."""
        name = context.turn.assistant or DEFAULT_ASSISTANT
        cause = error and (error.__cause__ or error)
        source: IncidentSource = "agent" if self.is_remote(name) else "runtime"
        incident = context.make_incident(failed, name, source, self.environment, cause)
        log.log(
            LOG_LEVELS[failed.fault],
            "run failed: %s (%s) at %s after %d ms%s",
            *(failed.code, failed.fault, name[:64], incident.latency * 1000),
            f": {error.upstream} was called" if error is not None and error.upstream else "",
            extra={"fields": incident.log_fields()},
            exc_info=cause if failed.message == INTERNAL_ERROR.message else None,
        )
        self.on_incident(incident)

    def report_refusals(self, refusals: Sequence[RightseatError], request: RequestInfo) -> None:
        """Report what a request's client was told, beside runs that failed and were reported."""
        distinct = {(error.code, error.message): error for error in refusals if error.code not in request.reported}
        for error in list(distinct.values())[:MAX_REFUSALS]:
            cause = error.__cause__ if error.fault == "ours" else None
            since = (request.start, request.started)
            self.on_refusal(build_incident(to_run_failed(error), request, self.environment, cause, since=since))

    def remove_run(self, run: RunHandle) -> None:
        self.active.discard(run)
        if not self.active and self._idle_future is not None and not self._idle_future.done():
            self._idle_future.set_result(None)

    def check_admission(self) -> None:
        if self.refuses_runs:
            raise Restarting("The server is restarting. Try again in a moment.", retry_after=2)
        if len(self.active) > self.limits.runs:
            raise Unavailable("Too many answers are under way. Try again in a moment.", retry_after=2)

    async def drain(self, grace: float, hand_over: Callable[[float], Awaitable[None]]) -> None:
        """Refuse new runs, let active ones finish, and abort those that take longer than `grace` seconds, but those
        that `hand_over` leaves to other workers in that time."""
        self.draining = self.refuses_runs = True
        await asyncio.gather(self.wait_until_idle(grace), hand_over(grace))
        for run in tuple(self.active):
            run.abort(Restarting("The server is restarting and stopped this answer. Try again.", retry_after=2))
        await self.wait_until_idle(1)

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no run is active, at most `seconds`."""
        if self.active:
            self._idle_future = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._idle_future], timeout=seconds)


def to_run_failed(error: RightseatError) -> RunFailed:
    return RunFailed(error.code, error.message, error.status, error.fault, error.retry_after, error.param)


def tell_effect(failed: RunFailed) -> RunFailed:
    """Return the failure of a run whose request must not be sent again by itself: a tool may have had an effect."""
    end = "" if failed.message.endswith((".", "!", "?", "。")) else "."
    return replace(failed, message=f"{failed.message}{end} {EFFECT_NOTE}", retry_after=None, after_effect=True)


def to_error(failed: RunFailed) -> RightseatError:
    """Return the exception of a failed run, for callers in this process."""
    kind = error_class_for(failed.code, failed.fault)
    error = kind(failed.message, retry_after=failed.retry_after, param=failed.param)
    error.after_effect = failed.after_effect
    return error


def new_id() -> str:
    return secrets.token_hex(12)
