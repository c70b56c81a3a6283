"""The embedded model: whether it is wanted, whether it can be had here, and what answers without it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from msgspec.structs import replace

from rightseat.config.settings import Config
from rightseat.wiring.choice import choose
from rightseat.wiring.names import LOCAL

ENGINE = "xllamacpp"


def wanted(config: Config, env: Mapping[str, str] | None = None) -> bool:
    """Whether anything is answered by it."""
    return named(config) or choose(config, env).model == LOCAL


def named(config: Config) -> bool:
    """Whether somebody asked for it by name: then nothing else may answer in its place."""
    assistants = config.assistants.values()
    answering = (name for assistant in assistants for name in (assistant.model, *assistant.models))
    specs = (name for one in config.models.values() for name in (one.spec, *one.fallbacks))
    return LOCAL in (config.model, *answering, *specs) or bool(config.flags)


def without_engine() -> str:
    """Why it cannot run here; empty where it can."""
    if importlib.util.find_spec(ENGINE) is None:
        return f"its engine is not installed: pip install {ENGINE}"
    return ""


def without_weights() -> str:
    from rightseat.models.llamacpp import weights

    return "" if weights.find().path else "its weights are not here: rightseat models pull"


def replaced(config: Config, why: str) -> Config:
    """The configuration with a script where the embedded model would be."""
    return replace(
        config,
        without_local=f"The embedded model cannot answer, {why}; or set OPENAI_API_KEY, or use --model.",
    )
