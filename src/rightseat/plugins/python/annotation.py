"""Conversion of parameter annotations to JSON Schema, by syntax alone: plugin code is not run."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

KINDS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "dict": {"type": "object", "additionalProperties": True},
    "list": {"type": "array", "items": {}},
    "Any": {},
    "object": {},
}
ALIASES = {"Dict": "dict", "List": "list", "Mapping": "dict", "Sequence": "list", "NoneType": "None"}


class Read(NamedTuple):
    schema: dict[str, Any]
    exact: bool = True
    """False if only running the code gives the full schema."""


UNKNOWN = Read({}, exact=False)


def schema_of(node: ast.expr | None) -> Read:
    match node:
        case None:
            return Read({})
        case ast.Constant(value=None):
            return Read(KINDS["None"])
        case ast.Constant(value=str(text)):
            return _quoted(text)
        case ast.Name() | ast.Attribute():
            name = name_of(node)
            return Read(dict(KINDS[name])) if name in KINDS else UNKNOWN
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _either([left, right])
        case ast.Subscript(value=outer, slice=inside):
            return _generic(name_of(outer), inside)
        case _:
            return UNKNOWN


def _quoted(text: str) -> Read:
    try:
        return schema_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return UNKNOWN


def _generic(outer: str, inside: ast.expr) -> Read:
    items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    match outer:
        case "list":
            found = schema_of(items[0])
            return Read({"type": "array", "items": found.schema}, found.exact)
        case "dict" if len(items) == 2:
            found = schema_of(items[1])
            return Read({"type": "object", "additionalProperties": found.schema}, found.exact)
        case "Optional":
            return _either([*items, ast.Constant(value=None)])
        case "Union":
            return _either(items)
        case "Literal":
            values = [item.value for item in items if isinstance(item, ast.Constant)]
            return Read({"enum": values}) if len(values) == len(items) else UNKNOWN
        case "Annotated":
            # The metadata may restrict the type.
            return Read(schema_of(items[0]).schema, exact=False)
        case _:
            return UNKNOWN


def _either(nodes: list[ast.expr]) -> Read:
    found = [schema_of(node) for node in nodes]
    flat: list[dict[str, Any]] = []
    for read in found:
        flat += read.schema["anyOf"] if set(read.schema) == {"anyOf"} else [read.schema]
    return Read({"anyOf": flat}, all(read.exact for read in found))


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name (`List` of `typing.List`); empty if it is not a name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return ALIASES.get(name, name)
        case _:
            return ""
