"""A Config becomes a Runtime: which model answers, and which assistants there are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from rightseat.config.settings import AssistantSettings, Config, LimitSettings, ModelSettings, OwnerLimits
from rightseat.continuation import Store
from rightseat.detached import Detached
from rightseat.engine import Assistant
from rightseat.errors import ConfigError
from rightseat.function import as_tool, tool
from rightseat.layers.quota import Quota, Quotas
from rightseat.layers.source import Source
from rightseat.layers.tracing import Tracing
from rightseat.library import Runtime
from rightseat.prompt import Model
from rightseat.registry.names import LOCAL, find, load, parts
from rightseat.registry.names import model as named
from rightseat.runtime import Limits
from rightseat.tools import Tool

DEFAULT = "default"
OPENAI_MODEL = "gpt-4o-mini"
DEMO = "scripted:demo"
# What runs on llama.cpp, ours or attached, and those of its options that are files.
OURS = (LOCAL, "llama-server")
FILES = ("chat_template", "embedding", "llama_server", "lora", "precache")


class Choice(Struct, frozen=True):
    """The default assistant's model, and why it is this one."""

    model: str
    """A name of [models], or a spec."""
    why: str
    demo: bool = False


def choose(config: Config, env: Mapping[str, str] | None = None) -> Choice:
    env = os.environ if env is None else env
    if config.model:
        return Choice(config.model, f"named by {config.model_from}")
    if DEFAULT in config.models:
        return Choice(DEFAULT, f"[models.{DEFAULT}] in {config.path}")
    if config.models:
        return Choice(next(iter(config.models)), f"the first of [models] in {config.path}")
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        if env.get(variable):
            return Choice(f"openai:{env.get('OPENAI_MODEL') or OPENAI_MODEL}", f"{variable} is set")
    if config.without_local:
        why = f"a short script, not a model. {config.without_local}"
        return Choice(DEMO, why, demo=True)
    why = "small and on this machine. Others: --model FILE.gguf, OPENAI_API_KEY, --model openai:NAME"
    return Choice(LOCAL, why, demo=True)


