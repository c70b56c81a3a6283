"""Description of an operation for the model: purpose, body and response fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightseat.plugins.openapi.bodies import Content
from rightseat.plugins.openapi.circles import POINTER
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.operation import Response

LONGEST = 1_000
FIELDS = 400
MAX_NAMED = 24


def description(item: Node, operation: Node, content: Content | None, answer: Response | None) -> str:
    lines = [cut(own(operation) or own(item), LONGEST)]
    if operation.says("deprecated"):
        lines.append("Deprecated.")
    if content is not None and content.plain and content.description:
        lines.append(f"Body: {cut(one_line(content.description), FIELDS)}")
    if answer is not None:
        said, names = one_line(answer.description), ", ".join(fields(answer.schema, answer.schema or {}))
        if said or names:
            lines.append(cut(f"Returns: {said}{': ' if said and names else ''}{names}", FIELDS))
    return "\n".join(line for line in lines if line)


def own(node: Node) -> str:
    return node.text("description") or node.text("summary")


def one_line(text: str) -> str:
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def fields(schema: Any, root: Schema, prefix: str = "", level: int = 0) -> Iterator[str]:
    """Yield field names such as `hosts[] (all hosts)` with their descriptions, two levels deep."""
    inner, many = shape(schema, root)
    for number, (name, one) in enumerate((inner.get("properties") or {}).items()):
        if number >= MAX_NAMED:
            yield "…"
            return
        below, several = shape(one, root)
        path = f"{prefix}{name}{'[]' if several else ''}"
        said = one_line(str(one.get("description") or below.get("description") or ""))
        yield f"{path} ({cut(said, 60)})" if said else path
        if level < 1:
            yield from fields(below, root, f"{path}.", level + 1)
    if many and level == 0 and not inner.get("properties") and inner.get("description"):
        yield one_line(str(inner["description"]))


def shape(schema: Any, root: Schema) -> tuple[Schema, bool]:
    """Follow references and `items`; returns the inner schema and whether it is a list's."""
    many = False
    for _ in range(6):
        if not isinstance(schema, dict):
            return {}, many
        if "$ref" in schema:
            schema = (root.get("$defs") or {}).get(str(schema["$ref"]).removeprefix(POINTER))
        elif isinstance(schema.get("items"), dict):
            schema, many = schema["items"], True
        else:
            return schema, many
    return {}, many
