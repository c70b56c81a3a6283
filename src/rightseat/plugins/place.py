"""Where something stands in a document, as steps and as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

Step = str | int
Path = tuple[Step, ...]
LONGEST = 200


def written(path: Sequence[Step]) -> str:
    """`paths./hosts.get.parameters[0]`"""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")[:LONGEST]
