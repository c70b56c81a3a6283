"""Description of a class or function of lib/ as a PluginScript: name, description, arguments."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from rightseat.plugins.plugin import Script
from rightseat.plugins.python.annotation import name_of, schema_of
from rightseat.plugins.python.source import Definition, literal

MAX_DESCRIPTION = 2000
_CALLS = ("call", "__call__")


def script_of(name: str, node: Definition, file: Path) -> Script | None:
    """Describe a definition; None for a class without a `call` method."""
    if isinstance(node, ast.ClassDef):
        return _class(name, node, file)
    return _function(name, node, file)


def _class(attribute: str, node: ast.ClassDef, file: Path) -> Script | None:
    """Describe a class of the original SDK: `name`, `description`, `spec` and `call(fixed_params)`."""
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    # A subclass may inherit `call`.
    if not methods & set(_CALLS) and not node.bases:
        return None
    given = _attributes(node)
    spec = given.get("spec")
    arguments = spec if isinstance(spec, dict) else {"type": "object", "properties": {}}
    return Script(
        name=_text(given.get("name")) or attribute,
        description=(_text(given.get("description")) or summary(node))[:MAX_DESCRIPTION],
        file=file,
        attribute=attribute,
        kind="class",
        arguments=arguments,
        dangerous=given.get("dangerous") is True,
        line=node.lineno,
    )


def _attributes(node: ast.ClassDef) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in node.body:
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = literal(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                found[name] = literal(value)
            case _:
                pass
    return found


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def decoration(node: Definition) -> ast.expr | None:
    """Return the `@tool` decorator, with or without arguments, or None."""
    for found in node.decorator_list:
        if name_of(found.func if isinstance(found, ast.Call) else found) == "tool":
            return found
    return None


def _function(attribute: str, node: ast.FunctionDef | ast.AsyncFunctionDef, file: Path) -> Script:
    mark = decoration(node)
    keywords = mark.keywords if isinstance(mark, ast.Call) else []
    given = {word.arg: literal(word.value) for word in keywords if word.arg}
    arguments, exact = parameters(node)
    return Script(
        name=_text(given.get("name")) or attribute,
        description=(_text(given.get("description")) or summary(node))[:MAX_DESCRIPTION],
        file=file,
        attribute=attribute,
        kind="function",
        arguments=arguments,
        exact=exact,
        dangerous=given.get("confirm") is True,
        line=node.lineno,
    )


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[dict[str, Any], bool]:
    """Return the schema of all parameters and whether the syntax determines it fully."""
    given = node.args
    every = [*given.posonlyargs, *given.args]
    without = len(every) - len(given.defaults)
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *((parameter, None) for parameter in every[:without]),
        *zip(every[without:], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    properties: dict[str, Any] = {}
    required: list[str] = []
    exact = not (given.vararg or given.kwarg or given.posonlyargs)
    notes = notes_of(node)
    for parameter, default in pairs:
        if parameter.annotation is not None and name_of(parameter.annotation) == "ToolContext":
            continue
        read = schema_of(parameter.annotation)
        value = literal(default)
        schema = dict(read.schema)
        if note := notes.get(parameter.arg):
            schema["description"] = note
        if default is None:
            required.append(parameter.arg)
        elif value is not None or isinstance(default, ast.Constant):
            schema["default"] = value
        exact = exact and read.exact
        properties[parameter.arg] = schema
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return (found | {"required": required} if required else found), exact


def notes_of(node: Definition) -> dict[str, str]:
    doc = ast.get_docstring(node)
    if not doc:
        return {}
    # Imports pydantic: only if there is a docstring.
    from rightseat.tools.signature import parameter_notes

    return parameter_notes(doc)


def summary(node: Definition) -> str:
    """Return the first paragraph of the docstring."""
    return re.split(r"\n\s*\n|\n\s*(?:Args|Arguments|Parameters):", ast.get_docstring(node) or "")[0].strip()
