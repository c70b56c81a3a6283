"""Runtime from a Config: the default model, the assistants and everything attached to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rightseat.config.settings import AssistantSettings, Config, LimitSettings, OwnerLimits
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.middleware.quota import Quota, Quotas
from rightseat.middleware.tracing import Tracing
from rightseat.runtime.runtime import Limits
from rightseat.runtime.threads import Detached
from rightseat.tools.function import as_tool
from rightseat.types.stores import Store
from rightseat.types.tools import Tool
from rightseat.wiring.agents import agent_sources, handing
from rightseat.wiring.choice import DEFAULT, DEMO, Choice, choose
from rightseat.wiring.demo import TOOLS
from rightseat.wiring.demo_config import demonstrates, demonstrating
from rightseat.wiring.guardrails import guards
from rightseat.wiring.hooks import hooks
from rightseat.wiring.library import Runtime
from rightseat.wiring.mcp import supplied
from rightseat.wiring.models import Models, sources
from rightseat.wiring.names import find, load, parts

if TYPE_CHECKING:
    from rightseat.plugins.shelf import Shelf

# Assistants named in one suggestion.
MOST_NAMED = 5


def runtime(
    config: Config,
    *,
    store: Store | None = None,
    threads: Detached | None = None,
    env: Mapping[str, str] | None = None,
    before: Runtime | None = None,
) -> Runtime:
    """Build the Runtime. On a reload `before` passes on its store, threads, metrics and quota ledger."""
    # Modules named in the file are found beside it, wherever the server was started.
    folder = str(config.folder.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    choice = choose(config, env)
    models = Models(config, choice)
    demo = demonstrates(config, choice)
    config = demonstrating(config) if demo else config
    make = _configured if config.assistants else _implied
    assistants = make(config, choice, models)
    assistants, plugins = _with_plugins(assistants, config, models, before, demo=demo)
    assistants = seeing(assistants)
    assistants, servers = supplied(assistants, config, before.servers if before else None)
    places = list(agent_sources(config))
    assistants = handing(assistants, places, config)
    limits = Limits(run_seconds=config.limits.run_seconds, runs=config.server.max_runs)
    return Runtime(
        assistants=assistants.values(),
        store=store or (before.store if before else find("stores", "memory")()),
        threads=threads or (before.threads if before else None),
        recorded=config.store.record,
        limits=limits,
        quotas=quotas(config.limits),
        sources=sources(assistants, models),
        meters=before.meters if before else None,
        ledger=before.ledger if before else None,
        tracing=Tracing(content=config.server.trace_content),
        aliases=aliases(config, choice),
        remote=places,
        plugins=plugins,
        servers=servers,
        hooks=hooks(config),
        guards=guards(config, models.member),
        environment="production" if config.production else "development",
    )


def _with_plugins(
    assistants: dict[str, Assistant], config: Config, models: Models, before: Runtime | None, *, demo: bool
) -> tuple[dict[str, Assistant], Shelf | None]:
    if not config.plugins:
        return assistants, None
    from rightseat.wiring.equip import embedding, equipped, shelf

    plugins = shelf(config, before.plugins if before else None, embedding(config, models.get))
    found = equipped(assistants, plugins, config, models.local)
    if demo and DEFAULT in assistants:
        # A small model chooses better among few tools: the demo's flow is an assistant of its own.
        found[DEFAULT] = assistants[DEFAULT]
    return found, plugins


def quotas(limits: LimitSettings) -> Quotas:
    """Make the owners' quotas; an owner's table overrides only the keys it sets."""
    keys = Quota.__struct_fields__
    default = {key: getattr(limits, key) for key in keys}

    def own(owner: OwnerLimits) -> Quota:
        given = {key: getattr(owner, key) for key in keys}
        return Quota(**{key: default[key] if given[key] is None else given[key] for key in keys})

    return Quotas(Quota(**default), {name: own(owner) for name, owner in limits.owners.items()})


def _implied(config: Config, choice: Choice, models: Models) -> dict[str, Assistant]:
    """Make an assistant of every model, the chosen one as default, if there is no [assistants]."""
    default = _bare(DEFAULT, choice.model, models)
    if choice.demo or choice.model == DEMO:
        default = replace(default, tools=TOOLS)
    others = {name: _bare(name, name, models) for name in config.models if name != DEFAULT}
    return {DEFAULT: default} | others


def seeing(assistants: Mapping[str, Assistant]) -> dict[str, Assistant]:
    """Tell assistants without image support which assistants support images."""
    able = tuple(name for name, one in assistants.items() if one.sees)[:MOST_NAMED]
    return {name: one if one.sees else replace(one, seeing=able) for name, one in assistants.items()}


def _bare(name: str, model: str, models: Models) -> Assistant:
    """Make an assistant of a model alone."""
    return Assistant(name=name, model=models.get(model), context=models.settings(model).context)


def aliases(config: Config, choice: Choice) -> dict[str, str]:
    """Map specs and vendor names of models to assistants."""
    specs = {choice.model: DEFAULT} if choice.model not in config.models else {}
    specs |= {settings.spec: name for name, settings in reversed(config.models.items())}
    names = {parts(spec)[1]: name for spec, name in specs.items() if parts(spec)[1]}
    return {**names, **specs}


def _configured(config: Config, choice: Choice, models: Models) -> dict[str, Assistant]:
    made = {
        name: _assistant(name, settings, next(iter(_named(settings)), choice.model), models)
        for name, settings in config.assistants.items()
    }
    default = made.get(DEFAULT) or replace(next(iter(made.values())), name=DEFAULT)
    if config.model:
        context = models.settings(config.model).context
        chosen = models.seats([config.model]) | dict(default.models) if default.models else {}
        default = replace(default, model=models.get(config.model), context=context, models=chosen)
    # Models are assistants too, unless an assistant has their name.
    taken = {DEFAULT, *made}
    bare = {name: _bare(name, name, models) for name in config.models if name not in taken}
    return {DEFAULT: default} | made | {DEFAULT: default} | bare


def _named(settings: AssistantSettings) -> list[str]:
    """Return the models of an assistant's table, each once, its default first."""
    return list(dict.fromkeys(([settings.model] if settings.model else []) + list(settings.models)))


def _assistant(name: str, settings: AssistantSettings, model: str, models: Models) -> Assistant:
    try:
        tools = tuple(tool for target in settings.tools for tool in _tools(target))
    except ConfigError as error:
        raise ConfigError(f"[assistants.{name}] in {models.config.path}: tools: {error.message}") from error
    return Assistant(
        name=name,
        model=models.get(model),
        system=settings.system,
        tools=tools,
        title=settings.title,
        description=settings.description,
        image=settings.image,
        agents=settings.agents,
        rounds=settings.rounds,
        tool_timeout=settings.tool_timeout,
        context=models.settings(model).context,
        models=models.seats(_named(settings)) if settings.models else {},
    )


def _tools(target: str) -> Iterator[Tool]:
    """Yield the tools at `module:attribute`: a tool, a function, or a list of them."""
    found: Any = load(target)
    for thing in found if isinstance(found, (list, tuple)) else (found,):
        if not isinstance(thing, Tool) and not callable(thing):
            raise ConfigError(f"{target} is a {type(thing).__name__}, not a function or a tool.")
        yield as_tool(thing)
