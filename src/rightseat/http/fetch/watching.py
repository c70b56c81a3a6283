"""Records the requests that a task sends, for the playground's tool trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rightseat.config.secret import mask

_SEEN: ContextVar[list[dict[str, Any]] | None] = ContextVar("seen", default=None)
# Values of all other headers are masked: one may be a key.
SHOWN = ("accept", "content-type", "user-agent")
MOST = 4000


@contextmanager
def watching() -> Iterator[list[dict[str, Any]]]:
    """Record the requests of this task within the block, in order; yields the list."""
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
