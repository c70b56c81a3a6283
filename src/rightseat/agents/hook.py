"""The `on_before_request` hook: an application adds headers to each request to an agent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.config.imports import import_object
from rightseat.errors import ConfigError
from rightseat.types.turn import Owner

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z\-]{1,200}")


class OutgoingRequest(Struct, frozen=True):
    """The argument of `on_before_request`: a request about to be sent. It has no owner when rightseat itself
    asks for the peer's list of agents."""

    method: str
    path: str
    owner: Owner | None = None
    headers: dict[str, str] = {}
    """The client's headers that may be forwarded."""
    properties: dict[str, Any] = {}
    """Forwarded properties, as the client wrote them: not trusted."""


RequestHook = Callable[[OutgoingRequest], Mapping[str, str] | Awaitable[Mapping[str, str] | None] | None]


def load_target(value: Any, option: str) -> Any:
    """Load the object that an option names as `module:attribute`; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return import_object(value)
    except ConfigError as error:
        raise ConfigError(f"{option}: {error.message}", param=option) from error


def load_request_hook(value: Any) -> RequestHook | None:
    """Load the option `on_before_request` and check that it is callable."""
    hook: RequestHook | None = load_target(value, "on_before_request")
    if hook is not None and not callable(hook):
        raise ConfigError("on_before_request must name a function, as module:attribute.", param="on_before_request")
    return hook


def is_valid_header(name: object, value: object) -> bool:
    if not (isinstance(name, str) and isinstance(value, str)):
        return False
    return bool(_HEADER_NAME.fullmatch(name)) and value.isascii() and value.isprintable()
