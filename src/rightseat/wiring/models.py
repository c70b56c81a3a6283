"""Models from [models], with options, rate limits and fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from rightseat.config.settings import Config, ModelSettings
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.middleware.fallback import Fallback, Member
from rightseat.middleware.model_info import Source
from rightseat.middleware.rate_limit import Load, Share, Shared
from rightseat.types.capabilities import Seat
from rightseat.types.model import Model
from rightseat.wiring.choice import Choice
from rightseat.wiring.names import EMPTY, LOCAL, parts
from rightseat.wiring.names import model as named

# Model kinds that run on llama.cpp, and their options that are files.
OURS = (LOCAL, "llama-server")
FILES = ("chat_template", "embedding", "llama_server", "lora", "precache")


# By configuration file and name: a reload builds new models while the old ones still run.
LOADS: WeakValueDictionary[tuple[str, str], Load] = WeakValueDictionary()


class Models:
    """Models by name, each made once: assistants share a model and its connections."""

    def __init__(self, config: Config, choice: Choice) -> None:
        self.config = config
        self.choice = choice
        self.made: dict[str, Model] = {}
        """Models with their fallbacks, by name."""
        self._single: dict[str, Model] = {}

    def settings(self, name: str) -> ModelSettings:
        return self.config.models.get(name) or ModelSettings(spec=name)

    def local(self, model: Model) -> bool:
        """Tell whether the model runs on this machine, with a small context."""
        names = (name for name, made in self.made.items() if made is model)
        return any(parts(self.settings(name).spec)[0] == LOCAL for name in names)

    def get(self, name: str) -> Model:
        if name not in self.made:
            others = [other for other in self.settings(name).fallbacks if other != name]
            if any(parts(self.settings(other).spec)[0] == EMPTY for other in others):
                raise ConfigError(
                    f"[models.{name}] in {self.config.path}: fallbacks: `empty` answers nobody. Leave it out."
                )
            members = [Member(one, self.single(one), self.source(one)) for one in (name, *others)]
            self.made[name] = Fallback(members) if others else members[0].model
        return self.made[name]

    def member(self, name: str) -> Member:
        """Return the model as a fallback member, with its name and price."""
        return Member(name, self.get(name), self.source(name))

    def single(self, name: str) -> Model:
        """Return the model without its fallbacks."""
        if name not in self._single:
            settings = self.settings(name)
            where = f"[models.{name}] in {self.config.path}: " if name in self.config.models else ""
            flags = self.config.flags if name == self.choice.model else {}
            try:
                model = configured(settings, self.config, flags)
            except ConfigError as error:
                raise ConfigError(f"{where}{error.message}") from error
            share = Share(**{key: getattr(settings, key) for key in Share.__struct_fields__})
            if share != Share():
                model = Shared(model, self.source(name), share)
                model.load = LOADS.setdefault((str(self.config.path), name), model.load)
            self._single[name] = model
        return self._single[name]

    def seats(self, names: Iterable[str]) -> dict[str, Seat]:
        return {name: Seat.of(self.get(name), self.settings(name).context) for name in names}

    def source(self, name: str) -> Source:
        """Return the model's provider, name and price; ConfigError if a spend limit needs a missing price."""
        settings = self.settings(name)
        provider, model = parts(settings.spec)
        limits = self.config.limits
        limited = limits.spend_per_day or any(owner.spend_per_day for owner in limits.owners.values())
        known = settings.input_cost is not None and settings.output_cost is not None
        if limited and not known and provider != EMPTY:
            raise ConfigError(
                f"[limits] spend_per_day in {self.config.path}: nobody knows what the model {name} costs. "
                "Write input_cost and output_cost, per million tokens, into its table in [models]; 0 is free."
            )
        # Names of scripts and weights are local paths: keep only the stem.
        model = Path(model).stem if provider in ("scripted", LOCAL) else model
        return Source(provider, model or provider, settings.input_cost, settings.output_cost)


def sources(assistants: Mapping[str, Assistant], models: Models) -> dict[str, Source]:
    """Return the ModelInfo of each assistant's model, and of selectable models as ASSISTANT/MODEL."""
    names = {id(model): name for name, model in models.made.items()}
    found = {}
    for assistant in assistants.values():
        found[assistant.name] = models.source(names[id(assistant.model)])
        found |= {f"{assistant.name}/{name}": models.source(name) for name in assistant.models}
    return found


def configured(settings: ModelSettings, config: Config, flags: Mapping[str, Any] = {}) -> Model:
    """Make the model of a table. `flags` are command-line options for a local model."""
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
    """Resolve a file name, or a list of them, relative to the configuration file if it exists there."""
    if isinstance(name, list):
        return [_beside(one, config) for one in name]
    place = config.folder / name if isinstance(name, str) and name else None
    return str(place) if place is not None and place.is_file() else name
