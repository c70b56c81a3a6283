"""Runtime from a Config: the default model, the assistants and everything attached to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from rightseat.config.digest import compute_config_digest
from rightseat.config.imports import BUILTIN_TOOLS, OPTIONAL_TOOLS, import_object
from rightseat.config.settings import AssistantSettings, Config, LimitSettings, OwnerLimits
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.middleware.quota import Quota, Quotas
from rightseat.middleware.tracing import Tracing
from rightseat.runtime.metrics import Metrics
from rightseat.runtime.runs import DEFAULT_ASSISTANT, RuntimeLimits
from rightseat.runtime.threads import ThreadRuns
from rightseat.tools.function import as_tool
from rightseat.types.agent_card import AgentCard
from rightseat.types.agents import AgentSource
from rightseat.types.live import ConfigRegistry
from rightseat.types.stores import Store
from rightseat.types.tools import Tool
from rightseat.wiring.default_model import ModelChoice, choose_model
from rightseat.wiring.demo import is_demo, with_demo_plugin
from rightseat.wiring.lookup import find, split_spec
from rightseat.wiring.middleware import make_guards, make_hooks
from rightseat.wiring.model_notes import describe_model
from rightseat.wiring.models import ModelRegistry, model_infos
from rightseat.wiring.remote import attach_mcp_servers, attach_remote_actions, is_remote_action, make_agent_sources
from rightseat.wiring.runtime import Runtime, RuntimeParts
from rightseat.wiring.storage import make_shared_ledger
from rightseat.wiring.systems import check_system

if TYPE_CHECKING:
    from rightseat.engine.shared_state import SharedState
    from rightseat.plugins.catalog import PluginCatalog

UNNAMED_ASSISTANT = "assistant"
"""Name of the assistant of a model that has none, where an agent or a flow is the default."""
# Assistants named in one suggestion.
MAX_SUGGESTED = 5


def build_runtime(
    config: Config,
    *,
    store: Store | None = None,
    threads: ThreadRuns | None = None,
    env: Mapping[str, str] | None = None,
    before: Runtime | None = None,
) -> Runtime:
    """Build the Runtime. On a reload `before` passes on its store, threads, metrics and quota ledger."""
    check_system(config)
    # Modules named in the file are found beside it, wherever the server was started.
    folder = str(config.folder.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    digest = compute_config_digest(config)
    choice = choose_model(config, env)
    store = store or (before.store if before else find("stores", "memory")())
    shared_ledger = make_shared_ledger(store, config.limits.without_store)
    models = ModelRegistry(config, choice, shared_ledger)
    demo = is_demo(config, choice)
    config = with_demo_plugin(config) if demo else config
    make = _assistants_from_tables if config.assistants else _assistants_from_models
    assistants = make(config, choice, models)
    if demo:
        notes = describe_model(models.model_info(choice.model))
        assistants[DEFAULT_ASSISTANT] = _make_demo_assistant(assistants[DEFAULT_ASSISTANT], notes.join_lines())
    assistants, plugins = _attach_plugins(assistants, config, models, before, demo=demo)
    assistants = suggest_vision_assistants(assistants)
    threads = threads or (before.threads if before else None)
    assistants, servers = attach_mcp_servers(assistants, config, before.servers if before else None, threads)
    if threads is not None:
        threads.config_digest = digest
        if isinstance(threads.store, ConfigRegistry):
            threads.store.set_config(digest)
    agent_sources = list(make_agent_sources(config))
    assistants = attach_remote_actions(assistants, agent_sources, config)
    return Runtime(
        assistants=assistants.values(),
        store=store,
        limits=RuntimeLimits(run_seconds=config.limits.run_seconds, runs=config.server.max_runs),
        quotas=make_quotas(config.limits),
        agent_sources=agent_sources,
        hooks=make_hooks(config),
        guards=make_guards(config, models.make_member),
        environment="production" if config.production else "development",
        parts=RuntimeParts(
            meters=before.meters if before else Metrics(),
            ledger=before.ledger if before else shared_ledger,
            threads=threads,
            recorded=config.store.record,
            tracing=Tracing(content=config.server.trace_content),
            aliases=make_aliases(config, choice),
            model_infos=model_infos(assistants, models),
            plugins=plugins,
            servers=servers,
            transcribers=models.get_transcribers(),
            find_default=make_default_finder(config, agent_sources),
        ),
    )


def make_default_finder(config: Config, sources: Sequence[AgentSource]) -> Callable[[], str] | None:
    """Return what finds the name of the agent or flow that is the default; None where an assistant is."""
    name = config.default_elsewhere
    if not name:
        return None
    source = dict(zip(config.agents, sources, strict=True)).get(name)
    # A table may stand for a server with several agents, whose names are known later.
    return lambda: name if source is None or name in source.agents else next(iter(source.agents), name)


def _attach_plugins(
    assistants: dict[str, Assistant], config: Config, models: ModelRegistry, before: Runtime | None, *, demo: bool
) -> tuple[dict[str, Assistant], PluginCatalog | None]:
    if not config.plugins:
        return assistants, None
    from rightseat.wiring.plugins import attach_plugins, load_catalog, make_embedder

    plugins = load_catalog(config, before.plugins if before else None, make_embedder(config, models.get))
    attached = attach_plugins(assistants, plugins, config, models.is_local)
    if demo:
        from rightseat.wiring.demo.sales import make_sales_tools

        # A small model chooses better among few tools: of the plugin it gets the flow alone.
        default = assistants[DEFAULT_ASSISTANT]
        attached[DEFAULT_ASSISTANT] = replace(default, tools=(*default.tools, *make_sales_tools(plugins)))
    return attached, plugins


def _make_demo_assistant(assistant: Assistant, description: str) -> Assistant:
    """Return the default assistant with the demo tools and the built-in ones."""
    from rightseat.wiring.demo.tools import TOOLS

    # A client with tools of its own chooses what there is.
    builtin = (
        replace(tool, is_offered=lambda turn: not turn.tools) for name in BUILTIN_TOOLS for tool in _load_tools(name)
    )
    if assistant.model.weights is not None:
        from rightseat.models.llamacpp.embedded.model import EmbeddedModel
        from rightseat.wiring.demo.shortcuts import SHORTCUTS

        if isinstance(assistant.model, EmbeddedModel):
            assistant.model.add_shortcuts(SHORTCUTS)
    return replace(assistant, tools=(*TOOLS, *builtin), description=description)


def make_quotas(limits: LimitSettings) -> Quotas:
    """Make the owners' quotas; an owner's table overrides only the keys it sets."""
    default = Quota(**{key: getattr(limits, key) for key in Quota.__struct_fields__})

    def owner_quota(owner: OwnerLimits) -> Quota:
        own_limits = {key: getattr(owner, key) for key in Quota.__struct_fields__}
        return structs.replace(default, **{key: limit for key, limit in own_limits.items() if limit is not None})

    return Quotas(default, {name: owner_quota(owner) for name, owner in limits.owners.items()})


def _assistants_from_models(config: Config, choice: ModelChoice, models: ModelRegistry) -> dict[str, Assistant]:
    """Make an assistant of every model, the chosen one as default, if there is no [assistants]."""
    others = {name: _plain_assistant(name, name, models) for name in config.chat_models if name != DEFAULT_ASSISTANT}
    if not config.default_elsewhere:
        return {DEFAULT_ASSISTANT: _plain_assistant(DEFAULT_ASSISTANT, choice.model, models)} | others
    if others or not choice.model:
        return others
    # Tools and flows need a model, and it a name.
    return {UNNAMED_ASSISTANT: _plain_assistant(UNNAMED_ASSISTANT, choice.model, models)}


def suggest_vision_assistants(assistants: Mapping[str, Assistant]) -> dict[str, Assistant]:
    """Tell assistants without image support which assistants support images."""
    names = tuple(name for name, assistant in assistants.items() if assistant.supports_images)[:MAX_SUGGESTED]
    return {
        name: assistant if assistant.supports_images else replace(assistant, vision_models=names)
        for name, assistant in assistants.items()
    }


def _plain_assistant(name: str, model: str, models: ModelRegistry) -> Assistant:
    return Assistant(name=name, model=models.get(model), context=models.settings(model).context)


def make_aliases(config: Config, choice: ModelChoice) -> dict[str, str]:
    """Map specs and vendor names of models to assistants; [server.aliases] go before them."""
    own = UNNAMED_ASSISTANT if config.default_elsewhere else DEFAULT_ASSISTANT
    specs = {choice.model: own} if choice.model and choice.model not in config.models else {}
    specs |= {settings.spec: name for name, settings in reversed(config.chat_models.items())}
    names = {split_spec(spec)[1]: name for spec, name in specs.items() if split_spec(spec)[1]}
    return {**names, **specs, **config.server.aliases}


def _assistants_from_tables(config: Config, choice: ModelChoice, models: ModelRegistry) -> dict[str, Assistant]:
    configured = {
        name: _make_assistant(name, settings, next(iter(_model_names(settings)), choice.model), models)
        for name, settings in config.assistants.items()
    }
    plain = {name: _plain_assistant(name, name, models) for name in config.chat_models if name not in configured}
    if config.default_elsewhere:
        return configured | plain
    if config.default in plain:
        default = replace(plain[config.default], name=DEFAULT_ASSISTANT)
    else:
        default = replace(configured[config.default_assistant], name=DEFAULT_ASSISTANT)
    if config.model:
        context = models.settings(config.model).context
        chosen = models.bind_models([config.model]) | dict(default.models) if default.models else {}
        default = replace(default, model=models.get(config.model), context=context, models=chosen)
    # Models are assistants too, unless an assistant has their name.
    return {DEFAULT_ASSISTANT: default} | configured | plain | {DEFAULT_ASSISTANT: default}


def _model_names(settings: AssistantSettings) -> list[str]:
    """Return the models of an assistant's table, each once, its default first."""
    return list(dict.fromkeys(([settings.model] if settings.model else []) + list(settings.models)))


