"""Apply JSON Patch (RFC 6902) to a state, because GraphQL clients take whole states only."""

from __future__ import annotations

import copy
from typing import Any


def patched(state: Any, steps: list[dict[str, Any]]) -> Any:
    """Return a patched copy of the state. None is an empty state; an operation that fails is skipped."""
    made = {"": {} if state is None else copy.deepcopy(state)}
    for step in steps:
        try:
            apply(made, step)
        except (KeyError, IndexError, TypeError, ValueError):
            continue
    return made[""]


def apply(root: dict[str, Any], step: dict[str, Any]) -> None:
    path = pointer(step["path"])
    match step["op"]:
        case "add":
            put(root, path, step["value"], insert=True)
        case "replace":
            put(root, path, step["value"], insert=False)
        case "remove":
            take(root, path)
        case "move":
            put(root, path, take(root, pointer(step["from"])), insert=True)
        case "copy":
            put(root, path, copy.deepcopy(find(root, pointer(step["from"]))), insert=True)
        case _:
            pass


def pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def find(root: Any, path: list[str]) -> Any:
    for key in path:
        root = root[int(key)] if isinstance(root, list) else root[key]
    return root


def put(root: Any, path: list[str], value: Any, *, insert: bool) -> None:
    holder, key = find(root, path[:-1]), path[-1]
    if not isinstance(holder, list):
        holder[key] = value
    elif insert:
        holder.insert(len(holder) if key == "-" else int(key), value)
    else:
        holder[int(key)] = value


def take(root: Any, path: list[str]) -> Any:
    holder, key = find(root, path[:-1]), path[-1]
    return holder.pop(int(key)) if isinstance(holder, list) else holder.pop(key)
