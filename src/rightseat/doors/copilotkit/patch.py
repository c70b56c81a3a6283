"""Apply JSON Patch (RFC 6902) to a state, because GraphQL clients take whole states only."""

from __future__ import annotations

import copy
from typing import Any


def apply_patch(state: Any, operations: list[dict[str, Any]]) -> Any:
    """Return a patched copy of the state. None is an empty state; an operation that fails is skipped."""
    root = {"": {} if state is None else copy.deepcopy(state)}
    for step in operations:
        try:
            apply_operation(root, step)
        except (KeyError, IndexError, TypeError, ValueError):
            continue
    return root[""]


def apply_operation(root: dict[str, Any], operation: dict[str, Any]) -> None:
    path = parse_pointer(operation["path"])
    match operation["op"]:
        case "add":
            set_value(root, path, operation["value"], insert=True)
        case "replace":
            set_value(root, path, operation["value"], insert=False)
        case "remove":
            remove_value(root, path)
        case "move":
            set_value(root, path, remove_value(root, parse_pointer(operation["from"])), insert=True)
        case "copy":
            set_value(
                root,
                path,
                copy.deepcopy(resolve_pointer(root, parse_pointer(operation["from"]))),
                insert=True,
            )
        case _:
            pass


def parse_pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def resolve_pointer(root: Any, path: list[str]) -> Any:
    for key in path:
        root = root[int(key)] if isinstance(root, list) else root[key]
    return root


def set_value(root: Any, path: list[str], value: Any, *, insert: bool) -> None:
    holder, key = resolve_pointer(root, path[:-1]), path[-1]
    if not isinstance(holder, list):
        holder[key] = value
    elif insert:
        holder.insert(len(holder) if key == "-" else int(key), value)
    else:
        holder[int(key)] = value


def remove_value(root: Any, path: list[str]) -> Any:
    holder, key = resolve_pointer(root, path[:-1]), path[-1]
    return holder.pop(int(key)) if isinstance(holder, list) else holder.pop(key)
