"""Read plugin folders into Plugin values. Reading never raises and never runs plugin code: problems are part
of the Plugin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.plugins.flows.load import load_flows
from rightseat.plugins.manifest import ID_PATTERN, MANIFEST_FILE, PluginManifest, read_manifest
from rightseat.plugins.openapi.read import API_FILES, ApiDocument, find_api_file, read_api
from rightseat.plugins.plugin import Gravity, Plugin, Problem
from rightseat.plugins.python.find import find_scripts

FLOWS = "flows"
LIB = "lib"
MAX_FLOWS = 500
MAX_LIB_PATHS = 400
MAX_PLUGINS = 1_000
MAX_NAME = 100
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules"))
_INVALID_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u202a-\u202e\u2066-\u2069]|^[-.\s]|\s$|\.\.')


def read_plugin(folder: Path, *, strict: bool = False) -> Plugin:
    """Return the plugin of the folder with its problems; with `strict`, style problems too."""
    plugin = _read_folder(folder, strict)
    if strict:
        return plugin
    return replace(plugin, problems=tuple(one for one in plugin.problems if one.gravity != "style"))


def read_plugins(directories: Iterable[Path], *, strict: bool = False) -> list[Plugin]:
    """Return every plugin in the directories, sorted by name; a directory may itself be a plugin."""
    plugins: dict[str, Plugin] = {}
    results: list[Plugin] = []
    for directory in directories:
        for folder in find_plugin_folders(directory):
            plugin = reject_outside_link(folder, directory) or read_plugin(folder, strict=strict)
            first = plugins.setdefault(plugin.id.lower(), plugin)
            results.append(plugin if first is plugin else reject_duplicate(plugin, first))
    return results


def find_plugin_folders(directory: Path) -> list[Path]:
    if is_plugin_folder(directory):
        return [directory]
    try:
        inner = sorted(one for one in directory.iterdir() if one.name not in _SKIPPED_FOLDERS)
    except OSError:
        return [directory]
    return [one for one in inner if not one.name.startswith(".") and is_plugin_folder(one)][:MAX_PLUGINS]


def is_plugin_folder(folder: Path) -> bool:
    """Whether the folder has plugin.json, an API document or flows/."""
    try:
        if not folder.is_dir():
            return False
        return (folder / MANIFEST_FILE).exists() or find_api_file(folder) is not None or (folder / FLOWS).is_dir()
    except OSError:
        return False


def reject_outside_link(folder: Path, directory: Path) -> Plugin | None:
    """Return a broken plugin if the folder is a link out of the directory; None otherwise."""
    if folder == directory or folder.resolve().is_relative_to(directory.resolve()):
        return None
    fix = "Copy the folder, or name the other one by --plugins too."
    return make_broken_plugin(folder, make_folder_problem("", "It is a link to a folder outside; it is not read.", fix))


def reject_duplicate(plugin: Plugin, first: Plugin) -> Plugin:
    what = f"There is a plugin {first.id!r} already, in {first.folder}; this one is left out."
    return make_broken_plugin(plugin.folder, make_folder_problem("", what, "Rename one of the two folders."))


def make_broken_plugin(folder: Path, *problems: Problem) -> Plugin:
    name = folder.absolute().name
    return Plugin(id=name, folder=folder, name=name, description="", problems=problems)


def make_folder_problem(file: str, what: str, fix: str, gravity: Gravity = "error") -> Problem:
    return Problem(file or ".", "", what, fix, 0, gravity)


NO_MANIFEST = Problem(
    MANIFEST_FILE, "", "There is none; the plugin has its folder's name.", "Write one.", gravity="warning"
)


def _read_folder(folder: Path, strict: bool) -> Plugin:
    name = folder.absolute().name
    if not folder.is_dir():
        return make_broken_plugin(folder, make_folder_problem("", "There is no such folder.", "See to its path."))
    if len(name) > MAX_NAME or _INVALID_NAME.search(name):
        fix = f"Use letters, digits, _ and -, at most {MAX_NAME} of them."
        return make_broken_plugin(folder, make_folder_problem("", f"A plugin cannot be called {name[:40]!r}.", fix))
    manifest = read_manifest(folder) if (folder / MANIFEST_FILE).exists() else PluginManifest(problems=(NO_MANIFEST,))
    document = find_api_file(folder)
    api_document = ApiDocument() if document is None else read_api(folder, document, manifest.auth, strict=strict)
    tools, script_problems = reject_linked_folder(folder, LIB) or find_scripts(folder)
    flows, file_problems = find_flow_files(folder)
    workflows, flow_problems = load_flows(
        folder, name, flows, api_document.operations, tools, per_operation=manifest.automatic_flow
    )
    problems = [*manifest.problems, *api_document.problems, *script_problems, *file_problems, *flow_problems]
    if not ID_PATTERN.fullmatch(name):
        what = f"{name!r} is not in lower-case letters, digits, _ and -."
        problems.append(make_folder_problem("", what, "Rename it.", "style"))
    files = tuple(dict.fromkeys((*list_plugin_files(folder), *(folder / file for file in api_document.files))))
    if manifest.broken:
        # Credentials are unknown without the manifest, so nothing of the plugin is usable.
        return replace(make_broken_plugin(folder, *problems), files=files)
    if not api_document.operations and not tools and not flows:
        fix = "Add openapi.yaml, a tool in lib/ or a flow in flows/."
        problems.append(make_folder_problem("", "It has no operation, no tool and no flow.", fix, "warning"))
    return Plugin(
        id=name,
        folder=folder,
        name=manifest.name or api_document.title or name,
        description=manifest.description or api_document.description or api_document.title,
        alias=manifest.alias,
        question=manifest.question,
        automatic_flow=manifest.automatic_flow,
        auth=manifest.auth,
        operations=api_document.operations,
        scripts=tools,
        flows=flows,
        workflows=workflows,
        files=files,
        problems=tuple(problems),
    )


def reject_linked_folder(folder: Path, name: str) -> tuple[tuple[()], tuple[Problem, ...]] | None:
    """Return an empty result with a problem if the folder of that name is a link to outside; else None."""
    if (folder / name).resolve().is_relative_to(folder.resolve()):
        return None
    fix = "Copy it into the plugin's folder."
    return (), (make_folder_problem(name, "It is a link to a folder outside; it is not read.", fix),)


def find_flow_files(folder: Path) -> tuple[tuple[Path, ...], tuple[Problem, ...]]:
    home = folder / FLOWS
    if not home.is_dir():
        return (), ()
    if (refused := reject_linked_folder(folder, FLOWS)) is not None:
        return refused
    try:
        inner = sorted(one for one in home.iterdir() if one.suffix.lower() in (".yaml", ".yml"))
    except OSError as error:
        return (), (make_folder_problem(FLOWS, f"It cannot be read: {error.strerror}.", "See to its rights."),)
    return tuple(one for one in inner if one.is_file())[:MAX_FLOWS], ()


def list_plugin_files(folder: Path) -> tuple[Path, ...]:
    """Return the files that a plugin in the folder has or should have, found by their names alone: one that cannot
    be read now may be mended."""
    api_files = [folder / name for name in API_FILES if os.path.lexists(folder / name)]
    scripts = [path for path in find_lib_paths(folder) if path.suffix == ".py"]
    flows, _ = find_flow_files(folder)
    return (folder / MANIFEST_FILE, *api_files, *scripts, *flows)


def list_plugin_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders whose time changes when the plugin gets a new file."""
    return (folder, folder / FLOWS, folder / LIB, *(path for path in find_lib_paths(folder) if path.suffix != ".py"))


