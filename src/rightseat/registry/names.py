"""Names → objects, each imported when it is first asked for.

Built-ins and other packages go the same way: an entry point of `rightseat.<family>` is one more name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from rightseat.errors import ConfigError
from rightseat.nearest import nearest
from rightseat.prompt import Model
from rightseat.secret import Secret

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


def load(target: str) -> Any:
    """The object at `module:attribute`. The working folder is importable, as it is for `python -m`."""
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"{target!r} is not of the form module:attribute.")
    found: Any = _module(module, target)
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = nearest(part, (name for name in dir(found) if not name.startswith("_")))
            hint = f" Did you mean {near!r}?" if near else ""
            raise ConfigError(f"{target}: {module} has no {part!r}.{hint}")
        found = getattr(found, part)
    return found


def _module(name: str, target: str) -> Any:
    folder = str(Path.cwd())
    if folder not in sys.path:
        # Last, so that a stray file in the working folder never replaces a library.
        sys.path.append(folder)
    # A file written since the last look must be seen by a reload.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            message = f"{target}: there is no module {error.name!r} here or in {folder}."
        else:
            message = f"{target}: {name} needs {error.name!r}, which is not installed."
        raise ConfigError(message) from error
    except SystemExit as error:
        raise ConfigError(f"{target}: importing {name} tried to end the process.") from error
    except Exception as error:
        # Importing runs foreign code, which may raise anything; the cause goes along for the log.
        raise ConfigError(f"{target}: importing {name} failed: {type(error).__name__}: {error}") from error


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
