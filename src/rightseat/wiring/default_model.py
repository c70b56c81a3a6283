"""The default model, chosen from the command line, the configuration file and the environment.

The embedded model: whether it is needed, whether it can run here, and its replacement.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from rightseat.config.installation import format_install_command
from rightseat.config.settings import Config
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.wiring.lookup import LOCAL

DEMO_MODEL = "scripted:demo"
OPENAI_MODEL = "gpt-4o-mini"
ENGINE_PACKAGE = "xllamacpp"


class ModelChoice(Struct, frozen=True):
    """Model of the default assistant, and the reason for the choice."""

    model: str
    """Name in [models], or a spec."""
    why: str
    demo: bool = False


class VendorPreset(Struct, frozen=True):
    """Vendor chosen by its environment variables."""

    variables: tuple[str, ...]
    kind: str
    model: str
    model_variable: str


# OpenAI first: compatible servers use its variables too.
VENDORS = (
    VendorPreset(("OPENAI_API_KEY", "OPENAI_BASE_URL"), "openai", OPENAI_MODEL, "OPENAI_MODEL"),
    VendorPreset(("AZURE_OPENAI_ENDPOINT",), "openai", OPENAI_MODEL, "AZURE_OPENAI_DEPLOYMENT"),
    VendorPreset(("ANTHROPIC_API_KEY",), "anthropic", "claude-sonnet-5-5", "ANTHROPIC_MODEL"),
    VendorPreset(("GEMINI_API_KEY", "GOOGLE_API_KEY"), "google", "gemini-3.8-flash", "GEMINI_MODEL"),
)


def choose_model(config: Config, env: Mapping[str, str] | None = None) -> ModelChoice:
    env = os.environ if env is None else env
    if config.model:
        return ModelChoice(config.model, f"named by {config.model_from}", demo=config.keeps_demo)
    if config.has_agents_only:
        return ModelChoice("", f"no model: the agents of {config.path} answer")
    chat_models = config.chat_models
    if config.default in chat_models:
        return ModelChoice(config.default, f"default in {config.path}")
    if DEFAULT_ASSISTANT in chat_models:
        return ModelChoice(DEFAULT_ASSISTANT, f"[models.{DEFAULT_ASSISTANT}] in {config.path}")
    if chat_models:
        return ModelChoice(next(iter(chat_models)), f"the first of [models] in {config.path}")
    for vendor in VENDORS:
        variable = next((name for name in vendor.variables if env.get(name)), None)
        if variable is not None:
            name = env.get(vendor.model_variable) or vendor.model
            return ModelChoice(f"{vendor.kind}:{name}", f"{variable} is set")
    if (choice := find_used_model()) and not find_engine_problem():
        return choice
    if config.without_local:
        return ModelChoice(DEMO_MODEL, f"a short script, not a model. {config.without_local}", demo=True)
    why = "small and on this machine. Others: --model FILE.gguf, OPENAI_API_KEY, --model openai:NAME"
    return ModelChoice(LOCAL, why, demo=True)


def find_model_table(config: Config) -> str:
    """Return the name of the [models] table that decides about the default assistant's model, whether it exists or not;
    empty where the assistant's own table names a spec."""
    assistant = config.find_assistant(DEFAULT_ASSISTANT)
    own = next(filter(None, (assistant.model, *assistant.models)), "") if assistant else ""
    if own:
        return own if own in config.models else ""
    return config.default if config.default in config.chat_models else DEFAULT_ASSISTANT


def find_used_model() -> ModelChoice | None:
    """Return the pulled model that `rightseat models use` chose, if it is here."""
    from rightseat.models.llamacpp import pulled

    name = pulled.read_default()
    if not name or pulled.find_pulled_path(name) is None:
        return None
    why = f"chosen by `rightseat models use {name}`. Back to the embedded one: rightseat models use {LOCAL}"
    return ModelChoice(f"{LOCAL}:{name}", why, demo=True)


def needs_embedded_model(config: Config, env: Mapping[str, str] | None = None) -> bool:
    """Tell whether any assistant uses the embedded model."""
    return requests_embedded_model(config) or choose_model(config, env).model == LOCAL


def requests_embedded_model(config: Config) -> bool:
    """Tell whether the embedded model is configured explicitly; then nothing may replace it."""
    assistants = config.assistants.values()
    answering = (name for assistant in assistants for name in (assistant.model, *assistant.models))
    specs = (name for model in config.models.values() for name in (model.spec, *model.fallbacks))
    named = LOCAL in (config.model, *answering, *specs)
    return named or (bool(config.flags) and find_used_model() is None)


def find_engine_problem() -> str:
    """Return why the engine cannot run here; empty if it can."""
    return (
        ""
        if importlib.util.find_spec(ENGINE_PACKAGE)
        else f"its engine is not installed: {format_install_command(ENGINE_PACKAGE)}"
    )


def find_weights_problem() -> str:
    from rightseat.models.llamacpp import weights

    return "" if weights.find_weights().path else "its weights are not here: rightseat models pull"


def with_demo_script(config: Config, reason: str) -> Config:
    """Return the configuration with the demo script in place of the embedded model."""
    text = f"The embedded model cannot answer, {reason}; or set OPENAI_API_KEY, or use --model."
    return replace(config, without_local=text)
