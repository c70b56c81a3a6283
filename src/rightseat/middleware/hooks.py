"""The operator's hooks around a run, as in CopilotKit's runtime: before, after, on error.

The before hook may refuse the request or add headers and properties; the run waits for it. The after and
error hooks run in the background and cannot affect the answer.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import Misused, Unavailable
from rightseat.http.forwarding import over
from rightseat.runtime.incidents import ARRIVED, NOWHERE, Incident
from rightseat.tools.thread_pool import Threads
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Reason,
    RunFinished,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.messages import Call, Message, said
from rightseat.types.responder import Responder
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
SECONDS = 5.0
LATE = "This server could not check the request in time. Try again."


class Asked(Struct, frozen=True, kw_only=True):
    """A request before its run. `headers` are the forwarded ones, `properties` the application's forwarded
    properties. The client wrote both; only `owner` is authenticated."""

    thread: str
    run: str
    assistant: str | None
    owner: str
    messages: tuple[Message, ...]
    properties: dict[str, Any]
    headers: dict[str, str]
    url: str
    method: str


class Answered(Asked, frozen=True, kw_only=True):
    """The request with its output: texts, calls and the results of the server's own calls."""

    output: tuple[Message, ...]
    reason: Reason
    usage: Usage | None


class Given(Struct, frozen=True, forbid_unknown_fields=True):
    """Headers and properties that a hook adds to a request, over those of the client."""

    headers: dict[str, str] = {}
    properties: dict[str, Any] = {}


Before = Callable[[Asked], Given | Mapping[str, Any] | Awaitable[Given | Mapping[str, Any] | None] | None]
After = Callable[[Answered], Any]
OnError = Callable[[Incident], Any]


class Hooks:
    """The hooks, plain functions (run in a thread) or async ones; `timeout` limits each call."""

    def __init__(
        self,
        *,
        on_before_request: Before | None = None,
        on_after_request: After | None = None,
        on_error: OnError | None = None,
        timeout: float = SECONDS,
    ) -> None:
        self.before = on_before_request
        self.after = on_after_request
        self.on_error = on_error
        self.timeout = timeout
        self.threads = Threads()
        self.tasks: set[asyncio.Task[Any]] = set()

    def layer(self, inner: Responder) -> Responder:
        """Wrap a Responder inside the run, so that a refusal is a RunFailed. Sub-runs belong to their
        parent's request and call no hooks."""
        if self.before is None and self.after is None:
            return inner

        def respond(turn: Turn) -> AsyncIterator[Event]:
            return inner(turn) if turn.depth else self.attended(inner, turn)

        return respond

    async def attended(self, inner: Responder, turn: Turn) -> AsyncIterator[Event]:
        if self.before is not None:
            turn = merged(turn, await self.asked(self.before, turn))
        output = Output() if self.after is not None else None
        async with closing(inner(turn)) as events:
            async for event in events:
                if output is not None:
                    output.see(event)
                    if type(event) is RunFinished:
                        self.finished(turn, event, output)
                yield event

    async def asked(self, before: Before, turn: Turn) -> Given:
        try:
            found = await self.call(before, request(turn))
        except TimeoutError:
            log.error(
                "the hook on_before_request took longer than %g s; the request is refused", self.timeout
            )
            raise Unavailable(LATE, retry_after=1) from None
        try:
            return msgspec.convert(found or {}, Given, from_attributes=True)
        except msgspec.ValidationError:
            raise Misused(
                f"on_before_request gave a {type(found).__name__} that cannot be read. "
                "Return nothing, or headers and properties: Given(headers={…}, properties={…})."
            ) from None

    def finished(self, turn: Turn, event: RunFinished, output: Output) -> None:
        if self.after is not None:
            told = msgspec.structs.asdict(request(turn))
            answered = Answered(**told, output=output.told(), reason=event.reason, usage=event.usage)
            self.begin("on_after_request", self.after, answered)

    def tell(self, incident: Incident) -> None:
        if self.on_error is not None:
            self.begin("on_error", self.on_error, incident)

    def begin(self, name: str, hook: Callable[[Any], Any], given: Any) -> None:
        task = asyncio.get_running_loop().create_task(self.call(hook, given), name=name)
        self.tasks.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task: asyncio.Task[Any]) -> None:
        """Log a background hook that failed or timed out."""
        self.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TimeoutError):
            log.error("the hook %s took longer than %g s and was left", task.get_name(), self.timeout)
        elif error is not None:
            log.error("the hook %s failed", task.get_name(), exc_info=error)

    async def call(self, hook: Callable[[Any], Any], given: Any) -> Any:
        async with asyncio.timeout(self.timeout):
            if inspect.iscoroutinefunction(hook):
                return await hook(given)
            found = await self.threads.run(lambda: hook(given))
            return await found if inspect.isawaitable(found) else found

    async def close(self) -> None:
        """Wait for running hooks; each is limited by `timeout`."""
        await asyncio.gather(*self.tasks, return_exceptions=True)


def request(turn: Turn) -> Asked:
    arrival = ARRIVED.get() or NOWHERE
    return Asked(
        thread=turn.thread,
        run=turn.run,
        assistant=turn.assistant,
        owner=turn.owner.name,
        messages=turn.messages,
        properties=dict(turn.forwarded.properties),
        headers=dict(turn.headers),
        url=arrival.url,
        method=arrival.method,
    )


def merged(turn: Turn, given: Given) -> Turn:
    if not given.headers and not given.properties:
        return turn
    forwarded = replace(turn.forwarded, properties=turn.forwarded.properties | given.properties)
    return replace(turn, headers=over(given.headers, turn.headers), forwarded=forwarded)


class Output:
    """Collects the events of a run as messages."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[str, tuple[str, list[str]]] = {}

    def see(self, event: Event) -> None:
        if type(event) is TextDelta:
            # Fast path: nearly all events are text deltas.
            self.texts.setdefault(event.id, []).append(event.text)
            return
        match event:
            case TextStart(id):
                self.texts.setdefault(id, [])
            case TextEnd(id):
                self.end(id)
            case CallStart(id, name):
                self.calls[id] = (name, [])
            case CallArgs(id, json) if id in self.calls:
                self.calls[id][1].append(json)
            case CallEnd(id) if id in self.calls:
                name, parts = self.calls.pop(id)
                self.messages.append(Message("assistant", calls=(Call(id, name, "".join(parts) or "{}"),)))
            case CallResult(id, content):
                self.messages.append(said("tool", content, call_id=id))
            case _:
                pass

    def end(self, id: str) -> None:
        if text := "".join(self.texts.pop(id, ())):
            self.messages.append(said("assistant", text, id=id))

    def told(self) -> tuple[Message, ...]:
        for id in list(self.texts):
            self.end(id)
        return tuple(self.messages)
