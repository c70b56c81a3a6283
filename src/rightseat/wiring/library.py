"""Public Runtime: the base runtime with quotas, metrics, tracing, hooks, guardrails, plugins and MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import CALLED, Called
from rightseat.http.endpoint import Document
from rightseat.middleware.fallback import Fallback
from rightseat.middleware.guardrails.layer import Guards, guardrails
from rightseat.middleware.guardrails.marking import marked
from rightseat.middleware.hooks import Hooks
from rightseat.middleware.match_results import echo
from rightseat.middleware.metrics import UNKNOWN, Counted, Tally
from rightseat.middleware.model_info import Source, Watch, source_of
from rightseat.middleware.quota import Charged, Ledger, Quotas, limited
from rightseat.middleware.recording import Which, record
from rightseat.middleware.text_questions import words
from rightseat.middleware.tracing import Traced, Tracing, traced_tool
from rightseat.plugins import shown
from rightseat.runtime.incidents import Environment, Incident
from rightseat.runtime.metrics import Meters
from rightseat.runtime.runtime import DEFAULT, Limits
from rightseat.runtime.runtime import Runtime as Line
from rightseat.runtime.threads import Detached
from rightseat.stores.memory import Memory
from rightseat.tools.function import as_tool
from rightseat.types.agents import AgentSource
from rightseat.types.events import Event, Usage
from rightseat.types.model import Model
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import Notes, Store
from rightseat.types.threads import Journal
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

if TYPE_CHECKING:
    from rightseat.mcp.source import Servers
    from rightseat.plugins.shelf import Shelf


class Runtime(Line):
    """Runtime with one model and its tools, further assistants, and Responders of your own.

    The first of them is the default. `quotas` limit each owner; `sources` give name and price of an
    assistant's model; `meters`, `ledger` and `threads` may come from the Runtime before a reload. Threads are
    kept in the store, or in memory if it keeps none; `recorded` selects the attached runs to record. `remote`
    are agent sources, `plugins` the plugin catalog, `servers` the MCP servers: all are closed with it.
    """

    def __init__(
        self,
        *,
        model: Model | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
        remote: Iterable[AgentSource] = (),
        layers: Iterable[Layer] = (),
        store: Store | None = None,
        limits: Limits = Limits(),
        quotas: Quotas = Quotas(),
        sources: Mapping[str, Source] | None = None,
        meters: Meters | None = None,
        ledger: Ledger | None = None,
        threads: Detached | None = None,
        recorded: Which = "threads",
        tracing: Tracing | None = None,
        aliases: Mapping[str, str] | None = None,
        closers: Iterable[Callable[[], Awaitable[None]]] = (),
        plugins: Shelf | None = None,
        servers: Servers | None = None,
        hooks: Hooks | None = None,
        guards: Guards = Guards(),
        environment: Environment = "production",
    ) -> None:
        self.plugins, self.servers = plugins, servers
        self.quotas, self.meters, self.hooks = quotas, meters or Meters(), hooks or Hooks()
        kept = store or Memory()
        self.ledger = ledger or Ledger(notes=kept if isinstance(kept, Notes) else None)
        journal = kept if isinstance(kept, Journal) else Memory()
        self.threads, self._closes_threads = threads or Detached(journal), threads is None
        listed = [*([] if model is None else [bare(model, system, tools)]), *assistants]
        watch = watching(self.meters, charge=bool(quotas))
        self.guards = guards = guards.watched(watch)
        under_watch = marked(watched(listed, sources or {}, watch), guards)
        super().__init__(
            assistants=[*under_watch, *(plugins.described(under_watch) if plugins else ())],
            agents=agents,
            sources=remote,
            flows=self.answering(under_watch, kept),
            layers=[*self.around(kept), *layers],
            store=kept,
            limits=limits,
            aliases=aliases,
            closers=[self.hooks.close, guards.close, *closers, *([plugins.close] if plugins else ())],
            environment=environment,
        )
        self._run = self.running(recorded, tracing or Tracing())

    def running(self, recorded: Which, tracing: Tracing) -> Responder:
        """Wrap the run itself in tracing and recording, which see deadlines, restarts and disconnects."""
        return tracing.layer(record(self.threads.journal, recorded)(super().run))

    def around(self, store: Store) -> Iterator[Layer]:
        """Yield the layers inside a run, outermost first."""
        if self.quotas:
            yield limited(self.quotas, self.ledger)
        yield self.hooks.layer
        yield words(store)
        yield echo(store)
        # Inside the layers that match answers by their text: they must see the text as it was said.
        yield guardrails(self.guards, self.model_of)

    @cached_property
    def _tools(self) -> set[str]:
        own = {tool.name for assistant in self.assistants.values() for tool in assistant.tools}
        return own | (self.plugins.names if self.plugins else set())

    def answering(self, assistants: Sequence[Assistant], store: Store) -> dict[str, Responder]:
        """Return responders that are not listed: flows, and direct tool calls of a client."""
        if self.plugins is None or not assistants:
            return {}
        called = Called(self.tools, store, assistants[0].model)
        return self.plugins.responders(assistants, store) | {CALLED: called}

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        return shown.tools(self.plugins) if self.plugins else {}

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        return shown.documents(self.plugins) if self.plugins else {}

    @cached_property
    def questions(self) -> Mapping[str, str]:
        return shown.questions(self.plugins) if self.plugins else {}

    def run(self, turn: Turn) -> AsyncIterator[Event]:
        return self._run(turn)

    def watch(self, turn: Turn) -> Tally:
        name = turn.assistant or DEFAULT
        return Tally(self.meters, name if name in self.responders else UNKNOWN, self._tools)

    def model_of(self, name: str | None) -> Model | None:
        assistant = self.assistant(name)
        return assistant.model if assistant is not None else None

    def tell(self, incident: Incident) -> None:
        self.hooks.tell(incident)

    async def start(self) -> None:
        await super().start()
        if self.plugins is not None:
            await self.plugins.start()
        if self.servers is not None:
            await self.servers.start()

    async def close(self) -> None:
        if self._closes_threads:
            await self.threads.close()
        if self.servers is not None:
            await self.servers.close()
        await super().close()

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner) -> dict[str, Any]:
        """Create embeddings, admitted by and charged to the owner's quota like a run."""
        account = await self.ledger.opened(owner)
        account.admit(self.quotas.of(owner), self.ledger.clock())
        try:
            found = await super().embed(name, body, owner)
        finally:
            account.running -= 1
        told = found.get("usage")
        used = Usage(int(told.get("prompt_tokens") or 0)) if isinstance(told, dict) else Usage()
        account.charge(used, getattr(getattr(self.assistant(name), "model", None), "source", None))
        if self.quotas.of(owner).daily:
            await self.ledger.keep(owner, account)
        return found


