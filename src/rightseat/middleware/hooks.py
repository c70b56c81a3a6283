"""The operator's hooks around a run, as in CopilotKit's runtime: before, after, on error, on stop; and that for votes.

The before hook may refuse the request or add headers and properties; the run waits for it. The after, error and
stop hooks run in the background and cannot affect the answer. A vote is answered after its hook.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs
from msgspec.structs import replace

from rightseat.errors import Misused, Unavailable
from rightseat.http.forwarding import merge_headers
from rightseat.runtime.incidents import NO_REQUEST, Incident, current_request
from rightseat.tools.function import ToolThreadRunner
from rightseat.types.agents import Responder, make_layer
from rightseat.types.events import Event, RunFinished, RunFinishReason, Usage, response_extensions
from rightseat.types.messages import Message
from rightseat.types.output import RunOutput
from rightseat.types.streams import closing
from rightseat.types.turn import Feedback, Turn

log = logging.getLogger(__name__)
DEFAULT_TIMEOUT = 5.0
MAX_WAITING_REFUSALS = 100
"""Calls of hooks that run at once before refusals are no longer reported."""
VOTE_TIMEOUT_MESSAGE = "This server could not keep the vote in time. Try again."
TIMEOUT_MESSAGE = "This server could not check the request in time. Try again."


class HookRequest(Struct, frozen=True, kw_only=True):
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
    """The page's URL where the client tells it, as CopilotKit's clients do; else the same as `path`."""
    path: str
    """The request's path without its query."""
    method: str


class HookResponse(HookRequest, frozen=True, kw_only=True):
    """The request with its output: texts, calls and the results of the server's own calls."""

    output: tuple[Message, ...]
    reason: RunFinishReason
    usage: Usage | None


class RequestAdditions(Struct, frozen=True, forbid_unknown_fields=True):
    """Headers and properties that a hook adds to a request, over those of the client; and the `extensions` of
    CopilotKit's response."""

    headers: dict[str, str] = {}
    properties: dict[str, Any] = {}
    extensions: dict[str, Any] = {}


BeforeRequestHook = Callable[
    [HookRequest], RequestAdditions | Mapping[str, Any] | Awaitable[RequestAdditions | Mapping[str, Any] | None] | None
]
AfterRequestHook = Callable[[HookResponse], Any]
ErrorHook = Callable[[Incident], Any]
FeedbackHook = Callable[[Feedback], Any]
StopHook = Callable[[HookRequest], Any]


