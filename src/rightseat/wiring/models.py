"""Models from [models], with options, rate limits and fallbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from rightseat.config.settings import Config, ModelSettings
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.middleware.model_wrappers import FallbackMember, FallbackModel, ModelLimits, RateLimitedModel
from rightseat.middleware.quota import Ledger, UsageTracker
from rightseat.types.model import BoundModel, Model, ModelInfo, find_protocol
from rightseat.types.speech import Transcribes
from rightseat.wiring.default_model import ModelChoice
from rightseat.wiring.lookup import EMPTY, LOCAL, make_model, split_spec

# Model kinds that run on llama.cpp, and their options that are files.
LLAMACPP_KINDS = (LOCAL, "llama-server")
FILE_OPTIONS = ("chat_template", "embedding", "llama_server", "lora", "mmproj", "precache", "rerank")

# By configuration file and name: a reload builds new models while the old ones still run.
MODEL_LEDGERS: WeakValueDictionary[tuple[str, str], UsageTracker] = WeakValueDictionary()


class ModelRegistry:
    """Models by name, each made once: assistants share a model and its connections."""

    def __init__(self, config: Config, choice: ModelChoice, shared_ledger: Ledger | None = None) -> None:
        self.config = config
        self.shared_ledger = shared_ledger
        """Counts the requests of models with limits, where several workers share them."""
        self.choice = choice
        self.models: dict[str, Model] = {}
        """Models with their fallbacks, by name."""
        self._without_fallbacks: dict[str, Model] = {}

    def settings(self, name: str) -> ModelSettings:
        return self.config.models.get(name) or ModelSettings(spec=name)

    def is_local(self, model: Model) -> bool:
        """Tell whether the model runs on this machine, with a small context."""
        names = (name for name, known in self.models.items() if known is model)
        return any(split_spec(self.settings(name).spec)[0] == LOCAL for name in names)

    def get(self, name: str) -> Model:
        if name not in self.models:
            others = [other for other in self.settings(name).fallbacks if other != name]
            if any(split_spec(self.settings(other).spec)[0] == EMPTY for other in others):
                raise ConfigError(
                    f"[models.{name}] in {self.config.path}: fallbacks: `empty` cannot answer. Remove it."
                )
            members = [
                FallbackMember(member, self.get_without_fallbacks(member), self.model_info(member))
                for member in (name, *others)
            ]
            self.models[name] = FallbackModel(members) if others else members[0].model
        return self.models[name]

    def make_member(self, name: str) -> FallbackMember:
        """Return the model as a fallback member, with its name and price."""
        return FallbackMember(name, self.get(name), self.model_info(name))

    def get_without_fallbacks(self, name: str) -> Model:
        if name not in self._without_fallbacks:
            settings = self.settings(name)
            where = f"[models.{name}] in {self.config.path}: " if name in self.config.models else ""
            flags = self.config.flags if name == self.choice.model else {}
            try:
                model = make_configured_model(settings, self.config, flags)
            except ConfigError as error:
                raise ConfigError(f"{where}{error.message}") from error
            share = ModelLimits(**{key: getattr(settings, key) for key in ModelLimits.__struct_fields__})
            if share != ModelLimits():
                known = (str(self.config.path), name)
                ledger = self.shared_ledger or MODEL_LEDGERS.setdefault(known, UsageTracker())
                model = RateLimitedModel(model, self.model_info(name), share, ledger, name)
            self._without_fallbacks[name] = model
        return self._without_fallbacks[name]

    def bind_models(self, names: Iterable[str]) -> dict[str, BoundModel]:
        return {name: BoundModel.from_model(self.get(name), self.settings(name).context) for name in names}

    def get_transcribers(self) -> dict[str, Model]:
        """Return the models that write down speech; ConfigError for one that cannot."""
        transcribers = {
            name: self.get_without_fallbacks(name)
            for name, settings in self.config.models.items()
            if settings.is_transcriber
        }
        for name, model in transcribers.items():
            if find_protocol(model, Transcribes) is None:
                raise ConfigError(
                    f"[models.{name}] in {self.config.path}: transcribes: {self.settings(name).spec} cannot write down "
                    "speech. Name an OpenAI-compatible server (openai:NAME), a ggml file (whisper:FILE), or a GGUF "
                    "file with mmproj = PATH.gguf, an encoder of audio."
                )
        return transcribers

    def model_info(self, name: str) -> ModelInfo:
        """Return the model's provider, name and price; ConfigError if a spend limit needs a missing price."""
        settings = self.settings(name)
        provider, model = split_spec(settings.spec)
        limits = self.config.limits
        limited = limits.spend_per_day or any(owner.spend_per_day for owner in limits.owners.values())
        has_prices = settings.input_cost is not None and settings.output_cost is not None
        if limited and not has_prices and provider != EMPTY:
            raise ConfigError(
                f"[limits] spend_per_day in {self.config.path}: the model {name} has no costs. "
                "Write input_cost and output_cost, per million tokens, into its table in [models]; 0 is free."
            )
        if provider in ("scripted", LOCAL):
            # Scripts and weights are local paths, of which only the stem is kept. A pulled model's name may have a dot.
            file = Path(model)
            model = file.stem if file.suffix.lower() in (".gguf", ".json") else file.name
        return ModelInfo(provider, model or provider, settings.input_cost, settings.output_cost)


def model_infos(assistants: Mapping[str, Assistant], models: ModelRegistry) -> dict[str, ModelInfo]:
    """Return the ModelInfo of each assistant's model, and of selectable models as ASSISTANT/MODEL."""
    names = {id(model): name for name, model in models.models.items()}
    infos = {}
    for assistant in assistants.values():
        infos[assistant.name] = models.model_info(names[id(assistant.model)])
        infos |= {f"{assistant.name}/{name}": models.model_info(name) for name in assistant.models}
    return infos


def make_configured_model(settings: ModelSettings, config: Config, flags: Mapping[str, Any] = {}) -> Model:
    """Make the model of a table. `flags` are command-line options for a local model."""
    kind, name = split_spec(settings.spec)
    if flags and kind not in LLAMACPP_KINDS:
        flag = next(iter(flags)).replace("_", "-")
        raise ConfigError(
            f"--{flag} is only for local models, and {settings.spec} is not one. "
            "Leave it out, or name one: --model local, --model FILE.gguf or --model llama-server:URL."
        )
    options = {
        key: _resolve_beside(value, config) if key in FILE_OPTIONS else value for key, value in settings.options.items()
    }
    if isinstance(options.get("session_file"), str):
        # It need not exist yet.
        options["session_file"] = str(config.folder / Path(options["session_file"]).expanduser())
    if kind == LOCAL and settings.context is not None:
        options["context"] = settings.context
    is_file = name and kind in (LOCAL, "scripted", "whisper")
    spec = f"{kind}:{_resolve_beside(name, config)}" if is_file else settings.spec
    return make_model(spec, options | dict(flags))


def _resolve_beside(name: Any, config: Config) -> Any:
    """Resolve a file name, or a list of them, relative to the configuration file if it exists there."""
    if isinstance(name, list):
        return [_resolve_beside(item, config) for item in name]
    path = config.folder / name if isinstance(name, str) and name else None
    return str(path) if path is not None and path.is_file() else name