def bare(model: Model, system: str, tools: Iterable[Tool | Callable[..., Any]]) -> Assistant:
    return Assistant(DEFAULT, model, system, tuple(map(as_tool, tools)))


def watching(meters: Meters, *, charge: bool) -> Watch:
    """Return a function that adds metering and tracing to a model, once for a shared model."""
    models: dict[int, Model] = {}

    def watch(model: Model, source: Source) -> Model:
        if id(model) not in models:
            models[id(model)] = model.watched(watch) if isinstance(model, Fallback) else paid(model, source)
        return models[id(model)]

    def paid(model: Model, source: Source) -> Model:
        charged = Charged(model, source) if charge else model
        return Traced(Counted(charged, source, meters), source)

    return watch


def watched(assistants: Iterable[Assistant], sources: Mapping[str, Source], watch: Watch) -> list[Assistant]:
    """Add metering and tracing to the assistants' models and tools; shared ones stay shared."""
    tools: dict[int, Tool] = {}
    found = []
    for assistant in assistants:
        model = watch(assistant.model, sources.get(assistant.name) or source_of(assistant.model))
        chosen = {
            name: structs.replace(
                seat,
                model=watch(seat.model, sources.get(f"{assistant.name}/{name}") or source_of(seat.model)),
            )
            for name, seat in assistant.models.items()
        }
        for tool in assistant.tools:
            tools.setdefault(id(tool), traced_tool(tool))
        mine = tuple(tools[id(tool)] for tool in assistant.tools)
        found.append(replace(assistant, model=model, models=chosen, tools=mine))
    return found
