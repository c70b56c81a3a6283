"""BaseRuntime holds all responders and runs turns. It is immutable: a reload builds a new one."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.assembler import OpenMessageTracker
from rightseat.engine.loop import Assistant, Engine
from rightseat.errors import NotConfigured, NotFound, Restarting, RightseatError, TimedOut, Unavailable, UpstreamError
from rightseat.http.endpoint import AssistantInfo
from rightseat.runtime.directory import HandoffTools, ResponderDirectory
from rightseat.runtime.incidents import Environment, Incident, RunContext
from rightseat.tools.function import as_tool
from rightseat.types.agents import AgentSource, AgentThreadState, Layer, RemoteAgentInfo, Responder
from rightseat.types.events import Event, RunFailed, RunStarted, StepEnd, StepStart, TextDelta
from rightseat.types.model import Model
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
DEFAULT_ASSISTANT = "default"
INTERNAL_ERROR = "Something went wrong in the server. Its log has the details."
# Events recorded for the incident report of a failing run.
RECORDED_EVENTS = (StepStart, StepEnd, RunFailed)
LOG_LEVELS = {"caller": logging.INFO, "upstream": logging.WARNING, "ours": logging.ERROR}
NO_TOKENIZER = "This model does not tell its tokens: only a local one does. Name one."


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


class RunObserver(Protocol):
    """Observes one run from its start to any end. Not a Layer: that would cost time for every token."""

    awaits_text: bool
    """Whether no text was sent yet; `on_first_text` is called before the first."""

    def on_first_text(self) -> None: ...
    def on_event(self, event: Event, /) -> None: ...
    def on_end(self, failed: RightseatError | None, /) -> None: ...


class NullObserver:
    awaits_text = False

    def on_first_text(self) -> None: ...
    def on_event(self, event: Event, /) -> None: ...
    def on_end(self, failed: RightseatError | None, /) -> None: ...


class BaseRuntime:
    def __init__(
        self,
        *,
        model: Model | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
        flows: Mapping[str, Responder] | None = None,
        agent_sources: Iterable[AgentSource] = (),
        layers: Iterable[Layer] = (),
        store: Store,
        limits: RuntimeLimits = RuntimeLimits(),
        aliases: Mapping[str, str] | None = None,
        closers: Iterable[Callable[[], Awaitable[None]]] = (),
        environment: Environment = "production",
    ) -> None:
        self.environment = environment
        listed = list(assistants)
        if model is not None:
            listed.insert(0, Assistant(DEFAULT_ASSISTANT, model, system, tuple(map(as_tool, tools))))
        self.assistants: Mapping[str, Assistant] = {assistant.name: assistant for assistant in listed}
        self.store = store
        self.limits = limits
        self.aliases: Mapping[str, str] = aliases or {}
        self.runs: set[RunHandle] = set()
        self.draining = False
        self._idle_future: asyncio.Future[None] | None = None
        self._closers = tuple(closers)
        self.flows: Mapping[str, Responder] = flows or {}
        self.agents: Mapping[str, Responder] = agents or {}
        self.agent_sources = tuple(agent_sources)
        handoff_tools = HandoffTools()
        descriptions = {
            agent.name: agent.description for place in self.agent_sources for agent in place.agents.values()
        }
        descriptions |= {a.name: a.description for a in listed}
        responders: dict[str, Responder] = {
            a.name: Engine(handoff_tools.add_to_assistant(a, descriptions), store) for a in listed
        }
        responders |= {**self.flows, **self.agents}
        # A flow that is not described as an assistant is found by its name, and not listed.
        hidden = self.flows.keys() - self.assistants.keys() - self.agents.keys()
        self.responders = handoff_tools.directory = ResponderDirectory(responders, hidden, self.agent_sources, layers)

    @property
    def active_runs(self) -> int:
        return len(self.runs)

    @property
    def ready(self) -> bool:
        """Whether new runs are accepted: not while draining or while a model is not ready."""
        models = (model for assistant in self.assistants.values() for model in assistant.all_models)
        return not self.draining and all(getattr(model, "ready", True) for model in models)

    def get_responder(self, name: str | None) -> Responder:
        """Return the responder of a name; without a name the one called default, else the first."""
        if not self.responders:
            raise NotFound("Nothing is configured to answer. Give the server a model or an assistant.")
        if name is None or (name == DEFAULT_ASSISTANT and DEFAULT_ASSISTANT not in self.responders):
            return self.responders.get(DEFAULT_ASSISTANT) or next(iter(self.responders.values()))
        if name not in self.responders:
            known = ", ".join(self.responders)
            raise NotFound(f"There is no assistant {name[:64]!r}. Those that exist: {known}")
        return self.responders[name]

    def resolve_responder(self, name: str | None) -> str | None:
        """Return the responder that a client means by a model's name. A server with one model accepts any."""
        if not name or name == DEFAULT_ASSISTANT or name in self.responders:
            return name or None
        if name in self.aliases:
            return self.aliases[name]
        if self.resolve_model(name):
            return name.partition("/")[0]
        models = {id(assistant.model) for assistant in self.assistants.values()}
        if len(models) <= 1 and self.agents.keys() <= self.assistants.keys() and not self.agent_sources:
            return None
        known = ", ".join(self.responders)
        raise NotFound(f"There is no model {name[:64]!r}. Those that exist: {known}", param="model")

    def resolve_model(self, name: str | None) -> str | None:
        assistant, _, model = (name or "").partition("/")
        return model if assistant and model and self.list_models(assistant) else None

    def list_models(self, name: str | None) -> tuple[str, ...]:
        assistant = self.get_assistant(name)
        return tuple(assistant.models) if assistant is not None else ()

    def get_assistant(self, name: str | None) -> Assistant | None:
        """Return the assistant of a name; None where another Responder has it."""
        if name is None and DEFAULT_ASSISTANT not in self.responders:
            return next(iter(self.assistants.values()), None)
        return self.assistants.get(name or DEFAULT_ASSISTANT)

    def describe(self, name: str) -> AssistantInfo | None:
        if name in self.assistants:
            return self.assistants[name]
        agent = self.responders.find_agent(name)
        return RemoteAgentInfo(agent) if agent is not None else None

    async def recall(self, name: str, owner: Owner, thread: str) -> AgentThreadState | None:
        agent = self.responders.find_agent(name)
        return await agent.get_thread_state(owner, thread) if agent is not None else None

    def is_plain_model(self, name: str | None) -> bool:
        assistant = self.get_assistant(name)
        if assistant is None or assistant.toolset is not None or assistant.name in self.flows:
            return False
        return not assistant.system and not assistant.tools

    def supports_completion(self, name: str | None) -> bool:
        assistant = self.get_assistant(name)
        return bool(getattr(assistant and assistant.model, "completes", False))

    def require_model_method(self, name: str | None, method: str, problem: str) -> Callable[..., Awaitable[Any]]:
        """Return an optional method of the assistant's model; raise NotConfigured if it has none."""
        assistant = self.get_assistant(name)
        bound_method: Callable[..., Awaitable[Any]] | None = getattr(assistant and assistant.model, method, None)
        if bound_method is None:
            raise NotConfigured(problem)
        return bound_method

    async def tokenize(self, name: str | None, text: str, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        tokenize = self.require_model_method(name, "tokenize", NO_TOKENIZER)
        tokens: list[Any] = await tokenize(text, add=add, special=special, pieces=pieces)
        return tokens

    async def detokenize(self, name: str | None, tokens: list[int]) -> str:
        text: str = await self.require_model_method(name, "detokenize", NO_TOKENIZER)(tokens)
        return text

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner) -> dict[str, Any]:
        """Return embeddings from the assistant's model."""
        embed = self.require_model_method(name, "embed", "This model has no embeddings. Name one that has.")
        vectors: dict[str, Any] = await embed(body)
        return vectors

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        """Run a turn. The one place where an exception becomes RunFailed: events come out, never errors."""
        seconds = self.limits.run_seconds
        deadline = asyncio.get_running_loop().time() + seconds
        turn = replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id(), deadline=deadline)
        open_messages = OpenMessageTracker()
        observer = self.make_observer(turn)
        context = RunContext(turn)
        failed: RightseatError | None = None
        run = RunHandle()
        self.runs.add(run)
        timer = asyncio.get_running_loop().call_at(
            deadline, run.abort, TimedOut(f"The run took longer than {seconds:g} s and was stopped.")
        )
        try:
            self.check_admission()
            yield RunStarted(turn.thread, turn.run)
            async with closing(self.get_responder(turn.assistant)(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta:
                        open_messages.track(event)
                        observer.on_event(event)
                        if type(event) in RECORDED_EVENTS:
                            self.record_event(context, event)
                    elif observer.awaits_text:
                        observer.on_first_text()
                    yield event
            return
        except RightseatError as error:
            failed = error
        except asyncio.CancelledError:
            error_from_abort = run.consume_error()
            if error_from_abort is None:
                raise
            failed = error_from_abort
        except Exception as error:
            failed = RightseatError(INTERNAL_ERROR)
            failed.__cause__ = error
        finally:
            timer.cancel()
            self.remove_run(run)
            observer.on_end(failed)
        last = to_run_failed(failed)
        self.report_failure(context, last, failed)
        for event in open_messages.end_events():
            yield event
        yield last

    def record_event(self, context: RunContext, event: Event) -> None:
        if isinstance(event, RunFailed):
            self.report_failure(context, event)
        elif isinstance(event, StepStart | StepEnd):
            context.on_step(event)

    def report_failure(self, context: RunContext, failed: RunFailed, error: RightseatError | None = None) -> None:
        """Log a failed run and report the incident. The message is not logged: it may quote the client."""
        name = context.turn.assistant or DEFAULT_ASSISTANT
        remote = name in self.agents or self.responders.find_agent(name) is not None
        cause = error and (error.__cause__ or error)
        incident = context.make_incident(failed, name, "agent" if remote else "runtime", self.environment, cause)
        log.log(
            LOG_LEVELS[failed.fault],
            "run failed: %s (%s) at %s after %d ms",
            *(failed.code, failed.fault, name[:64], incident.latency * 1000),
            extra={"fields": incident.log_fields()},
            exc_info=cause if failed.message == INTERNAL_ERROR else None,
        )
        self.on_incident(incident)

    def on_incident(self, incident: Incident) -> None:
        """Hook for subclasses: called with each incident."""

    def make_observer(self, turn: Turn) -> RunObserver:
        """Return the observer of a run."""
        return NullObserver()

    def remove_run(self, run: RunHandle) -> None:
        self.runs.discard(run)
        if not self.runs and self._idle_future is not None and not self._idle_future.done():
            self._idle_future.set_result(None)

    def check_admission(self) -> None:
        if self.draining:
            raise Restarting("The server is restarting. Try again in a moment.", retry_after=2)
        if len(self.runs) > self.limits.runs:
            raise Unavailable("Too many answers are under way. Try again in a moment.", retry_after=2)

    async def drain(self, grace: float) -> None:
        """Refuse new runs, let active ones finish, and abort those that take longer than `grace` seconds."""
        self.draining = True
        await self.wait_until_idle(grace)
        for run in tuple(self.runs):
            run.abort(Restarting("The server is restarting and stopped this answer. Try again.", retry_after=2))
        await self.wait_until_idle(1)

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no run is active, at most `seconds`."""
        if self.runs:
            self._idle_future = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._idle_future], timeout=seconds)

    async def start(self) -> None:
        """Start models and agent sources. A model that is not started here starts with its first prompt."""
        models = {id(model): model for assistant in self.assistants.values() for model in assistant.all_models}
        for model in models.values():
            start = getattr(model, "start", None)
            if start is None:
                continue
            try:
                await start()
            except UpstreamError as error:
                # A remote server may come up later: until then `ready` is false.
                log.warning("a model is not there yet: %s", error.message)
        # Concurrently: each may wait for a server that does not answer.
        await asyncio.gather(*(source.start() for source in self.agent_sources))

    async def close(self) -> None:
        """Close models, tools, agent sources and the given closers."""
        for assistant in self.assistants.values():
            closers = [getattr(model, "close", None) for model in assistant.all_models]
            for close in (*closers, *(tool.close for tool in assistant.tools)):
                if close is not None:
                    await close()
        for source in self.agent_sources:
            await source.close()
        for closer in self._closers:
            await closer()


def to_run_failed(error: RightseatError) -> RunFailed:
    return RunFailed(error.code, error.message, error.status, error.fault, error.retry_after, error.param)


def new_id() -> str:
    return secrets.token_hex(12)
