"""What is sent to others while somebody watches: for people who try an operation by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rightseat.config.secret import mask

_SEEN: ContextVar[list[dict[str, Any]] | None] = ContextVar("seen", default=None)
# Of all other headers only the names: one may be somebody's key.
SHOWN = ("accept", "content-type", "user-agent")
MOST = 4000


@contextmanager
def watching() -> Iterator[list[dict[str, Any]]]:
    """The requests that this task makes meanwhile, the first one first."""
    seen: list[dict[str, Any]] = []
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def sent(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> None:
    seen = _SEEN.get()
    if seen is None:
        return
    shown = {name: value if name.lower() in SHOWN else "•••" for name, value in headers.items()}
    text = (body or b"")[:MOST].decode("utf-8", "replace")
    seen.append({"method": method, "url": mask(url), "headers": shown, "body": mask(text)})
