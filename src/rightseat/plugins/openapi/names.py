"""Unique names of operations: from the operationId, else from method and path."""

from __future__ import annotations

import re

from rightseat.plugins.naming import hash_text, make_ascii_word

MAX_NAME_LENGTH = 48
HTTP_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_NON_ALNUM = re.compile(r"[^A-Za-z0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def name_from_path(method: str, path: str) -> str:
    """Return a name such as `get_hosts_by_id` for GET /hosts/{id}."""
    words = [method.lower()]
    for part in filter(None, path.split("/")):
        inner = re.fullmatch(r"\{([^{}]*)\}", part)
        word = _NON_ALNUM.sub("_", make_ascii_word(inner[1] if inner else part, "x")).strip("_")
        words.append(f"by_{word}" if inner else word)
    return "_".join(filter(None, words))


def name_from_operation_id(operation_id: str) -> str:
    """Return the operationId as an ASCII identifier; empty if that is not possible."""
    word = _NON_ALNUM.sub("_", operation_id).strip("_") if operation_id.isascii() else ""
    return word if _IDENTIFIER.fullmatch(word) else ""


def shorten_name(name: str) -> str:
    return (
        name
        if len(name) <= MAX_NAME_LENGTH
        else f"{name[: MAX_NAME_LENGTH - 7].rstrip('_')}_{hash_text(name)}"
    )


class OperationNames:
    def __init__(self) -> None:
        self.taken: set[str] = set()

    def assign(self, operation_id: str, method: str, path: str) -> str:
        wanted = shorten_name(name_from_operation_id(operation_id) or name_from_path(method, path))
        name = wanted if wanted not in self.taken else shorten_name(name_from_path(method, path))
        number = 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name
