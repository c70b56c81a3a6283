"""Choice of the default model from the command line, the configuration file and the environment."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping

from msgspec import Struct

from rightseat.config.settings import Config
from rightseat.wiring.names import LOCAL

DEFAULT = "default"
DEMO_MODEL = "scripted:demo"
OPENAI_MODEL = "gpt-4o-mini"


class ModelChoice(Struct, frozen=True):
    """Model of the default assistant, and the reason for the choice."""

    model: str
    """Name in [models], or a spec."""
    why: str
    demo: bool = False


class VendorPreset(Struct, frozen=True):
    """Vendor chosen by its environment variables. `package` must be importable; `extra` installs it."""

    variables: tuple[str, ...]
    kind: str
    model: str
    model_variable: str
    extra: str = ""
    package: str = ""


# OpenAI first: compatible servers use its variables too.
VENDORS = (
    VendorPreset(("OPENAI_API_KEY", "OPENAI_BASE_URL"), "openai", OPENAI_MODEL, "OPENAI_MODEL"),
    VendorPreset(("AZURE_OPENAI_ENDPOINT",), "openai", OPENAI_MODEL, "AZURE_OPENAI_DEPLOYMENT"),
    VendorPreset(
        ("ANTHROPIC_API_KEY",), "anthropic", "claude-sonnet-5-5", "ANTHROPIC_MODEL", "anthropic", "anthropic"
    ),
    VendorPreset(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "google",
        "gemini-3.8-flash",
        "GEMINI_MODEL",
        "google",
        "google.genai",
    ),
)


def choose_model(config: Config, env: Mapping[str, str] | None = None) -> ModelChoice:
    env = os.environ if env is None else env
    if config.model:
        return ModelChoice(config.model, f"named by {config.model_from}")
    if DEFAULT in config.models:
        return ModelChoice(DEFAULT, f"[models.{DEFAULT}] in {config.path}")
    if config.models:
        return ModelChoice(next(iter(config.models)), f"the first of [models] in {config.path}")
    hints = []
    for vendor in VENDORS:
        variable = next((name for name in vendor.variables if env.get(name)), None)
        if variable is None:
            continue
        if not vendor.package or is_installed(vendor.package):
            name = env.get(vendor.model_variable) or vendor.model
            return ModelChoice(f"{vendor.kind}:{name}", f"{variable} is set")
        hints.append(f" {variable} is set: pip install 'rightseat[{vendor.extra}]' to use it.")
    hint = "".join(hints)
    if config.without_local:
        why = f"a short script, not a model. {config.without_local}{hint}"
        return ModelChoice(DEMO_MODEL, why, demo=True)
    why = "small and on this machine. Others: --model FILE.gguf, OPENAI_API_KEY, --model openai:NAME"
    return ModelChoice(LOCAL, f"{why}.{hint}" if hint else why, demo=True)


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        # The parent package is not installed.
        return False
