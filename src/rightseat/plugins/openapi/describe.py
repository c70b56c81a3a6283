"""Description of an operation for the model (purpose, body and response fields), and its unique name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.overlap import DEFS_PREFIX
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.plugin import OperationResponse, hash_text, make_ascii_word

MAX_DESCRIPTION = 1_000
MAX_FIELDS_TEXT = 400
MAX_FIELDS = 24
MAX_NAME_LENGTH = 48
HTTP_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_NON_ALNUM = re.compile(r"[^A-Za-z0-9]+")


def describe_operation(
    item: Node, operation: Node, content: ParsedBody | None, answer: OperationResponse | None
) -> str:
    texts = (node.text(key) for node in (operation, item) for key in ("description", "summary"))
    lines = [truncate(next(filter(None, texts), ""), MAX_DESCRIPTION)]
    if operation.is_true("deprecated"):
        lines.append("Deprecated.")
    if content is not None and content.is_flat and content.description:
        lines.append(f"Body: {truncate(collapse_whitespace(content.description), MAX_FIELDS_TEXT)}")
    if answer is not None:
        summary = collapse_whitespace(answer.description)
        names = ", ".join(describe_fields(answer.schema, answer.schema or {}))
        if summary or names:
            lines.append(truncate(f"Returns: {summary}{': ' if summary and names else ''}{names}", MAX_FIELDS_TEXT))
    return "\n".join(line for line in lines if line)


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def describe_fields(schema: Any, root: Schema, prefix: str = "", level: int = 0) -> Iterator[str]:
    """Yield field names such as `hosts[] (all hosts)` with their descriptions, two levels deep."""
    inner, many = unwrap_schema(schema, root)
    for number, (name, field) in enumerate((inner.get("properties") or {}).items()):
        if number >= MAX_FIELDS:
            yield "…"
            return
        below, several = unwrap_schema(field, root)
        path = f"{prefix}{name}{'[]' if several else ''}"
        description = collapse_whitespace(str(field.get("description") or below.get("description") or ""))
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


def name_from_path(method: str, path: str) -> str:
    """Return a name such as `get_hosts_by_id` for GET /hosts/{id}."""
    words = [method.lower()]
    for part in filter(None, path.split("/")):
        inner = re.fullmatch(r"\{([^{}]*)\}", part)
        word = _NON_ALNUM.sub("_", make_ascii_word(inner[1] if inner else part, "x")).strip("_")
        words.append(f"by_{word}" if inner else word)
    return "_".join(filter(None, words))


def shorten_name(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 7].rstrip('_')}_{hash_text(name)}"


def make_operation_name(operation_id: str, method: str, path: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the operationId as an ASCII identifier, else method and path."""
    word = _NON_ALNUM.sub("_", operation_id).strip("_") if operation_id.isascii() else ""
    preferred = shorten_name(word if word[:1].isalpha() else name_from_path(method, path))
    name = preferred if preferred not in taken else shorten_name(name_from_path(method, path))
    number = 1
    while name in taken:
        number += 1
        name = f"{preferred}_{number}"
    return name
