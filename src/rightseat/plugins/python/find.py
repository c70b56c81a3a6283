"""Discovery of a plugin's Python tools: `exported` in lib/__init__.py, and functions with `@tool`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rightseat.plugins.plugin import Script
from rightseat.plugins.problem import Problem
from rightseat.plugins.python.describe import decoration, script_of
from rightseat.plugins.python.source import Definition, Imported, Source, parsed

LIB = "lib"
LISTS = ("exported", "_exported", "__all__")
MAX_FILES = 200
MAX_HOPS = 8
Found = tuple[str, Definition, Source]


def scripts(folder: Path) -> tuple[tuple[Script, ...], tuple[Problem, ...]]:
    """Find the scripts of the plugin in `folder`; returns them and the problems of its lib/."""
    if not (folder / LIB).is_dir():
        return (), ()
    return Shelves(folder).scripts()


class Shelves:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lib = folder / LIB
        self.problems: list[Problem] = []
        self.sources = {source.file: source for source in self.read()}

    def read(self) -> Iterator[Source]:
        files = sorted(islice((file for file in self.lib.rglob("*.py") if file.is_file()), MAX_FILES + 1))
        if len(files) > MAX_FILES:
            self.problem(self.lib, "", f"It has more than {MAX_FILES} files.", "Install libraries instead.")
        for file in files[:MAX_FILES]:
            found = parsed(file, self.folder)
            if isinstance(found, Problem):
                self.problems.append(found)
            else:
                yield found

    def scripts(self) -> tuple[tuple[Script, ...], tuple[Problem, ...]]:
        made: dict[str, Script] = {}
        seen: set[tuple[Path, str]] = set()
        for name, node, source in [*self.exported(), *self.decorated()]:
            if (source.file, name) in seen:
                continue
            seen.add((source.file, name))
            script = script_of(name, node, source.file)
            if script is None:
                fix = "Give it `async def call(self, fixed_params)`, or take it out of the list."
                self.problem(source.file, name, "A class without `call` is no tool.", fix, node.lineno)
                continue
            made.setdefault(script.name, script)
            if made[script.name] is not script:
                what = f"There is another tool called {script.name!r}."
                self.problem(source.file, name, what, "Give one of them another name.", node.lineno)
        for script in made.values():
            self.judge(script)
        if not made and not self.problems:
            fix = "List them in `exported` of lib/__init__.py, or mark functions with @tool."
            self.problem(self.lib, "", "It has no tools.", fix, gravity="warning")
        return tuple(made.values()), tuple(self.problems)

    def judge(self, script: Script) -> None:
        if not script.description:
            fix = "Say in a sentence what it does: by that a model chooses it."
            self.problem(
                script.file, script.attribute, "It has no description.", fix, script.line, gravity="warning"
            )

    def problem(
        self, file: Path, key: str, what: str, fix: str, line: int = 0, *, gravity: str = "error"
    ) -> None:
        made = Problem(file.relative_to(self.folder).as_posix(), key, what, fix, line)
        self.problems.append(made if gravity == "error" else replace(made, gravity="warning"))

    def decorated(self) -> Iterator[Found]:
        for source in self.sources.values():
            for name, node in source.definitions.items():
                if not isinstance(node, ast.ClassDef) and decoration(node) is not None:
                    yield name, node, source

    def exported(self) -> Iterator[Found]:
        first = self.sources.get(self.lib / "__init__.py")
        name = next((name for name in LISTS if first and name in first.values), None)
        if first is None or name is None:
            return
        items = listed(first.values[name], first)
        if items is None:
            fix = "Write a plain list of names, such as exported = [MyTool]."
            self.problem(first.file, name, "It cannot be read without running it.", fix)
            return
        for item in items:
            found = self.follow(item, first)
            # `__all__` may also list names that are not tools.
            if found is None and name != "__all__":
                what = f"{item!r} is not defined in lib/."
                self.problem(first.file, name, what, "Define it there, or import it from a file in lib/.")
            elif found is not None and (name != "__all__" or isinstance(found[1], ast.ClassDef)):
                yield found

    def follow(self, name: str, source: Source) -> Found | None:
        """Return the definition of a name, in this file or the one it is imported from; None if not found."""
        for _ in range(MAX_HOPS):
            first, _, rest = name.partition(".")
            if not rest and first in source.definitions:
                return first, source.definitions[first], source
            imported = source.imports.get(first) or source.imports.get(name.rpartition(".")[0])
            if imported is None:
                return None
            target = self.source_of(imported, source)
            if target is None:
                return None
            source, name = target, name.rpartition(".")[2] if rest else imported.name
        return None

    def source_of(self, imported: Imported, source: Source) -> Source | None:
        """Return the file of lib/ that an import refers to, under any package prefix."""
        names = imported.module.split(".")
        for start in range(len(names)):
            for base in (source.file.parent, self.lib):
                place = base.joinpath(*names[start:])
                found = self.sources.get(place.with_suffix(".py")) or self.sources.get(place / "__init__.py")
                if found is not None and found is not source:
                    return found
        return None


def listed(node: ast.expr, source: Source, hops: int = MAX_HOPS) -> list[str] | None:
    """Return the names in a list expression; None if it cannot be evaluated by syntax."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            names = [_name(item) for item in items]
            return [name for name in names if name] if all(names) else None
        case ast.Name(id=name) if hops and name in source.values:
            return listed(source.values[name], source, hops - 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if hops:
            parts = [listed(part, source, hops - 1) for part in (left, right)]
            return None if None in parts else [name for part in parts if part for name in part]
        case _:
            return None


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{before}.{name}" if (before := _name(value)) else ""
        case _:
            return ""
