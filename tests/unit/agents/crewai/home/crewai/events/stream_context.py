"""As in the real one: whoever listens does so in the context of a run."""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

Sinks = tuple[Callable[[Any, Any], None], ...]
sinks: ContextVar[Sinks] = ContextVar("sinks", default=())


def add_stream_sink(sink: Callable[[Any, Any], None]) -> Token[Sinks]:
    return sinks.set((*sinks.get(), sink))


def reset_stream_sinks(token: Token[Sinks]) -> None:
    sinks.reset(token)


def publish_stream_event(source: Any, event: Any) -> None:
    for sink in sinks.get():
        sink(source, event)
