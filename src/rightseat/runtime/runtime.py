"""BaseRuntime holds all responders and runs turns. It is immutable: a reload builds a new one."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.assembler import Opened
from rightseat.engine.loop import Assistant, Engine
from rightseat.errors import (
    NotConfigured,
    NotFound,
    Restarting,
    RightseatError,
    TimedOut,
    Unavailable,
    UpstreamError,
)
from rightseat.http.endpoint import Described
from rightseat.runtime.directory import Directory, Handing
from rightseat.runtime.incidents import Course, Environment, Incident
from rightseat.tools.function import as_tool
from rightseat.types.agents import AgentSource, Guest, Recalled
from rightseat.types.events import Event, RunFailed, RunStarted, StepEnd, StepStart, TextDelta
from rightseat.types.model import Model
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
DEFAULT = "default"
BROKEN = "Something went wrong in the server. Its log has the details."
# Events recorded for the incident report of a failing run.
NOTED = (StepStart, StepEnd, RunFailed)
LEVELS = {"caller": logging.INFO, "upstream": logging.WARNING, "ours": logging.ERROR}
NO_TOKENS = "This model does not tell its tokens: only a local one does. Name one."


class Limits(Struct, frozen=True):
    run_seconds: float = 600.0
    runs: int = 1000


class Run:
    """Handle of an active run, by which a deadline or a restart aborts it."""

    def __init__(self) -> None:
        self.task = asyncio.current_task()
        self.error: RightseatError | None = None

    def end(self, error: RightseatError) -> None:
        if self.error is None and self.task is not None:
            self.error = error
            self.task.cancel()

    def ended(self) -> RightseatError | None:
        """Return the error that this run was aborted with and clear the cancellation that carried it."""
        if self.error is not None and self.task is not None:
            self.task.uncancel()
        return self.error


class Watch(Protocol):
    """Observes one run from its start to any end. Not a Layer: that would cost time for every token."""

    silent: bool
    """Whether no text was sent yet; `on_first_text` is called before the first."""

    def speak(self) -> None: ...
    def see(self, event: Event, /) -> None: ...
    def end(self, failed: RightseatError | None, /) -> None: ...


class Unwatched:
    silent = False

    def speak(self) -> None: ...
    def see(self, event: Event, /) -> None: ...
    def end(self, failed: RightseatError | None, /) -> None: ...


class Runtime:
    def __init__(
        self,
        *,
        model: Model | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
        flows: Mapping[str, Responder] | None = None,
        sources: Iterable[AgentSource] = (),
        layers: Iterable[Layer] = (),
        store: Store,
        limits: Limits = Limits(),
        aliases: Mapping[str, str] | None = None,
        closers: Iterable[Callable[[], Awaitable[None]]] = (),
        environment: Environment = "production",
    ) -> None:
        self.environment = environment
        listed = list(assistants)
        if model is not None:
            listed.insert(0, Assistant(DEFAULT, model, system, tuple(map(as_tool, tools))))
        self.assistants: Mapping[str, Assistant] = {assistant.name: assistant for assistant in listed}
        self.store = store
        self.limits = limits
        self.aliases: Mapping[str, str] = aliases or {}
        self.runs: set[Run] = set()
        self.draining = False
        self._last: asyncio.Future[None] | None = None
        self._closers = tuple(closers)
        self.flows: Mapping[str, Responder] = flows or {}
        self.agents: Mapping[str, Responder] = agents or {}
        self.sources = tuple(sources)
        handing = Handing()
        words = {agent.name: agent.description for place in self.sources for agent in place.agents.values()}
        words |= {a.name: a.description for a in listed}
        responders: dict[str, Responder] = {a.name: Engine(handing.equipped(a, words), store) for a in listed}
        responders |= {**self.flows, **self.agents}
        # A flow that is not described as an assistant is found by its name, and not listed.
        hidden = self.flows.keys() - self.assistants.keys() - self.agents.keys()
        self.responders = handing.directory = Directory(responders, hidden, self.sources, layers)

    @property
    def active(self) -> int:
        return len(self.runs)

    @property
    def ready(self) -> bool:
        """Whether new runs are accepted: not while draining or while a model is not ready."""
        models = (model for assistant in self.assistants.values() for model in assistant.every)
        return not self.draining and all(getattr(model, "ready", True) for model in models)

    def responder(self, name: str | None) -> Responder:
        """Return the responder of a name; without a name the one called default, else the first."""
        if not self.responders:
            raise NotFound("Nothing is configured to answer. Give the server a model or an assistant.")
        if name is None or (name == DEFAULT and DEFAULT not in self.responders):
            return self.responders.get(DEFAULT) or next(iter(self.responders.values()))
        if name not in self.responders:
            known = ", ".join(self.responders)
            raise NotFound(f"There is no assistant {name[:64]!r}. Those that exist: {known}")
        return self.responders[name]

    def resolve(self, name: str | None) -> str | None:
        """Return the responder that a client means by a model's name. A server with one model accepts any."""
        if not name or name == DEFAULT or name in self.responders:
            return name or None
        if name in self.aliases:
            return self.aliases[name]
        if self.picked(name):
            return name.partition("/")[0]
        models = {id(assistant.model) for assistant in self.assistants.values()}
        if len(models) <= 1 and self.agents.keys() <= self.assistants.keys() and not self.sources:
            return None
        known = ", ".join(self.responders)
        raise NotFound(f"There is no model {name[:64]!r}. Those that exist: {known}", param="model")

    def picked(self, name: str | None) -> str | None:
        assistant, _, model = (name or "").partition("/")
        return model if assistant and model and self.offered(assistant) else None

    def offered(self, name: str | None) -> tuple[str, ...]:
        found = self.assistant(name)
        return tuple(found.models) if found is not None else ()

    def assistant(self, name: str | None) -> Assistant | None:
        """Return the assistant of a name; None where another Responder has it."""
        if name is None and DEFAULT not in self.responders:
            return next(iter(self.assistants.values()), None)
        return self.assistants.get(name or DEFAULT)

    def described(self, name: str) -> Described | None:
        if name in self.assistants:
            return self.assistants[name]
        agent = self.responders.agent(name)
        return Guest(agent) if agent is not None else None

    async def recall(self, name: str, owner: Owner, thread: str) -> Recalled | None:
        agent = self.responders.agent(name)
        return await agent.recall(owner, thread) if agent is not None else None

    def bare(self, name: str | None) -> bool:
        assistant = self.assistant(name)
        if assistant is None or assistant.source is not None or assistant.name in self.flows:
            return False
        return not assistant.system and not assistant.tools

    def completes(self, name: str | None) -> bool:
        assistant = self.assistant(name)
        return bool(getattr(assistant and assistant.model, "completes", False))

    def ability(self, name: str | None, method: str, problem: str) -> Callable[..., Awaitable[Any]]:
        """Return an optional method of the assistant's model; raise NotConfigured if it has none."""
        assistant = self.assistant(name)
        found: Callable[..., Awaitable[Any]] | None = getattr(assistant and assistant.model, method, None)
        if found is None:
            raise NotConfigured(problem)
        return found

    async def tokenize(
        self, name: str | None, text: str, *, add: bool, special: bool, pieces: bool
    ) -> list[Any]:
        tokenize = self.ability(name, "tokenize", NO_TOKENS)
        tokens: list[Any] = await tokenize(text, add=add, special=special, pieces=pieces)
        return tokens

    async def detokenize(self, name: str | None, tokens: list[int]) -> str:
        text: str = await self.ability(name, "detokenize", NO_TOKENS)(tokens)
        return text

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner) -> dict[str, Any]:
        """Return embeddings from the assistant's model."""
        embed = self.ability(name, "embed", "This model has no embeddings. Name one that has.")
        vectors: dict[str, Any] = await embed(body)
        return vectors

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        """Run a turn. The one place where an exception becomes RunFailed: events come out, never errors."""
        seconds = self.limits.run_seconds
        deadline = asyncio.get_running_loop().time() + seconds
        turn = replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id(), deadline=deadline)
        opened = Opened()
        watch = self.watch(turn)
        course = Course(turn)
        failed: RightseatError | None = None
        run = Run()
        self.runs.add(run)
        timer = asyncio.get_running_loop().call_at(
            deadline, run.end, TimedOut(f"The run took longer than {seconds:g} s and was stopped.")
        )
        try:
            self.admit()
            yield RunStarted(turn.thread, turn.run)
            async with closing(self.responder(turn.assistant)(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta:
                        opened.see(event)
                        watch.see(event)
                        if type(event) in NOTED:
                            self.note(course, event)
                    elif watch.silent:
                        watch.speak()
                    yield event
            return
        except RightseatError as error:
            failed = error
        except asyncio.CancelledError:
            ended = run.ended()
            if ended is None:
                raise
            failed = ended
        except Exception as error:
            failed = RightseatError(BROKEN)
            failed.__cause__ = error
        finally:
            timer.cancel()
            self.leave(run)
            watch.end(failed)
        last = failure_of(failed)
        self.report(course, last, failed)
        for event in opened.ends():
            yield event
        yield last

    def note(self, course: Course, event: Event) -> None:
        if isinstance(event, RunFailed):
            self.report(course, event)
        elif isinstance(event, StepStart | StepEnd):
            course.see(event)

    def report(self, course: Course, failed: RunFailed, error: RightseatError | None = None) -> None:
        """Log a failed run and report the incident. The message is not logged: it may quote the client."""
        name = course.turn.assistant or DEFAULT
        remote = name in self.agents or self.responders.agent(name) is not None
        cause = error and (error.__cause__ or error)
        incident = course.incident(failed, name, "agent" if remote else "runtime", self.environment, cause)
        log.log(
            LEVELS[failed.fault],
            "run failed: %s (%s) at %s after %d ms",
            *(failed.code, failed.fault, name[:64], incident.latency * 1000),
            extra={"fields": incident.fields()},
            exc_info=cause if failed.message == BROKEN else None,
        )
        self.tell(incident)

    def tell(self, incident: Incident) -> None:
        """Hook for subclasses: called with each incident."""

    def watch(self, turn: Turn) -> Watch:
        """Return the observer of a run."""
        return Unwatched()

    def leave(self, run: Run) -> None:
        self.runs.discard(run)
        if not self.runs and self._last is not None and not self._last.done():
            self._last.set_result(None)

    def admit(self) -> None:
        if self.draining:
            raise Restarting("The server is restarting. Try again in a moment.", retry_after=2)
        if len(self.runs) > self.limits.runs:
            raise Unavailable("Too many answers are under way. Try again in a moment.", retry_after=2)

    async def drain(self, grace: float) -> None:
        """Refuse new runs, let active ones finish, and abort those that take longer than `grace` seconds."""
        self.draining = True
        await self.idle(grace)
        for run in tuple(self.runs):
            run.end(Restarting("The server is restarting and stopped this answer. Try again.", retry_after=2))
        await self.idle(1)

    async def idle(self, seconds: float) -> None:
        """Wait until no run is active, at most `seconds`."""
        if self.runs:
            self._last = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._last], timeout=seconds)

    async def start(self) -> None:
        """Start models and agent sources. A model that is not started here starts with its first prompt."""
        models = {id(model): model for assistant in self.assistants.values() for model in assistant.every}
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
        await asyncio.gather(*(source.start() for source in self.sources))

    async def close(self) -> None:
        """Close models, tools, agent sources and the given closers."""
        for assistant in self.assistants.values():
            closers = [getattr(model, "close", None) for model in assistant.every]
            for close in (*closers, *(tool.close for tool in assistant.tools)):
                if close is not None:
                    await close()
        for source in self.sources:
            await source.close()
        for closer in self._closers:
            await closer()


def failure_of(error: RightseatError) -> RunFailed:
    return RunFailed(error.code, error.message, error.status, error.fault, error.retry_after, error.param)


def new_id() -> str:
    return secrets.token_hex(12)
