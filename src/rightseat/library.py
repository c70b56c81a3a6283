"""rightseat as a library: a Runtime with sensible defaults, and `mount` for an app you already have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rightseat.continuation import Notes, Store
from rightseat.detached import Detached
from rightseat.engine import Assistant
from rightseat.events import Event, Usage
from rightseat.function import as_tool
from rightseat.journal import Journal
from rightseat.layers.counting import UNKNOWN, Counted, Tally
from rightseat.layers.echo import echo
from rightseat.layers.quota import Charged, Ledger, Quotas, limited
from rightseat.layers.record import Which, record
from rightseat.layers.source import Source, source_of
from rightseat.layers.tracing import Traced, Tracing, traced_tool
from rightseat.layers.words import words
from rightseat.metrics import Meters
from rightseat.prompt import Model
from rightseat.responder import Layer, Responder
from rightseat.runtime import DEFAULT, Limits
from rightseat.runtime import Runtime as Line
from rightseat.stores.memory import Memory
from rightseat.tools import Tool
from rightseat.turn import Owner, Turn

if TYPE_CHECKING:
    from rightseat.plugins.shelf import Shelf


class Runtime(Line):
    """Everything that can answer: one model with tools, further assistants, and Responders of your own.

    The first of them answers whoever asks for none by name. `quotas` limit each owner; `sources` say of an
    assistant's model what it is called and costs; `meters`, `ledger` and `threads` may be those of a Runtime
    before. Threads are kept where the store keeps them, else in memory; `recorded` says of which attached
    runs. `plugins` are those that the assistants choose from; they are closed with it.
    """

    def __init__(
        self,
        *,
        model: Model | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
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
    ) -> None:
        self.plugins = plugins
        kept = store or Memory()
        self.threads = threads or Detached(kept if isinstance(kept, Journal) else Memory())
        self._closes_threads = threads is None
        self.meters = meters or Meters()
        self.ledger = ledger or Ledger(notes=kept if isinstance(kept, Notes) else None)
        self.quotas = quotas
        listed = list(assistants)
        if model is not None:
            listed.insert(0, Assistant(DEFAULT, model, system, tuple(map(as_tool, tools))))
        under_watch = watched(listed, sources or {}, self.meters, charge=bool(quotas))
        flows = plugins.responders(under_watch, kept) if plugins else {}
        super().__init__(
            assistants=[*under_watch, *(plugins.described(under_watch) if plugins else ())],
            agents=agents,
            flows=flows,
            layers=[*([limited(quotas, self.ledger)] if quotas else []), words(kept), echo(kept), *layers],
            store=kept,
            limits=limits,
            aliases=aliases,
            closers=[*closers, *([plugins.close] if plugins else ())],
        )
        self._tools = {tool.name for assistant in listed for tool in assistant.tools}
        self._tools |= plugins.names if plugins else set()
        # A run is a Responder too: around it, a layer also sees deadlines, restarts and clients that leave.
        kept_run = record(self.threads.journal, recorded)(super().run)
        self._run = (tracing or Tracing()).layer(kept_run)

    def run(self, turn: Turn) -> AsyncIterator[Event]:
        return self._run(turn)

    def watch(self, turn: Turn) -> Tally:
        name = turn.assistant or DEFAULT
        return Tally(self.meters, name if name in self.responders else UNKNOWN, self._tools)

    async def start(self) -> None:
        await super().start()
        if self.plugins is not None:
            await self.plugins.start()

    async def close(self) -> None:
        if self._closes_threads:
            await self.threads.close()
        await super().close()

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner) -> dict[str, Any]:
        """As a run: admitted by the owner's quota and charged to it."""
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


def watched(
    assistants: Iterable[Assistant], sources: Mapping[str, Source], meters: Meters, *, charge: bool
) -> list[Assistant]:
    """The assistants with their models and tools under watch; what several share stays one."""
    models: dict[int, Model] = {}
    tools: dict[int, Tool] = {}

    def watch(model: Model, source: Source) -> Model:
        paid = Charged(model, source) if charge else model
        return Traced(Counted(paid, source, meters), source)

    found = []
    for assistant in assistants:
        model = assistant.model
        if id(model) not in models:
            models[id(model)] = watch(model, sources.get(assistant.name) or source_of(model))
        for tool in assistant.tools:
            tools.setdefault(id(tool), traced_tool(tool))
        mine = tuple(tools[id(tool)] for tool in assistant.tools)
        found.append(replace(assistant, model=models[id(model)], tools=mine))
    return found
