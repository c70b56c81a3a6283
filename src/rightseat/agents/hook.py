"""`on_before_request`: an application's own headers, asked for with each request to an agent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.config.loading import load
from rightseat.errors import ConfigError
from rightseat.types.turn import Owner

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z\-]{1,200}")


class Outgoing(Struct, frozen=True):
    """A request that is about to be sent, as `on_before_request` sees it. Without an owner it is ours: the
    peer is asked what it has."""

    method: str
    path: str
    owner: Owner | None = None
    headers: dict[str, str] = {}
    """What the client may pass on."""
    properties: dict[str, Any] = {}
    """What the application sends beside the conversation. Its client wrote it."""


Hook = Callable[[Outgoing], Mapping[str, str] | Awaitable[Mapping[str, str] | None] | None]


def target(value: Any, option: str) -> Any:
    """What an option names as `module:attribute`; what is an object already stays it."""
    if not isinstance(value, str):
        return value
    try:
        return load(value)
    except ConfigError as error:
        raise ConfigError(f"{option}: {error.message}", param=option) from error


def hook_of(value: Any) -> Hook | None:
    """The option `on_before_request`."""
    found = target(value, "on_before_request")
    if found is not None and not callable(found):
        raise ConfigError(
            "on_before_request names something that cannot be called.", param="on_before_request"
        )
    hook: Hook | None = found
    return hook


def fits(name: object, value: object) -> bool:
    """Whether it can stand in a request's head."""
    if not (isinstance(name, str) and isinstance(value, str)):
        return False
    return bool(_NAME.fullmatch(name)) and value.isascii() and value.isprintable()
