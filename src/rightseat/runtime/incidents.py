"""Incident: the report of a failed run, for the log and the operator's hooks.

An Incident has no prompt, answer, header or key. Doors send clients the fields of their wire format, never the stack.
"""

from __future__ import annotations

import time
import traceback
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from rightseat.config.secret import mask
from rightseat.errors import Fault, Severity, Visibility, error_class_for
from rightseat.types.events import RunFailed, StepEnd, StepStart
from rightseat.types.turn import Turn

Environment = Literal["production", "development"]
IncidentSource = Literal["runtime", "agent"]
MAX_STACK_CHARS = 20_000


@dataclass(slots=True, eq=False)
class RequestInfo:
    """The current HTTP request. `url` is its path without the query, which may hold a key. `operation` is the
    route's path template. `base` is the URL under which the client reaches this server, once known. `thread`
    and `run` are those that it started last; `start` and `started` say when it came."""

    method: str
    url: str
    operation: str
    base: str = ""
    thread: str = ""
    run: str = ""
    start: float = field(default_factory=time.time)
    started: float = field(default_factory=time.perf_counter)
    reported: set[str] = field(default_factory=set)
    """Codes of the failed runs that were reported."""


NO_REQUEST = RequestInfo("", "", "run")
"""Request of a run without one: started by a library call or a command."""
current_request: ContextVar[RequestInfo | None] = ContextVar("arrival", default=None)
current_run: ContextVar[tuple[str, str] | None] = ContextVar("thread and run", default=None)
current_causes: ContextVar[list[Exception] | None] = ContextVar("causes", default=None)
"""Exceptions that nobody expected in the runs of a caller in this process, which wants to have them."""


def report_cause(error: Exception) -> None:
    """Add an exception that nobody expected to the current caller's list, if the caller is in this process."""
    if (causes := current_causes.get()) is not None:
        causes.append(error)


def current_thread_and_run() -> tuple[str, str]:
    """Return the thread and run ids of the current task; empty if there are none."""
    if (thread_and_run := current_run.get()) is not None:
        return thread_and_run
    request = current_request.get()
    return (request.thread, request.run) if request is not None else ("", "")


class Incident(Struct, frozen=True, kw_only=True):
    """Report of one failed run, or of a request that was refused before a run: then `thread` and `run` are
    empty. `start` and `end` are Unix timestamps; `latency` is in seconds."""

    code: str
    message: str
    status: int
    fault: Fault
    visibility: Visibility
    severity: Severity
    hint: str
    link: str
    thread: str
    run: str
    agent: str
    node: str | None
    """Step in which it failed."""
    source: IncidentSource
    """Whether a remote agent or this server failed."""
    operation: str
    method: str
    url: str
    start: float
    end: float
    latency: float
    environment: Environment | None = None
    """Set outside production only, as is `stack`."""
    stack: str | None = None

    def log_fields(self) -> dict[str, Any]:
        """Return the fields for the log, without message, path and stack: they may quote the client."""
        fields = {
            "code": self.code,
            "status": self.status,
            "fault": self.fault,
            "agent": self.agent[:64],
            "node": self.node,
            "source": self.source,
            "operation": self.operation,
            "method": self.method,
            "start": round(self.start, 3),
            "ms": round(self.latency * 1000, 1),
            "environment": self.environment,
        }
        return {name: value for name, value in fields.items() if value not in (None, "")}


class RunContext:
    """What an incident report needs to know of a run."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.request = current_request.get() or NO_REQUEST
        self.start = time.time()
        self.started = time.perf_counter()
        self.steps: list[str] = []
        # Never reset: later log lines of the same request belong to this run too.
        current_run.set((turn.thread, turn.run))
        if self.request is not NO_REQUEST:
            self.request.thread, self.request.run = turn.thread, turn.run

    def on_step(self, event: StepStart | StepEnd) -> None:
        if isinstance(event, StepStart):
            self.steps.append(event.name)
        elif event.name in self.steps:
            self.steps.remove(event.name)

    def make_incident(
        self,
        failed: RunFailed,
        agent: str,
        source: IncidentSource,
        environment: Environment,
        cause: BaseException | None,
    ) -> Incident:
        if self.request is not NO_REQUEST:
            self.request.reported.add(failed.code)
        return build_incident(
            failed,
            self.request,
            environment,
            cause,
            since=(self.start, self.started),
            thread=self.turn.thread,
            run=self.turn.run,
            agent=agent,
            node=self.steps[-1] if self.steps else None,
            source=source,
        )


def build_incident(
    failed: RunFailed,
    request: RequestInfo,
    environment: Environment,
    cause: BaseException | None,
    *,
    since: tuple[float, float],
    thread: str = "",
    run: str = "",
    agent: str = "",
    node: str | None = None,
    source: IncidentSource = "runtime",
) -> Incident:
    """Build the report of a failure; `since` is when the run or the request began, as Unix time and by the counter."""
    kind = error_class_for(failed.code, failed.fault)
    start, started = since
    latency = time.perf_counter() - started
    show_details = environment != "production"
    stack = "".join(traceback.format_exception(cause)) if show_details and cause is not None else None
    return Incident(
        code=failed.code,
        message=mask(failed.message),
        status=failed.status,
        fault=failed.fault,
        visibility=kind.visibility,
        severity=kind.severity,
        hint=kind.hint,
        link=kind.link(),
        thread=thread,
        run=run,
        agent=agent,
        node=node,
        source=source,
        operation=request.operation,
        method=request.method,
        url=request.url,
        start=start,
        end=start + latency,
        latency=latency,
        environment=environment if show_details else None,
        stack=mask(stack)[-MAX_STACK_CHARS:] if stack is not None else None,
    )
