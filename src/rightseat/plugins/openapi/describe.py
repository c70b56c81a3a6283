"""Description of an operation for the model: purpose, body and response fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.circles import DEFS_PREFIX
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.operation import OperationResponse

MAX_DESCRIPTION = 1_000
MAX_FIELDS_TEXT = 400
MAX_FIELDS = 24


def describe_operation(
    item: Node, operation: Node, content: ParsedBody | None, answer: OperationResponse | None
) -> str:
    lines = [truncate(node_description(operation) or node_description(item), MAX_DESCRIPTION)]
    if operation.is_true("deprecated"):
        lines.append("Deprecated.")
    if content is not None and content.is_flat and content.description:
        lines.append(f"Body: {truncate(collapse_whitespace(content.description), MAX_FIELDS_TEXT)}")
    if answer is not None:
        summary, names = (
            collapse_whitespace(answer.description),
            ", ".join(describe_fields(answer.schema, answer.schema or {})),
        )
        if summary or names:
            lines.append(
                truncate(f"Returns: {summary}{': ' if summary and names else ''}{names}", MAX_FIELDS_TEXT)
            )
    return "\n".join(line for line in lines if line)


def node_description(node: Node) -> str:
    return node.text("description") or node.text("summary")


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def describe_fields(schema: Any, root: Schema, prefix: str = "", level: int = 0) -> Iterator[str]:
    """Yield field names such as `hosts[] (all hosts)` with their descriptions, two levels deep."""
    inner, many = unwrap_schema(schema, root)
    for number, (name, one) in enumerate((inner.get("properties") or {}).items()):
        if number >= MAX_FIELDS:
            yield "…"
            return
        below, several = unwrap_schema(one, root)
        path = f"{prefix}{name}{'[]' if several else ''}"
        description = collapse_whitespace(str(one.get("description") or below.get("description") or ""))
        yield f"{path} ({truncate(description, 60)})" if description else path
        if level < 1:
            yield from describe_fields(below, root, f"{path}.", level + 1)
    if many and level == 0 and not inner.get("properties") and inner.get("description"):
        yield collapse_whitespace(str(inner["description"]))


def unwrap_schema(schema: Any, root: Schema) -> tuple[Schema, bool]:
    """Follow references and `items`; returns the inner schema and whether it is a list's."""
    is_list = False
    for _ in range(6):
        if not isinstance(schema, dict):
            return {}, is_list
        if "$ref" in schema:
            schema = (root.get("$defs") or {}).get(str(schema["$ref"]).removeprefix(DEFS_PREFIX))
        elif isinstance(schema.get("items"), dict):
            schema, is_list = schema["items"], True
        else:
            return schema, is_list
    return {}, is_list