def runtime(
    config: Config,
    *,
    store: Store | None = None,
    threads: Detached | None = None,
    env: Mapping[str, str] | None = None,
    before: Runtime | None = None,
) -> Runtime:
    """`before` is the one before a reload: questions asked by then can still be answered, and what was
    counted and used stays so."""
    # What the file names stands beside it, wherever the server was started.
    folder = str(config.folder.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    choice = choose(config, env)
    models = _Models(config, choice)
    make = _configured if config.assistants else _implied
    assistants = make(config, choice, models)
    plugins = None
    if config.plugins:
        from rightseat.registry.equip import embedding, equipped, shelf

        plugins = shelf(config, before.plugins if before else None, embedding(config, models.get))
        assistants = equipped(assistants, plugins, config, models.local)
    limits = Limits(run_seconds=config.limits.run_seconds, runs=config.server.max_runs)
    return Runtime(
        assistants=assistants.values(),
        store=store or (before.store if before else find("stores", "memory")()),
        threads=threads or (before.threads if before else None),
        recorded=config.store.record,
        limits=limits,
        quotas=quotas(config.limits),
        sources=sources(config, assistants, models),
        meters=before.meters if before else None,
        ledger=before.ledger if before else None,
        tracing=Tracing(content=config.server.trace_content),
        aliases=aliases(config, choice),
        plugins=plugins,
    )


def quotas(limits: LimitSettings) -> Quotas:
    """What each owner may use. An owner's own table changes only what it names."""
    keys = Quota.__struct_fields__
    default = {key: getattr(limits, key) for key in keys}

    def own(owner: OwnerLimits) -> Quota:
        given = {key: getattr(owner, key) for key in keys}
        return Quota(**{key: default[key] if given[key] is None else given[key] for key in keys})

    return Quotas(Quota(**default), {name: own(owner) for name, owner in limits.owners.items()})


def sources(config: Config, assistants: Mapping[str, Assistant], models: _Models) -> dict[str, Source]:
    """Of each assistant's model its provider, name and price."""
    names = {id(model): name for name, model in models.made.items()}
    limits = config.limits
    limited = limits.spend_per_day or any(owner.spend_per_day for owner in limits.owners.values())
    found = {}
    for assistant in assistants.values():
        name = names[id(assistant.model)]
        settings = models.settings(name)
        provider, model = parts(settings.spec)
        if limited and (settings.input_cost is None or settings.output_cost is None):
            raise ConfigError(
                f"[limits] spend_per_day in {config.path}: nobody knows what the model {name} costs. "
                "Write input_cost and output_cost, per million tokens, into its table in [models]; 0 is free."
            )
        # A script's name is a path of this machine, and so is that of weights.
        model = Path(model).stem if provider in ("scripted", LOCAL) else model
        found[assistant.name] = Source(provider, model or provider, settings.input_cost, settings.output_cost)
    return found


class _Models:
    """Each model once, however many assistants use it: a model holds its connections."""

    def __init__(self, config: Config, choice: Choice) -> None:
        self.config = config
        self.choice = choice
        self.made: dict[str, Model] = {}

    def settings(self, name: str) -> ModelSettings:
        return self.config.models.get(name) or ModelSettings(spec=name)

    def local(self, model: Model) -> bool:
        """Whether it runs on this machine: then little can be shown to it."""
        names = (name for name, made in self.made.items() if made is model)
        return any(parts(self.settings(name).spec)[0] == LOCAL for name in names)

    def get(self, name: str) -> Model:
        if name not in self.made:
            where = f"[models.{name}] in {self.config.path}: " if name in self.config.models else ""
            flags = self.config.flags if name == self.choice.model else {}
            try:
                self.made[name] = configured(self.settings(name), self.config, flags)
            except ConfigError as error:
                raise ConfigError(f"{where}{error.message}") from error
        return self.made[name]


def configured(settings: ModelSettings, config: Config, flags: Mapping[str, Any] = {}) -> Model:
    """The model of a table. `flags` are options of a local model that the command line gives."""
    kind, name = parts(settings.spec)
    if flags and kind not in OURS:
        flag = next(iter(flags)).replace("_", "-")
        raise ConfigError(
            f"--{flag} is for a local model, and {settings.spec} is none. "
            "Leave it out, or name one: --model local, --model FILE.gguf or --model llama-server:URL."
        )
    options = {
        key: _beside(value, config) if key in FILES else value for key, value in settings.options.items()
    }
    if kind == LOCAL and settings.context is not None:
        options["context"] = settings.context
    if kind not in (LOCAL, "scripted"):
        return named(settings.spec, options | dict(flags))
    spec = f"{kind}:{_beside(name, config)}" if name else kind
    return named(spec, options | dict(flags))


def _beside(name: Any, config: Config) -> Any:
    """A file, or several, that lies beside the file that names it."""
    if isinstance(name, list):
        return [_beside(one, config) for one in name]
    place = config.folder / name if isinstance(name, str) and name else None
    return str(place) if place is not None and place.is_file() else name


def _implied(config: Config, choice: Choice, models: _Models) -> dict[str, Assistant]:
    """No [assistants]: every model is an assistant of its own, the chosen one is the default."""
    default = _bare(DEFAULT, choice.model, models)
    if choice.demo or choice.model == DEMO:
        default = replace(default, tools=(tool(name="demo_clock")(load("rightseat.demo:clock")),))
    others = {name: _bare(name, name, models) for name in config.models if name != DEFAULT}
    return {DEFAULT: default} | others


def _bare(name: str, model: str, models: _Models) -> Assistant:
    """A model and nothing else."""
    return Assistant(name=name, model=models.get(model), context=models.settings(model).context)


def aliases(config: Config, choice: Choice) -> dict[str, str]:
    """A model may also be called by its spec, or by its name at the vendor."""
    specs = {choice.model: DEFAULT} if choice.model not in config.models else {}
    specs |= {settings.spec: name for name, settings in reversed(config.models.items())}
    names = {parts(spec)[1]: name for spec, name in specs.items() if parts(spec)[1]}
    return {**names, **specs}


def _configured(config: Config, choice: Choice, models: _Models) -> dict[str, Assistant]:
    made = {
        name: _assistant(name, settings, settings.model or choice.model, models)
        for name, settings in config.assistants.items()
    }
    default = made.get(DEFAULT) or replace(next(iter(made.values())), name=DEFAULT)
    if config.model:
        context = models.settings(config.model).context
        default = replace(default, model=models.get(config.model), context=context)
    # The models themselves can be asked too, where no assistant has taken the name.
    taken = {DEFAULT, *made}
    bare = {name: _bare(name, name, models) for name in config.models if name not in taken}
    return {DEFAULT: default} | made | {DEFAULT: default} | bare


def _assistant(name: str, settings: AssistantSettings, model: str, models: _Models) -> Assistant:
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
        rounds=settings.rounds,
        tool_timeout=settings.tool_timeout,
        context=models.settings(model).context,
    )


def _tools(target: str) -> Iterator[Tool]:
    """What `module:attribute` holds: a tool, a function, or a list of them."""
    found: Any = load(target)
    for thing in found if isinstance(found, (list, tuple)) else (found,):
        if not isinstance(thing, Tool) and not callable(thing):
            raise ConfigError(f"{target} is a {type(thing).__name__}, not a function or a tool.")
        yield as_tool(thing)
