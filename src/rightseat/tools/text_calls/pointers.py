"""`$ref`s within one JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote


def iter_refs(schema: Any) -> Iterator[str]:
    """Yield every `$ref` of the schema, with repetitions. No recursion: it may be nested deeply."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def resolve_ref(root: Any, pointer: str) -> Any:
    """Return the target of a `$ref`; None if it is missing or in another document."""
    if not pointer.startswith("#"):
        return None
    value = root
    for step in unquote(pointer[1:]).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
