"""Conversion of parameter annotations to JSON Schema, by syntax alone: plugin code is not run."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

TYPE_SCHEMAS: dict[str, dict[str, Any]] = {
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


class AnnotationSchema(NamedTuple):
    schema: dict[str, Any]
    exact: bool = True
    """False if only running the code gives the full schema."""


UNKNOWN_ANNOTATION = AnnotationSchema({}, exact=False)


def annotation_schema(node: ast.expr | None) -> AnnotationSchema:
    match node:
        case None:
            return AnnotationSchema({})
        case ast.Constant(value=None):
            return AnnotationSchema(TYPE_SCHEMAS["None"])
        case ast.Constant(value=str(text)):
            return _quoted_schema(text)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            return AnnotationSchema(dict(TYPE_SCHEMAS[name])) if name in TYPE_SCHEMAS else UNKNOWN_ANNOTATION
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union_schema([left, right])
        case ast.Subscript(value=outer, slice=inside):
            return _generic_schema(last_name(outer), inside)
        case _:
            return UNKNOWN_ANNOTATION


def _quoted_schema(text: str) -> AnnotationSchema:
    try:
        return annotation_schema(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return UNKNOWN_ANNOTATION


def _generic_schema(outer: str, inside: ast.expr) -> AnnotationSchema:
    items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    match outer:
        case "list":
            inner = annotation_schema(items[0])
            return AnnotationSchema({"type": "array", "items": inner.schema}, inner.exact)
        case "dict" if len(items) == 2:
            inner = annotation_schema(items[1])
            return AnnotationSchema({"type": "object", "additionalProperties": inner.schema}, inner.exact)
        case "Optional":
            return _union_schema([*items, ast.Constant(value=None)])
        case "Union":
            return _union_schema(items)
        case "Literal":
            values = [item.value for item in items if isinstance(item, ast.Constant)]
            return AnnotationSchema({"enum": values}) if len(values) == len(items) else UNKNOWN_ANNOTATION
        case "Annotated":
            # The metadata may restrict the type.
            return AnnotationSchema(annotation_schema(items[0]).schema, exact=False)
        case _:
            return UNKNOWN_ANNOTATION


def _union_schema(nodes: list[ast.expr]) -> AnnotationSchema:
    members = [annotation_schema(node) for node in nodes]
    flat: list[dict[str, Any]] = []
    for read in members:
        flat += read.schema["anyOf"] if set(read.schema) == {"anyOf"} else [read.schema]
    return AnnotationSchema({"anyOf": flat}, all(read.exact for read in members))


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name (`List` of `typing.List`); empty if it is not a name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return ALIASES.get(name, name)
        case _:
            return ""
