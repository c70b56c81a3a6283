"""Import objects named as `module:attribute`: the one place where configured code is imported."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from rightseat.config.secret import mask
from rightseat.errors import ConfigError
from rightseat.types.text import closest_match

# Tools that every assistant may have, by their names in `tools`.
BUILTIN_TOOLS = {
    "calculate": "rightseat.tools.builtin.calculate:calculate",
    "table_query": "rightseat.plugins.sql.table_query:table_query",
    "facts": "rightseat.tools.builtin.facts:facts",
}

# Tools of those names that must be asked for, and that may refuse: factories that take the name.
OPTIONAL_TOOLS = {
    **dict.fromkeys(
        ("code_interpreter", "ipython", "python"), "rightseat.tools.builtin.code_interpreter:make_code_interpreter"
    ),
    **dict.fromkeys(("web_search", "brave_search", "wolfram_alpha"), "rightseat.plugins.web_search:make_search_tool"),
}
# Folders of installed code, which may be inside the working folder.
PACKAGE = Path(__file__).parents[1]
LIBRARIES = frozenset({"site-packages", "dist-packages"})


def import_object(target: str) -> Any:
    """Return the object at `module:attribute`. The working folder is importable, as for `python -m`."""
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"{target!r} is not of the form module:attribute.")
    target_object: Any = _import_module(module, target)
    for part in attribute.split("."):
        if not hasattr(target_object, part):
            near = closest_match(part, (name for name in dir(target_object) if not name.startswith("_")))
            hint = f" Did you mean {near!r}?" if near else ""
            raise ConfigError(f"{target}: {module} has no {part!r}.{hint}")
        target_object = getattr(target_object, part)
    return target_object


def _import_module(name: str, target: str) -> Any:
    folder = str(Path.cwd())
    if folder not in sys.path:
        # Last, so that a file in the working folder never shadows a library.
        sys.path.append(folder)
    # A reload must find files written since the last import.
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
        raise ConfigError(f"{target}: importing {name} called sys.exit. Remove that call from module level.") from error
    except Exception as error:
        # Importing runs foreign code, which may raise anything; the log shows the cause.
        place = find_source_place(error)
        text = error.msg if isinstance(error, SyntaxError) and place else error
        why = mask(f"{type(error).__name__}: {text}")
        message = f"{target}: importing {name} failed: {why}"
        raise ConfigError(f"{message.removesuffix('.')}. Correct {place}." if place else message) from error


def find_source_place(error: BaseException) -> str:
    """Return "FILE, line N" of the user's code that an import failed in: the innermost place in the working folder
    that is no installed library. Empty if there is none."""
    folder = Path.cwd()
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno))
    for filename, line in reversed(places):
        path = Path(filename)
        is_installed = path.is_relative_to(PACKAGE) or not LIBRARIES.isdisjoint(path.parts)
        if path.is_relative_to(folder) and not is_installed:
            return f"{path.relative_to(folder)}, line {line}"
    return ""
