"""Read plugin folders into Plugin values. Reading never raises and never runs plugin code: problems are part
of the Plugin."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rightseat.plugins.flows.load import flows_of
from rightseat.plugins.manifest import FILE, ID, manifest
from rightseat.plugins.openapi.read import Api, api, named
from rightseat.plugins.plugin import Plugin
from rightseat.plugins.problem import Gravity, Problem
from rightseat.plugins.python.find import scripts

FLOWS = "flows"
LIB = "lib"
MAX_FLOWS = 500
MAX_SCRIPTS = 200
MAX_PLUGINS = 1_000
MAX_NAME = 100
_SKIPPED = frozenset(("__pycache__", "node_modules"))
_ODD = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u202a-\u202e\u2066-\u2069]|^[-.\s]|\s$|\.\.')


def read(folder: Path, *, strict: bool = False) -> Plugin:
    """Return the plugin of the folder with its problems; with `strict`, style problems too."""
    made = _read(folder, strict)
    if strict:
        return made
    return replace(made, problems=tuple(one for one in made.problems if one.gravity != "style"))


def read_all(directories: Iterable[Path], *, strict: bool = False) -> list[Plugin]:
    """Return every plugin in the directories, sorted by name; a directory may itself be a plugin."""
    plugins: dict[str, Plugin] = {}
    made: list[Plugin] = []
    for directory in directories:
        for folder in candidates(directory):
            one = outside(folder, directory) or read(folder, strict=strict)
            before = plugins.setdefault(one.id.lower(), one)
            made.append(one if before is one else doubled(one, before))
    return made


def candidates(directory: Path) -> list[Path]:
    if is_plugin(directory):
        return [directory]
    try:
        inner = sorted(one for one in directory.iterdir() if one.name not in _SKIPPED)
    except OSError:
        return [directory]
    return [one for one in inner if not one.name.startswith(".") and is_plugin(one)][:MAX_PLUGINS]


def is_plugin(folder: Path) -> bool:
    """Whether the folder has plugin.json, an API document or flows/."""
    try:
        if not folder.is_dir():
            return False
        return (folder / FILE).exists() or named(folder) is not None or (folder / FLOWS).is_dir()
    except OSError:
        return False


def outside(folder: Path, directory: Path) -> Plugin | None:
    """Return a broken plugin if the folder is a link out of the directory; None otherwise."""
    if folder == directory or folder.resolve().is_relative_to(directory.resolve()):
        return None
    fix = "Copy the folder, or name the other one by --plugins too."
    return bare(folder, problem("", "It is a link to a folder outside; it is not read.", fix))


def doubled(one: Plugin, before: Plugin) -> Plugin:
    what = f"There is a plugin {before.id!r} already, in {before.folder}; this one is left out."
    return bare(one.folder, problem("", what, "Rename one of the two folders."))


def bare(folder: Path, *problems: Problem) -> Plugin:
    name = folder.absolute().name
    return Plugin(id=name, folder=folder, name=name, description="", problems=problems)


def problem(file: str, what: str, fix: str, gravity: Gravity = "error") -> Problem:
    return Problem(file or ".", "", what, fix, 0, gravity)


def _read(folder: Path, strict: bool) -> Plugin:
    name = folder.absolute().name
    if not folder.is_dir():
        return bare(folder, problem("", "There is no such folder.", "See to its path."))
    if len(name) > MAX_NAME or _ODD.search(name):
        fix = f"Use letters, digits, _ and -, at most {MAX_NAME} of them."
        return bare(folder, problem("", f"A plugin cannot be called {name[:40]!r}.", fix))
    found_style = () if ID.fullmatch(name) else (lower_case(name),)
    own = manifest(folder) if (folder / FILE).exists() else None
    document = named(folder)
    described = Api() if document is None else api(folder, document, own.auth if own else (), strict=strict)
    tools, faults = linked(folder, LIB) or scripts(folder)
    flows, odd = flow_files(folder)
    each = own is not None and own.automatic_flow
    workflows, wrong = flows_of(folder, name, flows, described.operations, tools, each=each)
    given = own.problems if own else [absent()]
    problems = [*given, *described.problems, *faults, *odd, *wrong, *found_style]
    if own is not None and own.broken:
        # Credentials are unknown without the manifest, so nothing of the plugin is usable.
        return bare(folder, *problems)
    if not described.operations and not tools and not flows:
        fix = "Add openapi.yaml, a tool in lib/ or a flow in flows/."
        problems.append(problem("", "It has no operation, no tool and no flow.", fix, "warning"))
    return Plugin(
        id=name,
        folder=folder,
        name=(own.name if own else "") or described.title or name,
        description=(own.description if own else "") or described.description or described.title,
        alias=own.alias if own else "",
        question=own.question if own else "",
        automatic_flow=each,
        auth=own.auth if own else (),
        operations=described.operations,
        scripts=tools,
        flows=flows,
        workflows=workflows,
        files=files(folder, described, flows),
        problems=tuple(problems),
    )


def absent() -> Problem:
    return problem(FILE, "There is none; the plugin has its folder's name.", "Write one.", "warning")


def lower_case(name: str) -> Problem:
    return problem("", f"{name!r} is not in lower-case letters, digits, _ and -.", "Rename it.", "style")


def linked(folder: Path, name: str) -> tuple[tuple[()], tuple[Problem, ...]] | None:
    """Return an empty result with a problem if the folder of that name is a link to outside; else None."""
    if (folder / name).resolve().is_relative_to(folder.resolve()):
        return None
    fix = "Copy it into the plugin's folder."
    return (), (problem(name, "It is a link to a folder outside; it is not read.", fix),)


def flow_files(folder: Path) -> tuple[tuple[Path, ...], tuple[Problem, ...]]:
    home = folder / FLOWS
    if not home.is_dir():
        return (), ()
    if (refused := linked(folder, FLOWS)) is not None:
        return refused
    try:
        inner = sorted(one for one in home.iterdir() if one.suffix.lower() in (".yaml", ".yml"))
    except OSError as error:
        return (), (problem(FLOWS, f"It cannot be read: {error.strerror}.", "See to its rights."),)
    return tuple(one for one in inner if one.is_file())[:MAX_FLOWS], ()


def files(folder: Path, described: Api, flows: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the plugin's files to watch, including missing ones: a new file is a change too."""
    lib: list[Path] = []
    if (folder / LIB).is_dir() and linked(folder, LIB) is None:
        lib = sorted(islice((folder / LIB).rglob("*.py"), MAX_SCRIPTS))
    return (folder / FILE, *(folder / name for name in described.files), *lib, *flows)
