"""Runtime: assistants, agents and plugins behind one `run`, with quotas, metrics, tracing, hooks and guardrails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

from rightseat.engine.loop import Assistant, Engine
from rightseat.engine.toolsets import DIRECT_CALLS, DirectToolCall
from rightseat.errors import Misused, NotConfigured, NotFound, UpstreamError
from rightseat.http.endpoint import AssistantInfo, PluginInfo, ResourceFile
from rightseat.middleware.artifacts import present_artifacts
from rightseat.middleware.guardrails.layer import GuardrailPolicies, fence_assistants, guardrails
from rightseat.middleware.hooks import Hooks
from rightseat.middleware.match_by_history import match_results_by_history, questions_as_text
from rightseat.middleware.metrics import UNKNOWN, RunMetrics
from rightseat.middleware.quota import Ledger, Quotas, UsageTracker, enforce_quotas
from rightseat.middleware.recording import RecordingMode, record_runs
from rightseat.middleware.tracing import Tracing
from rightseat.runtime.answer import Answer, AnswerValues, collect_answer, make_turn
from rightseat.runtime.incidents import Environment
from rightseat.runtime.metrics import Metrics
from rightseat.runtime.model_names import (
    describe_unknown_name,
    find_alias,
    find_near_name,
    is_qualified_name,
    is_vendor_name,
)
from rightseat.runtime.responders import ResponderRegistry, add_handoff_tools
from rightseat.runtime.runs import DEFAULT_ASSISTANT, RunSupervisor, RuntimeLimits
from rightseat.runtime.threads import ThreadRuns
from rightseat.stores.memory import MemoryStore
from rightseat.tools.function import as_tools
from rightseat.types.agents import AgentSource, AgentThreadState, Layer, RememberingSource, RemoteAgentInfo, Responder
from rightseat.types.events import Event, Usage
from rightseat.types.live import ConfigRegistry, EngineState, RemoteEngine
from rightseat.types.messages import Message
from rightseat.types.model import (
    CompletesText,
    Embeds,
    HasEngine,
    Model,
    ModelInfo,
    ModelLike,
    Prompt,
    Reranks,
    Tokenizes,
    adapt_model,
    find_protocol,
)
from rightseat.types.speech import Transcribes, Transcript, TranscriptionRequest
from rightseat.types.stores import CheckpointStore, MonitoredStore, Store, get_shared_store
from rightseat.types.streams import closing
from rightseat.types.threads import ThreadStore
from rightseat.types.tools import Tool
from rightseat.types.turn import Feedback, Owner, Turn
from rightseat.wiring.instruments import fingerprint_assistant, hash_values, instrument_assistants, make_model_wrapper
from rightseat.wiring.lookup import make_model, split_spec

if TYPE_CHECKING:
    from rightseat.mcp.tool_sources import McpServers
    from rightseat.plugins.catalog import PluginCatalog

log = logging.getLogger(__name__)
NO_ENGINE = (
    "This is for local models only, and this one is not local. Name one that is, or serve one with --model local."
)
NO_RERANKER = "This model reranks nothing. Give a local model a reranker: rerank = PATH.gguf."
NO_TRANSCRIBER = (
    "Speech is not configured on this server: no model here transcribes audio. Set one up in rightseat.toml: a table "
    '[models.ears] with transcribes = true and spec = "openai:whisper-1", with base_url for another '
    'server, or spec = "whisper:ggml-base.bin" for this machine.'
)
NO_TOKENIZER = "This model does not tell its tokens: only a local one does. Name one."


@dataclass(frozen=True, kw_only=True)
class RuntimeParts:
    """Parts of a Runtime that only a Config has, or that the Runtime before a reload passes on."""

    meters: Metrics = field(default_factory=Metrics)
    ledger: Ledger | None = None
    threads: ThreadRuns | None = None
    recorded: RecordingMode = "threads"
    """Attached runs to record."""
    tracing: Tracing = field(default_factory=Tracing)
    aliases: Mapping[str, str] = field(default_factory=dict)
    model_infos: Mapping[str, ModelInfo] = field(default_factory=dict)
    """Name and price of an assistant's model."""
    plugins: PluginCatalog | None = None
    servers: McpServers | None = None
    transcribers: Mapping[str, Model] = field(default_factory=dict)
    """Models that write down speech."""
    find_default: Callable[[], str] | None = None
    """Returns the name of the flow or agent that answers as `default`; None where an assistant does."""


