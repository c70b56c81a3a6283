"""Public Runtime: the base runtime with quotas, metrics, tracing, hooks, guardrails, plugins and MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import DIRECT_CALLS, DirectToolCall
from rightseat.http.endpoint import ResourceFile
from rightseat.middleware.guardrails.layer import GuardrailPolicies, fence_assistants, guardrails
from rightseat.middleware.hooks import Hooks
from rightseat.middleware.match_by_history import match_results_by_history, questions_as_text
from rightseat.middleware.metrics import UNKNOWN, MeteredModel, RunMetrics
from rightseat.middleware.model_wrappers import FallbackModel, ModelInfo, ModelWrapper, describe_model
from rightseat.middleware.quota import BilledModel, Quotas, UsageTracker, enforce_quotas
from rightseat.middleware.recording import RecordingMode, record_runs
from rightseat.middleware.tracing import TracedModel, Tracing, trace_tool
from rightseat.plugins import listing
from rightseat.runtime.incidents import Environment, Incident
from rightseat.runtime.metrics import Metrics
from rightseat.runtime.runtime import DEFAULT_ASSISTANT, RuntimeLimits
from rightseat.runtime.runtime import BaseRuntime as Line
from rightseat.runtime.threads import ThreadRuns
from rightseat.stores.memory import MemoryStore
from rightseat.tools.function import as_tool
from rightseat.types.agents import AgentSource, Layer, Responder
from rightseat.types.events import Event, Usage
from rightseat.types.model import Model
from rightseat.types.stores import CheckpointStore, Store
from rightseat.types.threads import ThreadStore
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

if TYPE_CHECKING:
    from rightseat.mcp.tool_sources import McpServers
    from rightseat.plugins.catalog import PluginCatalog


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
        limits: RuntimeLimits = RuntimeLimits(),
        quotas: Quotas = Quotas(),
        sources: Mapping[str, ModelInfo] | None = None,
        meters: Metrics | None = None,
        ledger: UsageTracker | None = None,
        threads: ThreadRuns | None = None,
        recorded: RecordingMode = "threads",
        tracing: Tracing | None = None,
        aliases: Mapping[str, str] | None = None,
        closers: Iterable[Callable[[], Awaitable[None]]] = (),
        plugins: PluginCatalog | None = None,
        servers: McpServers | None = None,
        hooks: Hooks | None = None,
        guards: GuardrailPolicies = GuardrailPolicies(),
        environment: Environment = "production",
    ) -> None:
        self.plugins, self.servers = plugins, servers
        self.quotas, self.meters, self.hooks = quotas, meters or Metrics(), hooks or Hooks()
        kept = store or MemoryStore()
        self.ledger = ledger or UsageTracker(store=kept if isinstance(kept, CheckpointStore) else None)
        journal = kept if isinstance(kept, ThreadStore) else MemoryStore()
        self.threads, self._closes_threads = threads or ThreadRuns(journal), threads is None
        listed = [*([] if model is None else [make_default_assistant(model, system, tools)]), *assistants]
        watch = make_model_wrapper(self.meters, charge=bool(quotas))
        self.guards = guards = guards.with_wrapped_models(watch)
        under_watch = fence_assistants(instrument_assistants(listed, sources or {}, watch), guards)
        super().__init__(
            assistants=[*under_watch, *(plugins.describe_flows(under_watch) if plugins else ())],
            agents=agents,
            agent_sources=remote,
            flows=self.unlisted_responders(under_watch, kept),
            layers=[*self.run_layers(kept), *layers],
            store=kept,
            limits=limits,
            aliases=aliases,
            closers=[self.hooks.close, guards.close, *closers, *([plugins.close] if plugins else ())],
            environment=environment,
        )
        self._run = self.wrap_run(recorded, tracing or Tracing())

    def wrap_run(self, recorded: RecordingMode, tracing: Tracing) -> Responder:
        """Wrap the run itself in tracing and recording, which see deadlines, restarts and disconnects."""
        return tracing.layer(record_runs(self.threads.store, recorded)(super().run))

    def run_layers(self, store: Store) -> Iterator[Layer]:
        """Yield the layers inside a run, outermost first."""
        if self.quotas:
            yield enforce_quotas(self.quotas, self.ledger)
        yield self.hooks.layer
        yield questions_as_text(store)
        yield match_results_by_history(store)
        # Inside the layers that match answers by their text: they must see the text as it was said.
        yield guardrails(self.guards, self.model_of)

    @cached_property
    def _tool_names(self) -> set[str]:
        own = {tool.name for assistant in self.assistants.values() for tool in assistant.tools}
        return own | (self.plugins.names if self.plugins else set())

    def unlisted_responders(self, assistants: Sequence[Assistant], store: Store) -> dict[str, Responder]:
        """Return responders that are not listed: flows, and direct tool calls of a client."""
        if self.plugins is None or not assistants:
            return {}
        called = DirectToolCall(self.tools, store, assistants[0].model)
        return self.plugins.bind_flows(assistants, store) | {DIRECT_CALLS: called}

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        return listing.list_tools(self.plugins) if self.plugins else {}

    @cached_property
    def resources(self) -> Mapping[str, ResourceFile]:
        return listing.list_flow_documents(self.plugins) if self.plugins else {}

    @cached_property
    def suggested_questions(self) -> Mapping[str, str]:
        return listing.list_questions(self.plugins) if self.plugins else {}

    def run(self, turn: Turn) -> AsyncIterator[Event]:
        return self._run(turn)

    def make_observer(self, turn: Turn) -> RunMetrics:
        name = turn.assistant or DEFAULT_ASSISTANT
        return RunMetrics(self.meters, name if name in self.responders else UNKNOWN, self._tool_names)

    def model_of(self, name: str | None) -> Model | None:
        assistant = self.get_assistant(name)
        return assistant.model if assistant is not None else None

    def on_incident(self, incident: Incident) -> None:
        self.hooks.report_incident(incident)

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
        account = await self.ledger.open_account(owner)
        account.admit(self.quotas.for_owner(owner), self.ledger.clock())
        try:
            response = await super().embed(name, body, owner)
        finally:
            account.running -= 1
        usage = response.get("usage")
        used = Usage(int(usage.get("prompt_tokens") or 0)) if isinstance(usage, dict) else Usage()
        account.charge(used, getattr(getattr(self.get_assistant(name), "model", None), "info", None))
        if self.quotas.for_owner(owner).has_daily_limit:
            await self.ledger.save_usage(owner, account)
        return response


def make_default_assistant(model: Model, system: str, tools: Iterable[Tool | Callable[..., Any]]) -> Assistant:
    return Assistant(DEFAULT_ASSISTANT, model, system, tuple(map(as_tool, tools)))


def make_model_wrapper(meters: Metrics, *, charge: bool) -> ModelWrapper:
    """Return a function that adds metering and tracing to a model, once for a shared model."""
    wrapped: dict[int, Model] = {}

    def watch(model: Model, source: ModelInfo) -> Model:
        if id(model) not in wrapped:
            wrapped[id(model)] = (
                model.wrap_members(watch) if isinstance(model, FallbackModel) else instrument(model, source)
            )
        return wrapped[id(model)]

    def instrument(model: Model, source: ModelInfo) -> Model:
        charged = BilledModel(model, source) if charge else model
        return TracedModel(MeteredModel(charged, source, meters), source)

    return watch


def instrument_assistants(
    assistants: Iterable[Assistant], sources: Mapping[str, ModelInfo], watch: ModelWrapper
) -> list[Assistant]:
    """Add metering and tracing to the assistants' models and tools; shared ones stay shared."""
    tools: dict[int, Tool] = {}
    instrumented = []
    for assistant in assistants:
        model = watch(assistant.model, sources.get(assistant.name) or describe_model(assistant.model))
        chosen = {
            name: structs.replace(
                seat, model=watch(seat.model, sources.get(f"{assistant.name}/{name}") or describe_model(seat.model))
            )
            for name, seat in assistant.models.items()
        }
        for tool in assistant.tools:
            tools.setdefault(id(tool), trace_tool(tool))
        own_tools = tuple(tools[id(tool)] for tool in assistant.tools)
        instrumented.append(replace(assistant, model=model, models=chosen, tools=own_tools))
    return instrumented