def find_lib_paths(folder: Path) -> list[Path]:
    """Return the Python files and the folders in lib/."""
    home = folder / LIB
    if not home.is_dir() or reject_linked_folder(folder, LIB) is not None:
        return []
    inner = (path for path in home.rglob("*") if not _SKIPPED_FOLDERS.intersection(path.relative_to(home).parts))
    return sorted(islice((path for path in inner if path.suffix == ".py" or path.is_dir()), MAX_LIB_PATHS))


NEW_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_TITLE_LENGTH = 14
TEMPLATE_SUFFIX = ".txt"  # keeps the templates from being taken for modules of this package


def write_skeleton(name: str, where: Path) -> Path:
    """Write the skeleton and return its folder; raise CallerError if it exists."""
    if not NEW_NAME_PATTERN.fullmatch(name):
        raise CallerError(
            f"A plugin cannot be called {name[:41]!r}. "
            "Use lower-case letters, digits, _ and -: a letter first, and at most 40."
        )
    folder = where / name
    title = re.sub(r"[_-]+", " ", name).strip().capitalize()[:MAX_TITLE_LENGTH].strip()
    words = {"@NAME@": name, "@TITLE@": title, "@VARIABLE@": re.sub(r"\W", "_", name).upper()}
    try:
        folder.mkdir(parents=True)
        copy_skeleton(files("rightseat.plugins") / "skeleton", folder, words)
    except FileExistsError:
        raise CallerError(f"{folder} already exists. Choose another name.") from None
    except OSError as error:
        raise CallerError(f"Cannot write {folder}: {error.strerror}.") from None
    return folder


def copy_skeleton(source: Traversable, folder: Path, words: dict[str, str]) -> None:
    for item in source.iterdir():
        if item.is_dir():
            (folder / item.name).mkdir()
            copy_skeleton(item, folder / item.name, words)
        elif item.name.endswith(TEMPLATE_SUFFIX):
            text = item.read_text("utf-8")
            for mark, word in words.items():
                text = text.replace(mark, word)
            (folder / item.name.removesuffix(TEMPLATE_SUFFIX)).write_text(text, "utf-8")