class Runtime:
    """Runs turns of one model with its tools, of further assistants, and of Responders and agents of your own.

    The first of them is the default. `model` is a Model or a spec such as `openai:gpt-5-mini`. Threads are kept in
    the store, or in memory if it keeps none. `quotas` limit each owner. A Runtime is immutable: a reload builds a
    new one. `async with` starts and closes it, with everything it holds and the store that it made itself.
    """

    def __init__(
        self,
        *,
        model: ModelLike | str | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
        agent_sources: Iterable[AgentSource] = (),
        layers: Iterable[Layer] = (),
        store: Store | None = None,
        limits: RuntimeLimits = RuntimeLimits(),
        quotas: Quotas = Quotas(),
        hooks: Hooks | None = None,
        guards: GuardrailPolicies = GuardrailPolicies(),
        environment: Environment = "production",
        parts: RuntimeParts | None = None,
    ) -> None:
        parts = parts or RuntimeParts()
        self.plugins, self.servers = parts.plugins, parts.servers
        self.transcribers: Mapping[str, Model] = parts.transcribers
        self.aliases, self.meters = parts.aliases, parts.meters
        self.quotas, self.hooks, self.environment = quotas, hooks or Hooks(), environment
        self.store = store or MemoryStore()
        self._closes_store, self._closes_threads = store is None, parts.threads is None
        checkpoint_store = self.store if isinstance(self.store, CheckpointStore) else None
        self.ledger = parts.ledger or UsageTracker(store=checkpoint_store)
        self.threads = parts.threads or ThreadRuns(self.store if isinstance(self.store, ThreadStore) else MemoryStore())
        infos = dict(parts.model_infos)
        if isinstance(model, str):
            infos.setdefault(DEFAULT_ASSISTANT, ModelInfo(*split_spec(model)))
            model = make_model(model)
        if model is not None:
            default = Assistant(DEFAULT_ASSISTANT, adapt_model(model), system, as_tools(tools))
            assistants = [default, *assistants]
        watch = make_model_wrapper(self.meters, charge=bool(quotas))
        self.guards = guards.with_wrapped_models(watch)
        listed = fence_assistants(instrument_assistants(assistants, infos, watch), self.guards)
        self.flows = self._unlisted_responders(listed)
        listed += self.plugins.describe_flows(listed) if self.plugins else ()
        self.assistants: Mapping[str, Assistant] = {assistant.name: assistant for assistant in listed}
        self.agents: Mapping[str, Responder] = agents or {}
        self.agent_sources = tuple(agent_sources)
        share_store(self.agent_sources, self.store)
        self.responders = self._make_responders([*self._run_layers(), *layers], parts.find_default)
        self.runs = RunSupervisor(
            lambda turn: self.get_responder(turn.assistant)(turn),
            limits=limits,
            environment=environment,
            make_observer=self._make_observer,
            on_incident=self.hooks.report_incident,
            on_stop=self.hooks.report_stop,
            on_refusal=self.hooks.report_refusal,
            is_remote=lambda name: name in self.agents or self.responders.find_agent(name) is not None,
        )
        # Around the supervised run: tracing and recording see deadlines, restarts and disconnects.
        self._run = parts.tracing.layer(self._record_layer(parts.recorded)(self.runs.run))
        self._closers = (self.hooks.close, self.guards.close, *([self.plugins.close] if self.plugins else []))
        self._start_lock = asyncio.Lock()
        self.is_started = self.is_closed = False

    def _make_responders(self, layers: Iterable[Layer], find_default: Callable[[], str] | None) -> ResponderRegistry:
        remote = (agent for source in self.agent_sources for agent in source.agents.values())
        descriptions = {agent.name: agent.description for agent in remote}
        descriptions |= {assistant.name: assistant.description for assistant in self.assistants.values()}
        responders: dict[str, Responder] = {
            name: Engine(add_handoff_tools(assistant, descriptions, lambda: self.responders), self.store)
            for name, assistant in self.assistants.items()
        }
        # A flow that is not described as an assistant is found by its name, and not listed.
        hidden = self.flows.keys() - self.assistants.keys() - self.agents.keys()
        responders |= {**self.flows, **self.agents}
        return ResponderRegistry(responders, hidden, self.agent_sources, layers, find_default=find_default)

    def _run_layers(self) -> Iterator[Layer]:
        """Yield the layers inside a run, outermost first."""
        if self.quotas:
            yield enforce_quotas(self.quotas, self.ledger)
        yield self.hooks.layer
        yield questions_as_text(self.store)
        yield match_results_by_history(self.store)
        if shared_store := get_shared_store(self.store):
            # Imported here: one worker has no use for it.
            from rightseat.middleware.answer_once import answer_once

            yield answer_once(shared_store)
        # Inside the layers that match answers by their text: they must see the text as it was said.
        yield guardrails(self.guards, self.get_model)
        yield present_artifacts(self.store)

    def _record_layer(self, mode: RecordingMode) -> Layer:
        on_unkept = self.threads.on_unkept = self.meters.runs_not_kept.add
        self.threads.keeps_trace = True
        return record_runs(self.threads.store, mode, plane=self.threads.plane, on_unkept=on_unkept)

    def _unlisted_responders(self, assistants: Sequence[Assistant]) -> Mapping[str, Responder]:
        """Return responders that are not listed: flows, and direct tool calls of a client."""
        if self.plugins is None or not assistants:
            return {}
        called = DirectToolCall(self.tools, self.store, assistants[0].model)
        return self.plugins.bind_flows(assistants, self.store) | {DIRECT_CALLS: called}

    @cached_property
    def _tool_names(self) -> set[str]:
        own = {tool.name for assistant in self.assistants.values() for tool in assistant.tools}
        return own | (self.plugins.names if self.plugins else set())

    def _make_observer(self, turn: Turn) -> RunMetrics:
        name = turn.assistant or DEFAULT_ASSISTANT
        return RunMetrics(self.meters, name if name in self.responders else UNKNOWN, self._tool_names)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        return self.plugins.tools if self.plugins else {}

    @cached_property
    def resources(self) -> Mapping[str, ResourceFile]:
        return self.plugins.flow_documents if self.plugins else {}

    def list_plugins(self) -> list[PluginInfo]:
        return self.plugins.list_plugins() if self.plugins else []

    @cached_property
    def suggested_questions(self) -> Mapping[str, str]:
        return self.plugins.plugin_questions if self.plugins else {}

    async def ask(
        self,
        question: str | Iterable[Message] | Turn = "",
        *,
        thread: str | None = None,
        assistant: str | None = None,
        owner: Owner = Owner(),
        answers: AnswerValues = (),
    ) -> Answer:
        """Run a question to its end and return the answer; raise the RightseatError of a failed run, from the exception
        that a model of yours has raised.

        A text continues `thread`, or begins a new one; a list of messages is the whole history; a Turn is run as it
        is. `answers` are values for the interrupts of an earlier Answer, by their ids.
        """
        turn = await make_turn(question, thread, assistant, owner, answers, self.threads.store)
        return await collect_answer(turn, self.stream(turn), self.get_model(turn.assistant))

    async def stream(
        self,
        question: str | Iterable[Message] | Turn = "",
        *,
        thread: str | None = None,
        assistant: str | None = None,
        owner: Owner = Owner(),
        answers: AnswerValues = (),
    ) -> AsyncIterator[Event]:
        """Run a question and yield its events; arguments as for `ask`. Closing the iterator stops the run.

        A failed run raises nothing: its last event is RunFailed.
        """
        await self.start()
        turn = await make_turn(question, thread, assistant, owner, answers, self.threads.store)
        async with closing(self.run(turn)) as events:
            async for event in events:
                yield event

    def run(self, turn: Turn) -> AsyncIterator[Event]:
        """Run a turn as it is and yield its events. Doors call this."""
        return self._run(turn)

    @property
    def active_runs(self) -> int:
        return len(self.runs.active)

    @property
    def ready(self) -> bool:
        """Whether new runs are accepted: not while draining, with a damaged store or while a model
        is not ready."""
        models = (model for assistant in self.assistants.values() for model in assistant.all_models)
        store_usable = not isinstance(self.store, MonitoredStore) or self.store.usable
        return store_usable and not self.runs.draining and all(model.ready for model in models)

    @property
    def store_failure(self) -> str:
        """What is wrong with the store and what to do; empty if nothing is."""
        return self.store.failure if isinstance(self.store, MonitoredStore) else ""

    def get_engine_states(self) -> dict[str, EngineState]:
        """Return how the servers are that the store and the live plane need, by their purpose."""
        engines: dict[str, object] = {"store": self.store, "live": self.threads.plane}
        return {name: engine.get_state() for name, engine in engines.items() if isinstance(engine, RemoteEngine)}

    def count_outages(self) -> None:
        """Set the metrics of servers that are away, and of what waits for them."""
        states = self.get_engine_states()
        self.meters.store_away.value = int("store" in states and states["store"].state != "ok")
        self.meters.live_away.value = int("live" in states and states["live"].state != "ok")
        self.meters.store_waiting.value = states["store"].waiting if "store" in states else 0
        self.meters.store_dropped.value = states["store"].not_kept if "store" in states else 0

    def compare_configs(self) -> None:
        """Set the metric that tells whether replicas have different configurations."""
        store = self.threads.store
        self.meters.config_disagree.value = int(isinstance(store, ConfigRegistry) and store.other_configs > 0)

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
        """Return the responder that a client means by a model's name; raise NotFound for a name that means nothing.

        Aliases come first, then names of well-known models, which mean the default assistant. A server with nothing
        to choose takes any plain name.
        """
        if not name or name == DEFAULT_ASSISTANT or name in self.responders:
            return name or None
        target = find_alias(name, self.aliases) or name
        if target == DEFAULT_ASSISTANT or target in self.responders:
            return target
        if self.resolve_model(target):
            return target.partition("/")[0]
        why = self._explain_qualified_name(target)
        if target == name and why is None and self._means_default(name):
            return None
        alias = f"The alias {name[:64]!r} means {target[:64]!r}. " if target != name else ""
        why = why or describe_unknown_name(target, self._list_names_and_aliases(), list(self.responders))
        raise NotFound(f"{alias}{why}", param="model")

    def _explain_qualified_name(self, name: str) -> str | None:
        """Say why PLUGIN.FLOW or ASSISTANT/MODEL is unknown where its first part is known."""
        if self.plugins is not None and (why := self.plugins.explain_missing_flow(name)):
            return why
        assistant, slash, model = name.partition("/")
        if not slash or assistant not in self.responders:
            return None
        if models := self.list_models(assistant):
            return f"{assistant} may not use the model {model[:64]!r}. Choose one of: {', '.join(models)}."
        return f"{assistant!r} lets nobody choose a model. Send {assistant!r}."

    def _means_default(self, name: str) -> bool:
        """Whether an unknown name means the default assistant: a well-known model's, or any where nothing is chosen."""
        models = {id(assistant.model) for assistant in self.assistants.values()}
        others = [other for other in self.list_names() if other != DEFAULT_ASSISTANT]
        is_single = len(models) <= 1 and self.agents.keys() <= self.assistants.keys() and not self.agent_sources
        if is_vendor_name(name):
            return is_single or find_near_name(name, self._list_names_and_aliases()) is None
        if not is_single or len(others) > 1 or is_qualified_name(name):
            return False
        return find_near_name(name, self.list_names()) is None

    def list_names(self) -> list[str]:
        """List all names that clients may send: responders, flows too that doors do not list, and ASSISTANT/MODEL."""
        flows = (name for name in self.flows if name != DIRECT_CALLS)
        selectable = (f"{name}/{model}" for name in self.responders for model in self.list_models(name))
        return list(dict.fromkeys((*self.responders, *flows, *selectable)))

    def _list_names_and_aliases(self) -> list[str]:
        return [*self.list_names(), *(alias for alias in self.aliases if "*" not in alias)]

    def resolve_model(self, name: str | None) -> str | None:
        assistant, _, model = (find_alias(name or "", self.aliases) or name or "").partition("/")
        return model if assistant and model in self.list_models(assistant) else None

    def fills_empty_question(self, turn: Turn) -> bool:
        if self.responders.resolve(turn.assistant) in self.flows:
            return True
        assistant = self.get_assistant(turn.assistant)
        toolset = assistant.toolset if assistant is not None else None
        return toolset is not None and toolset.with_default_question(turn) != turn

    def list_models(self, name: str | None) -> tuple[str, ...]:
        assistant = self.get_assistant(name)
        return tuple(assistant.models) if assistant is not None else ()

    def get_assistant(self, name: str | None) -> Assistant | None:
        """Return the assistant of a name; None where another Responder has it."""
        if name is None and DEFAULT_ASSISTANT not in self.responders:
            return next(iter(self.assistants.values()), None)
        return self.assistants.get(self.responders.resolve(name))

    def describe(self, name: str) -> AssistantInfo | None:
        name = self.responders.resolve(name)
        if name in self.assistants:
            return self.assistants[name]
        agent = self.responders.find_agent(name)
        return RemoteAgentInfo(agent) if agent is not None else None

    async def recall(self, name: str, owner: Owner, thread: str) -> AgentThreadState | None:
        agent = self.responders.find_agent(name)
        return await agent.get_thread_state(owner, thread) if agent is not None else None

    async def report_feedback(self, feedback: Feedback) -> None:
        await self.hooks.report_feedback(feedback)

    def is_plain_model(self, name: str | None) -> bool:
        assistant = self.get_assistant(name)
        if assistant is None or assistant.toolset is not None or assistant.name in self.flows:
            return False
        return not assistant.system and not assistant.tools

    def get_fingerprint(self, name: str | None) -> str:
        assistant = self.get_assistant(name)
        return self._fingerprints[assistant.name if assistant else ""]

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        """Fingerprints by assistant: a hash of the version, the model, the instructions and the tools. The empty name
        is that of agents, of which only the version is known."""
        release = version("rightseat")
        fingerprints = {name: fingerprint_assistant(assistant, release) for name, assistant in self.assistants.items()}
        return fingerprints | {"": hash_values(release)}

    def supports_completion(self, name: str | None) -> bool:
        model = find_protocol(self.get_model(name), CompletesText)
        return model is not None and model.completes

    def _require_tokenizer(self, name: str | None) -> Tokenizes:
        """Return the assistant's model if it is a tokenizer; raise NotConfigured if not."""
        if (model := find_protocol(self.get_model(name), Tokenizes)) is None:
            raise NotConfigured(NO_TOKENIZER)
        return model

    def get_model(self, name: str | None) -> Model | None:
        assistant = self.get_assistant(name)
        return assistant.model if assistant is not None else None

    async def tokenize(self, name: str | None, text: str, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        return await self._require_tokenizer(name).tokenize(text, add=add, special=special, pieces=pieces)

    async def detokenize(self, name: str | None, tokens: list[int]) -> str:
        return await self._require_tokenizer(name).detokenize(tokens)

    def _require_engine(self, name: str | None) -> HasEngine:
        if (model := find_protocol(self.get_model(name), HasEngine)) is None:
            raise NotConfigured(NO_ENGINE)
        return model

    async def render_prompt(self, name: str | None, prompt: Prompt) -> str:
        return await self._require_engine(name).render_prompt(prompt)

    async def get_engine_props(self, name: str | None) -> dict[str, Any]:
        return await self._require_engine(name).get_engine_props()

    async def list_engine_slots(self, name: str | None) -> list[dict[str, Any]]:
        return await self._require_engine(name).list_engine_slots()

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner) -> dict[str, Any]:
        """Create embeddings, admitted by and charged to the owner's quota like a run."""
        model = self.get_model(name)
        async with self._charge_quota(owner, model) as charge:
            if (embedder := find_protocol(model, Embeds)) is None:
                raise NotConfigured("This model has no embeddings. Name one that has.")
            response = await embedder.embed(body)
            usage = response.get("usage")
            charge(Usage(int(usage.get("prompt_tokens") or 0)) if isinstance(usage, dict) else Usage())
        return response

    async def rerank(
        self, name: str | None, query: str, documents: list[str], owner: Owner
    ) -> tuple[list[float], Usage]:
        """Return the relevance of each document, admitted by and charged to the owner's quota like a run."""
        model = self.get_model(name)
        async with self._charge_quota(owner, model) as charge:
            if (reranker := find_protocol(model, Reranks)) is None:
                raise NotConfigured(NO_RERANKER)
            scores, usage = await reranker.rerank(query, documents)
            charge(usage)
        return scores, usage

    async def transcribe(self, name: str | None, request: TranscriptionRequest, owner: Owner) -> Transcript:
        """Return speech as text, by the transcriber of this name, else by the first one; admitted like a run."""
        model = self.transcribers.get(name or "") or next(iter(self.transcribers.values()), None)
        transcriber = find_protocol(model, Transcribes)
        if transcriber is None:
            raise NotConfigured(NO_TRANSCRIBER)
        async with self._charge_quota(owner, model) as charge:
            transcript = await transcriber.transcribe(request)
            charge(Usage())
        return transcript

    @asynccontextmanager
    async def _charge_quota(self, owner: Owner, model: Model | None) -> AsyncIterator[Callable[[Usage], None]]:
        """Admit a request that is no run; yields the function that takes its usage. Nothing is charged on failure."""
        admission = await self.ledger.admit(owner, self.quotas.for_owner(owner))
        try:
            yield lambda usage: admission.charge(usage, model.info if model is not None else None)
        finally:
            await admission.close()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.drain(0)
        await self.close()

    async def start(self) -> None:
        """Start models, agent sources, plugins and MCP servers, once. A model that is not started here starts with
        its first prompt."""
        if self.is_started:
            return
        async with self._start_lock:
            if self.is_closed:
                raise Misused("This Runtime is closed. Make a new one.")
            if not self.is_started:
                await self._start_parts()
                self.is_started = True

    async def _start_parts(self) -> None:
        models = {id(model): model for assistant in self.assistants.values() for model in assistant.all_models}
        for model in models.values():
            try:
                await model.start()
            except UpstreamError as error:
                # A remote server may come up later: until then `ready` is false.
                log.warning("a model is not there yet: %s", error.message)
        # Concurrently: each may wait for a server that does not answer.
        await asyncio.gather(*(source.start() for source in self.agent_sources))
        if self.plugins is not None:
            await self.plugins.start()
        if self.servers is not None:
            await self.servers.start()
        # Last: runs of dead workers go on from here. After a reload, those of the Runtime that the server uses.
        self.threads.get_runner = self.threads.get_runner or self.get_runner
        await self.threads.open()

    def get_runner(self, turn: Turn) -> Responder | None:
        """Return what goes on with a turn after its worker has died: flows have progress, assistants checkpoints."""
        name = self.responders.resolve(turn.assistant)
        if name == DEFAULT_ASSISTANT and name not in self.responders:
            name = next(iter(self.responders), "")
        responder = self.responders.unlayered.get(name)
        is_engine = isinstance(responder, Engine) and turn.raw is None
        return self.run if is_engine or (name in self.flows and name != DIRECT_CALLS) else None

    def stop_accepting(self) -> None:
        """Be not ready, and take no run over. New runs are refused, unless other workers can serve: then those that
        still come here are the last ones."""
        self.runs.draining = self.threads.is_leaving = True
        self.runs.refuses_runs = not self.has_peers

    @property
    def has_peers(self) -> bool:
        """Whether other workers may share the store."""
        return self.threads.plane is not None

    async def drain(self, grace: float) -> None:
        """Refuse new runs, let active ones finish, and hand over or abort those that take longer than `grace`
        seconds."""
        await self.runs.drain(grace, self.threads.hand_over)

    async def close(self) -> None:
        """Close threads, MCP servers, models, tools, agent sources, hooks, plugins, and the store made here."""
        self.is_started, self.is_closed = False, True
        if self._closes_threads:
            await self.threads.close()
        if self.servers is not None:
            await self.servers.close()
        for assistant in self.assistants.values():
            for model in assistant.all_models:
                await model.close()
            for tool in assistant.tools:
                if tool.close is not None:
                    await tool.close()
        for source in self.agent_sources:
            await source.close()
        for closer in (*self._closers, *(model.close for model in self.transcribers.values())):
            await closer()
        if self._closes_store and isinstance(self.store, MemoryStore):
            await self.store.close()


def share_store(sources: Iterable[AgentSource], store: Store) -> None:
    """Give the sources that remember threads the store that workers share."""
    for source in sources:
        if isinstance(source, RememberingSource):
            source.store = get_shared_store(store)
