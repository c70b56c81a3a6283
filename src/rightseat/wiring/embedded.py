"""Embedded model: whether it is needed, whether it can run here, and its replacement."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from msgspec.structs import replace

from rightseat.config.settings import Config
from rightseat.wiring.choice import choose_model
from rightseat.wiring.names import LOCAL

ENGINE_PACKAGE = "xllamacpp"


def is_needed(config: Config, env: Mapping[str, str] | None = None) -> bool:
    """Tell whether any assistant uses the embedded model."""
    return is_requested(config) or choose_model(config, env).model == LOCAL


def is_requested(config: Config) -> bool:
    """Tell whether the embedded model is configured explicitly; then nothing may replace it."""
    assistants = config.assistants.values()
    answering = (name for assistant in assistants for name in (assistant.model, *assistant.models))
    specs = (name for one in config.models.values() for name in (one.spec, *one.fallbacks))
    return LOCAL in (config.model, *answering, *specs) or bool(config.flags)


def engine_problem() -> str:
    """Return why the engine cannot run here; empty if it can."""
    if importlib.util.find_spec(ENGINE_PACKAGE) is None:
        return f"its engine is not installed: pip install {ENGINE_PACKAGE}"
    return ""


def weights_problem() -> str:
    from rightseat.models.llamacpp import weights

    return "" if weights.find_weights().path else "its weights are not here: rightseat models pull"


def with_demo_script(config: Config, reason: str) -> Config:
    """Return the configuration with the demo script in place of the embedded model."""
    return replace(
        config,
        without_local=f"The embedded model cannot answer, {reason}; or set OPENAI_API_KEY, or use --model.",
    )
