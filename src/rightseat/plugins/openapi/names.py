"""Unique names of operations: from the operationId, else from method and path."""

from __future__ import annotations

import re

from rightseat.plugins.naming import ascii_word, digest

LONGEST = 48
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_ODD = re.compile(r"[^A-Za-z0-9]+")
_GOOD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def by_path(method: str, path: str) -> str:
    """Return a name such as `get_hosts_by_id` for GET /hosts/{id}."""
    words = [method.lower()]
    for part in filter(None, path.split("/")):
        inner = re.fullmatch(r"\{([^{}]*)\}", part)
        word = _ODD.sub("_", ascii_word(inner[1] if inner else part, "x")).strip("_")
        words.append(f"by_{word}" if inner else word)
    return "_".join(filter(None, words))


def by_id(given: str) -> str:
    """Return the operationId as an ASCII identifier; empty if that is not possible."""
    word = _ODD.sub("_", given).strip("_") if given.isascii() else ""
    return word if _GOOD.fullmatch(word) else ""


def short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 7].rstrip('_')}_{digest(name)}"


class Names:
    def __init__(self) -> None:
        self.taken: set[str] = set()

    def take(self, given: str, method: str, path: str) -> str:
        wanted = short(by_id(given) or by_path(method, path))
        name = wanted if wanted not in self.taken else short(by_path(method, path))
        number = 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name