class Hooks:
    """The hooks, plain functions (run in a thread) or async ones; `timeout` limits each call."""

    def __init__(
        self,
        *,
        on_before_request: BeforeRequestHook | None = None,
        on_after_request: AfterRequestHook | None = None,
        on_error: ErrorHook | None = None,
        on_feedback: FeedbackHook | None = None,
        on_stop: StopHook | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        self.before = on_before_request
        self.after = on_after_request
        self.on_error = on_error
        self.on_feedback = on_feedback
        self.on_stop = on_stop
        self.timeout = timeout
        self.threads = ToolThreadRunner()
        self.tasks: set[asyncio.Task[Any]] = set()

    def layer(self, inner: Responder) -> Responder:
        """Wrap a Responder inside the run, so that a refusal is a RunFailed. Sub-runs belong to their
        parent's request and call no hooks."""
        if self.before is None and self.after is None:
            return inner
        return make_layer(lambda turn: not turn.depth, self.stream_with_hooks)(inner)

    async def stream_with_hooks(self, inner: Responder, turn: Turn) -> AsyncIterator[Event]:
        if self.before is not None:
            additions = await self.run_before_hook(self.before, turn)
            turn = apply_additions(turn, additions)
            if additions.extensions:
                yield response_extensions(additions.extensions)
        output = RunOutput()
        async with closing(inner(turn)) as events:
            async for event in events:
                if self.after is not None:
                    output.add_event(event)
                    if type(event) is RunFinished:
                        fields = structs.asdict(build_hook_request(turn))
                        fields |= {"output": output.messages, "reason": event.reason, "usage": event.usage}
                        self.start_hook("on_after_request", self.after, HookResponse(**fields))
                yield event

    async def run_before_hook(self, hook: BeforeRequestHook, turn: Turn) -> RequestAdditions:
        try:
            result = await self.call_hook(hook, build_hook_request(turn))
        except TimeoutError:
            log.error("the hook on_before_request took longer than %g s; the request is refused", self.timeout)
            raise Unavailable(TIMEOUT_MESSAGE, retry_after=1) from None
        try:
            return msgspec.convert(result or {}, RequestAdditions, from_attributes=True)
        except msgspec.ValidationError:
            raise Misused(
                f"on_before_request gave a {type(result).__name__} that cannot be read. "
                "Return nothing, or headers, properties, extensions: RequestAdditions(headers={…}, properties={…})."
            ) from None

    def report_incident(self, incident: Incident) -> None:
        if self.on_error is not None:
            self.start_hook("on_error", self.on_error, incident)

    def report_stop(self, turn: Turn) -> None:
        """Tell the hook of a run that its client has stopped or left. Sub-runs belong to their parent's request."""
        if self.on_stop is not None and not turn.depth:
            self.start_hook("on_stop", self.on_stop, build_hook_request(turn))

    def report_refusal(self, incident: Incident) -> None:
        """Report a refused request, unless many reports wait: whoever has no key can cause any number of them."""
        if len(self.tasks) < MAX_WAITING_REFUSALS:
            self.report_incident(incident)
        elif self.on_error is not None:
            log.warning("the hook on_error is busy and was not told of a refused request: %s", incident.code)

    async def report_feedback(self, feedback: Feedback) -> None:
        """Give a vote to the hook; raises what the hook raises."""
        if self.on_feedback is None:
            return
        try:
            await self.call_hook(self.on_feedback, feedback)
        except TimeoutError:
            log.error("the hook on_feedback took longer than %g s; the vote is refused", self.timeout)
            raise Unavailable(VOTE_TIMEOUT_MESSAGE, retry_after=1) from None

    def start_hook(self, name: str, hook: Callable[[Any], Any], argument: Any) -> None:
        task = asyncio.get_running_loop().create_task(self.call_hook(hook, argument), name=name)
        self.tasks.add(task)
        task.add_done_callback(self.on_hook_done)

    def on_hook_done(self, task: asyncio.Task[Any]) -> None:
        """Log a background hook that failed or timed out."""
        self.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TimeoutError):
            log.error("the hook %s took longer than %g s and was left", task.get_name(), self.timeout)
        elif error is not None:
            log.error("the hook %s failed", task.get_name(), exc_info=error)

    async def call_hook(self, hook: Callable[[Any], Any], argument: Any) -> Any:
        async with asyncio.timeout(self.timeout):
            return await call_function(self.threads, hook, argument)

    async def close(self) -> None:
        """Wait for running hooks; each is limited by `timeout`."""
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def call_function(threads: ToolThreadRunner, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call an operator's function: an async one in this task, a plain one in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    result = await threads.run(lambda: function(*arguments))
    return await result if inspect.isawaitable(result) else result


def build_hook_request(turn: Turn) -> HookRequest:
    request = current_request.get() or NO_REQUEST
    return HookRequest(
        thread=turn.thread,
        run=turn.run,
        assistant=turn.assistant,
        owner=turn.owner.name,
        messages=turn.messages,
        properties=dict(turn.client.forwarded.properties),
        headers=dict(turn.client.headers),
        url=turn.client.page_url or request.url,
        path=request.url,
        method=request.method,
    )


def apply_additions(turn: Turn, additions: RequestAdditions) -> Turn:
    if not additions.headers and not additions.properties:
        return turn
    client = turn.client
    forwarded = replace(client.forwarded, properties=client.forwarded.properties | additions.properties)
    headers = merge_headers(additions.headers, client.headers)
    return replace(turn, client=replace(client, headers=headers, forwarded=forwarded))
