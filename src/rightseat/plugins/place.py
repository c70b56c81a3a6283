"""Key paths within a document, as tuples and as text."""

from __future__ import annotations

from collections.abc import Sequence

Step = str | int
Path = tuple[Step, ...]
LONGEST = 200


def written(path: Sequence[Step]) -> str:
    """Format a key path, such as `paths./hosts.get.parameters[0]`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")[:LONGEST]
