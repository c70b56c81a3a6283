"""Names → objects, each imported when it is first asked for.

Built-ins and other packages go the same way: an entry point of `rightseat.<family>` is one more name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rightseat.config.loading import load as load
from rightseat.config.secret import Secret
from rightseat.errors import ConfigError
from rightseat.types.model import Model
from rightseat.types.nearest import nearest

LOCAL = "local"
EMPTY = "empty"

BUILTIN: dict[str, dict[str, str]] = {
    "models": {
        "local": "rightseat.models.llamacpp.options:local",
        "llama-server": "rightseat.models.llamacpp.options:attached",
        "openai": "rightseat.models.openai:model",
        "anthropic": "rightseat.models.anthropic:model",
        "google": "rightseat.models.google:model",
        "langchain": "rightseat.models.langchain:model",
        "scripted": "rightseat.models.scripted:model",
        "empty": "rightseat.models.empty:model",
    },
    "doors": {
        "openai": "rightseat.doors.openai:door",
        "agui": "rightseat.doors.agui:door",
        "openbb": "rightseat.doors.openbb:door",
        "copilotkit": "rightseat.doors.copilotkit:door",
        "mcp": "rightseat.doors.mcp:door",
    },
    "agents": {
        "langgraph": "rightseat.agents.langgraph:langgraph",
        "copilotkit": "rightseat.agents.copilotkit:copilotkit",
        "agui": "rightseat.agents.agui:agui",
        "crewai": "rightseat.agents.crewai:crewai",
    },
    "stores": {
        "memory": "rightseat.stores.memory:Memory",
        "sqlite": "rightseat.stores.sqlite:SQLite",
    },
}


def _foreign(family: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"rightseat.{family}")}


def known(family: str) -> list[str]:
    """Every name that `find` knows, built-ins first."""
    return list(BUILTIN[family] | _foreign(family))


def every(family: str) -> list[Any]:
    return [find(family, name) for name in known(family)]


def find(family: str, name: str) -> Any:
    """The object called `name` in a family. A built-in's name cannot be taken over by a package."""
    if target := BUILTIN[family].get(name):
        return load(target)
    foreign = _foreign(family)
    if entry := foreign.get(name):
        return load(entry.value)
    hint = _hint(name, [*BUILTIN[family], *foreign])
    raise ConfigError(f"There is no {family.removesuffix('s')} called {name!r}.{hint}")


def _hint(name: str, candidates: list[str]) -> str:
    near = nearest(name, candidates)
    question = f" Did you mean {near!r}?" if near else ""
    return f"{question} Known: {', '.join(candidates)}."


def parts(spec: str) -> tuple[str, str]:
    """KIND and NAME of a model's spec. `local` and `empty` need no name, and a GGUF file needs no kind."""
    family, colon, name = spec.partition(":")
    if spec in (LOCAL, EMPTY):
        return spec, ""
    # A path may have a colon of its own, but no kind before it.
    if spec.lower().endswith(".gguf") and not (colon and family in known("models")):
        return LOCAL, spec
    return (family, name) if family and colon and name else ("", "")


def model(spec: str, options: Mapping[str, Any] | None = None) -> Model:
    """The model that `spec` names, such as `local`, `openai:gpt-4o` or `scripted:FILE.json`."""
    family, name = parts(spec)
    if not family:
        hint = _hint(spec, known("models"))
        raise ConfigError(
            f"{spec!r} is not a model. Write KIND:NAME, such as openai:gpt-4o, a .gguf file, or local.{hint}"
        )
    made: Model = find("models", family)(name, revealed(dict(options or {})))
    return made


def revealed(value: Any) -> Any:
    """Options as the model takes them: this is where a secret leaves its wrapper."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, dict):
        return {name: revealed(item) for name, item in value.items()}
    return value
