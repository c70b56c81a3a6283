"""Discovery of a plugin's Python tools: `exported` in lib/__init__.py, and functions with `@tool`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rightseat.plugins.plugin import Gravity, PluginScript, Problem
from rightseat.plugins.python.describe import (
    Definition,
    ImportedName,
    PythonFile,
    UnknownEffect,
    find_tool_decorator,
    make_script,
    parse_file,
)

LIB = "lib"
EXPORT_NAMES = ("exported", "_exported", "__all__")
MAX_FILES = 200
MAX_HOPS = 8
LocatedDefinition = tuple[str, Definition, PythonFile]


def find_scripts(folder: Path) -> tuple[tuple[PluginScript, ...], tuple[Problem, ...]]:
    """Find the scripts of the plugin in `folder`; returns them and the problems of its lib/."""
    if not (folder / LIB).is_dir():
        return (), ()
    return ScriptFinder(folder).find()


class ScriptFinder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lib = folder / LIB
        self.problems: list[Problem] = []
        self.files = {source.file: source for source in self.parse_files()}

    def parse_files(self) -> Iterator[PythonFile]:
        files = sorted(islice((file for file in self.lib.rglob("*.py") if file.is_file()), MAX_FILES + 1))
        if len(files) > MAX_FILES:
            self.add_problem(self.lib, "", f"It has more than {MAX_FILES} files.", "Install libraries instead.")
        for file in files[:MAX_FILES]:
            source = parse_file(file, self.folder)
            if isinstance(source, Problem):
                self.problems.append(source)
            else:
                yield source

    def find(self) -> tuple[tuple[PluginScript, ...], tuple[Problem, ...]]:
        scripts: dict[str, PluginScript] = {}
        seen: set[tuple[Path, str]] = set()
        for name, node, source in [*self.iter_exported(), *self.iter_decorated()]:
            if (source.file, name) in seen:
                continue
            seen.add((source.file, name))
            script = self.describe(name, node, source)
            if script is None:
                continue
            scripts.setdefault(script.name, script)
            if scripts[script.name] is not script:
                what = f"There is another tool called {script.name!r}."
                self.add_problem(source.file, name, what, "Give one of them another name.", node.lineno)
        for script in scripts.values():
            if not script.description:
                what, fix = "It has no description.", "Say in a sentence what it does: by that a model chooses it."
                self.add_problem(script.file, script.attribute, what, fix, script.line, "warning")
        if not scripts and not self.problems:
            fix = "List them in `exported` of lib/__init__.py, or mark functions with @tool."
            self.add_problem(self.lib, "", "It has no tools.", fix, gravity="warning")
        return tuple(scripts.values()), tuple(self.problems)

    def describe(self, name: str, node: Definition, source: PythonFile) -> PluginScript | None:
        """Describe a tool; None, and a problem, if it is none that can be offered."""
        try:
            script = make_script(name, node, source.file)
        except UnknownEffect:
            what, fix = "Its `effect` is none that there is.", "Write one of reads, writes or dangerous, in quotes."
            self.add_problem(source.file, name, what, fix, node.lineno)
            return None
        if script is None:
            fix = "Give it `async def call(self, fixed_params)`, or take it out of the list."
            self.add_problem(source.file, name, "A class without `call` is no tool.", fix, node.lineno)
        return script

    def add_problem(self, file: Path, key: str, what: str, fix: str, line: int = 0, gravity: Gravity = "error") -> None:
        self.problems.append(Problem(file.relative_to(self.folder).as_posix(), key, what, fix, line, gravity))

    def iter_decorated(self) -> Iterator[LocatedDefinition]:
        for source in self.files.values():
            for name, node in source.definitions.items():
                if not isinstance(node, ast.ClassDef) and find_tool_decorator(node) is not None:
                    yield name, node, source

    def iter_exported(self) -> Iterator[LocatedDefinition]:
        init_file = self.files.get(self.lib / "__init__.py")
        name = next((name for name in EXPORT_NAMES if init_file and name in init_file.values), None)
        if init_file is None or name is None:
            return
        items = literal_names(init_file.values[name], init_file)
        if items is None:
            fix = "Write a plain list of names, such as exported = [MyTool]."
            self.add_problem(init_file.file, name, "It cannot be read without running it.", fix)
            return
        for item in items:
            located = self.resolve_name(item, init_file)
            # `__all__` may also list names that are not tools.
            if located is None and name != "__all__":
                what = f"{item!r} is not defined in lib/."
                self.add_problem(init_file.file, name, what, "Define it there, or import it from a file in lib/.")
            elif located is not None and (name != "__all__" or isinstance(located[1], ast.ClassDef)):
                yield located

    def resolve_name(self, name: str, source: PythonFile) -> LocatedDefinition | None:
        """Return the definition of a name, in this file or the one it is imported from; None if not found."""
        for _ in range(MAX_HOPS):
            first, _, rest = name.partition(".")
            if not rest and first in source.definitions:
                return first, source.definitions[first], source
            imported = source.imports.get(first) or source.imports.get(name.rpartition(".")[0])
            if imported is None:
                return None
            target = self.find_imported_file(imported, source)
            if target is None:
                return None
            source, name = target, name.rpartition(".")[2] if rest else imported.name
        return None

    def find_imported_file(self, imported: ImportedName, source: PythonFile) -> PythonFile | None:
        """Return the file of lib/ that an import refers to, under any package prefix."""
        names = imported.module.split(".")
        for start in range(len(names)):
            for base in (source.file.parent, self.lib):
                place = base.joinpath(*names[start:])
                imported_file = self.files.get(place.with_suffix(".py")) or self.files.get(place / "__init__.py")
                if imported_file is not None and imported_file is not source:
                    return imported_file
        return None


def literal_names(node: ast.expr, source: PythonFile, hops: int = MAX_HOPS) -> list[str] | None:
    """Return the names in a list expression; None if it cannot be evaluated by syntax."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            names = [_dotted_name(item) for item in items]
            return [name for name in names if name] if all(names) else None
        case ast.Name(id=name) if hops and name in source.values:
            return literal_names(source.values[name], source, hops - 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if hops:
            parts = [literal_names(part, source, hops - 1) for part in (left, right)]
            return None if None in parts else [name for part in parts if part for name in part]
        case _:
            return None


def _dotted_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{before}.{name}" if (before := _dotted_name(value)) else ""
        case _:
            return ""