def _make_assistant(name: str, settings: AssistantSettings, model: str, models: ModelRegistry) -> Assistant:
    try:
        targets = (target for target in settings.tools if not is_remote_action(target, models.config))
        tools = tuple(tool for target in targets for tool in _load_tools(target))
    except ConfigError as error:
        raise ConfigError(f"[assistants.{name}] in {models.config.path}: tools: {error.message}") from error
    shared_state = _make_shared_state(name, settings, models.config)
    return Assistant(
        name=name,
        model=models.get(model),
        system=settings.system,
        tools=(*tools, *(shared_state.make_tools() if shared_state else ())),
        questions=settings.suggestions,
        shared_state=shared_state,
        title=settings.title,
        description=settings.description,
        image=settings.image,
        card=AgentCard(id=settings.id, features=settings.features, endpoints=settings.endpoints),
        agents=settings.agents,
        rounds=settings.rounds,
        tool_timeout=settings.tool_timeout,
        truncation=settings.truncation,
        summarise=settings.summarise,
        tells_date=settings.date,
        context=models.settings(model).context,
        models=models.bind_models(_model_names(settings)) if settings.models else {},
    )


def _make_shared_state(name: str, settings: AssistantSettings, config: Config) -> SharedState | None:
    if not settings.state_schema and not settings.predict_state:
        return None
    # Imported here: it loads pydantic.
    from rightseat.engine.shared_state import make_shared_state

    try:
        return make_shared_state(settings.state_schema, settings.predict_state)
    except ConfigError as error:
        raise ConfigError(f"[assistants.{name}] in {config.path}: {error.message}") from error


def _load_tools(target: str) -> Iterator[Tool]:
    """Yield the tools at `module:attribute` (a tool, a function, a list of them), or the built-in one of this name."""
    loaded: Any = import_object(BUILTIN_TOOLS.get(target) or OPTIONAL_TOOLS.get(target, target))
    if target in OPTIONAL_TOOLS:
        loaded = loaded(target)
    for thing in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
        if not isinstance(thing, Tool) and not callable(thing):
            raise ConfigError(f"{target} is a {type(thing).__name__}, not a function or a tool.")
        yield as_tool(thing)
