"""Records the requests that a task sends, for the playground's tool trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rightseat.config.secret import mask

_RECORDED: ContextVar[list[dict[str, Any]] | None] = ContextVar("seen", default=None)
# Values of all other headers are masked: one may be a key.
SHOWN_HEADERS = ("accept", "content-type", "user-agent")
MAX_BODY_SHOWN = 4000


@contextmanager
def record_requests() -> Iterator[list[dict[str, Any]]]:
    """Record the requests of this task within the block, in order; yields the list."""
    requests: list[dict[str, Any]] = []
    token = _RECORDED.set(requests)
    try:
        yield requests
    finally:
        _RECORDED.reset(token)


def record_request(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> None:
    requests = _RECORDED.get()
    if requests is None:
        return
    shown = {name: value if name.lower() in SHOWN_HEADERS else "•••" for name, value in headers.items()}
    text = (body or b"")[:MAX_BODY_SHOWN].decode("utf-8", "replace")
    requests.append({"method": method, "url": mask(url), "headers": shown, "body": mask(text)})
