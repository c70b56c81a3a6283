"""Key paths within a document, as tuples and as text."""

from __future__ import annotations

from collections.abc import Sequence

PathKey = str | int
KeyPath = tuple[PathKey, ...]
MAX_PATH_LENGTH = 200


def format_path(path: Sequence[PathKey]) -> str:
    """Format a key path, such as `paths./hosts.get.parameters[0]`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")[:MAX_PATH_LENGTH]
