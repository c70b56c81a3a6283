"""Registry of models, doors, agents, stores and live planes by name, imported on first use.

Other packages add names through entry points in the group `rightseat.<family>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rightseat.config.imports import import_object
from rightseat.config.secret import Secret
from rightseat.errors import ConfigError
from rightseat.types.model import Model, adapt_model
from rightseat.types.text import closest_match

LOCAL = "local"
EMPTY = "empty"

BUILTIN: dict[str, dict[str, str]] = {
    "models": {
        "local": "rightseat.models.llamacpp.options:make_local_model",
        "llama-server": "rightseat.models.llamacpp.options:make_attached_model",
        "openai": "rightseat.models.openai:model",
        "ollama": "rightseat.models.openai.known_servers:ollama",
        "lmstudio": "rightseat.models.openai.known_servers:lmstudio",
        "vllm": "rightseat.models.openai.known_servers:vllm",
        "anthropic": "rightseat.models.anthropic:model",
        "google": "rightseat.models.google:model",
        "langchain": "rightseat.models.langchain:model",
        "scripted": "rightseat.models.scripted:model",
        "whisper": "rightseat.models.whisper:model",
        "empty": "rightseat.models.empty:model",
    },
    "doors": {
        "openai": "rightseat.doors.openai:door",
        "agui": "rightseat.doors.agui:door",
        "openbb": "rightseat.doors.openbb:door",
        "copilotkit": "rightseat.doors.copilotkit:door",
        "mcp": "rightseat.doors.mcp:door",
        "llamacpp": "rightseat.doors.llamacpp:door",
        "eulercopilot": "rightseat.doors.eulercopilot:door",
    },
    "agents": {
        "langgraph": "rightseat.agents.langgraph:langgraph",
        "copilotkit": "rightseat.agents.copilotkit:copilotkit",
        "agui": "rightseat.agents.agui:agui",
        "crewai": "rightseat.agents.crewai:crewai",
    },
    "stores": {
        "memory": "rightseat.stores.memory:MemoryStore",
        "sqlite": "rightseat.stores.sqlite:SQLiteStore",
        "postgres": "rightseat.stores.postgres.store:PostgresStore",
    },
    "planes": {
        "memory": "rightseat.live.memory:make_plane",
        "local": "rightseat.live.local:make_plane",
        "postgres": "rightseat.live.postgres:make_plane",
        "valkey": "rightseat.live.valkey:make_plane",
    },
}


def _external_entry_points(family: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"rightseat.{family}")}


def list_names(family: str) -> list[str]:
    """List the names of a family, built-ins first."""
    return list(BUILTIN[family] | _external_entry_points(family))


def load_all(family: str) -> list[Any]:
    return [find(family, name) for name in list_names(family)]


def find(family: str, name: str) -> Any:
    """Import the object called `name` in a family. Packages cannot override built-ins."""
    if target := BUILTIN[family].get(name):
        return import_object(target)
    external = _external_entry_points(family)
    if entry := external.get(name):
        return import_object(entry.value)
    raise ConfigError(f"There is no {family.removesuffix('s')} called {name!r}.{_hint(name, list_names(family))}")


def _hint(name: str, candidates: list[str]) -> str:
    near = closest_match(name, candidates)
    return (f" Did you mean {near!r}?" if near else "") + f" Known: {', '.join(candidates)}."


def split_spec(spec: str) -> tuple[str, str]:
    """Split a model's spec into KIND and NAME. `local` and `empty` need no name, a GGUF file no kind."""
    family, colon, name = spec.partition(":")
    if spec in (LOCAL, EMPTY):
        return spec, ""
    # A file path may contain a colon.
    if spec.lower().endswith(".gguf") and not (colon and family in list_names("models")):
        return LOCAL, spec
    return (family, name) if family and colon and name else ("", "")


def make_model(spec: str, options: Mapping[str, Any] | None = None) -> Model:
    """Make the model of a spec such as `local`, `openai:gpt-4o` or `scripted:FILE.json`."""
    family, name = split_spec(spec)
    if not family:
        usage = "Write KIND:NAME, such as openai:gpt-4o, a .gguf file, or local."
        near = closest_match(spec, _list_local_models()) if spec else None
        hint = f" Did you mean 'local:{near}'?" if near else _hint(spec, list_names("models"))
        raise ConfigError(f"{spec!r} is not a model. {usage}{hint}")
    return adapt_model(find("models", family)(name, reveal_secrets(dict(options or {}))))


def _list_local_models() -> list[str]:
    from rightseat.models.llamacpp import curated, pulled

    return [*(model.name for model in pulled.list_pulled()), *(model.name for model in curated.CURATED_MODELS)]


def reveal_secrets(value: Any) -> Any:
    """Replace Secrets in options by their values, recursively."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, dict):
        return {name: reveal_secrets(item) for name, item in value.items()}
    return value
