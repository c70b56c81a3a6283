"""Python file of lib/, parsed and never run: top-level definitions, values and imports."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rightseat.plugins.problem import Problem

MAX_BYTES = 1 << 20
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class ImportedName(NamedTuple):
    """Target of `from module import name`; without a name, the module itself."""

    module: str
    name: str = ""


class PythonFile:
    def __init__(self, file: Path, tree: ast.Module) -> None:
        self.file = file
        self.tree = tree
        self.definitions: dict[str, Definition] = {}
        self.values: dict[str, ast.expr] = {}
        self.imports: dict[str, ImportedName] = {}
        for node in tree.body:
            self._record(node)

    def _record(self, node: ast.stmt) -> None:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.definitions[name] = node
            case ast.Assign(targets=targets, value=value):
                self.values |= {target.id: value for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.values[name] = value
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    found = ImportedName(module, alias.name) if module else ImportedName(alias.name)
                    self.imports[alias.asname or alias.name] = found
            case ast.Import(names=names):
                self.imports |= {alias.asname or alias.name: ImportedName(alias.name) for alias in names}
            case _:
                pass


def parse_file(file: Path, root: Path) -> PythonFile | Problem:
    """Parse the file; a Problem if it is invalid or lies outside `root`, the plugin's folder."""
    name = file.relative_to(root).as_posix()
    try:
        if not file.resolve().is_relative_to(root.resolve()):
            return Problem(name, "", "It leads out of the plugin's folder.", "Put the file itself there.")
        if file.stat().st_size > MAX_BYTES:
            return Problem(name, "", "It is larger than 1 MB.", "Keep data in files of its own.")
        return PythonFile(file, ast.parse(file.read_bytes(), filename=name))
    except SyntaxError as error:
        return Problem(name, "", f"It is not Python: {error.msg}.", "Correct this line.", error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        return Problem(name, "", f"It cannot be read as Python: {error}.", "Save it as UTF-8 text.")
    except OSError as error:
        return Problem(name, "", f"It cannot be read: {error.strerror}.", "Allow the server to read it.")


def literal_value(node: ast.expr | None) -> Any:
    """Return the JSON value of a literal expression; None for any other."""
    if node is None:
        return None
    try:
        return msgspec.json.decode(msgspec.json.encode(ast.literal_eval(node)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, msgspec.MsgspecError):
        return None
