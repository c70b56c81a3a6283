"""Options that every HTTP agent accepts in its [agents.NAME] table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.agents._peer.reach import Reach
from rightseat.agents.hook import hook_of
from rightseat.errors import ConfigError
from rightseat.types.nearest import meant


class Options(Struct, frozen=True, kw_only=True):
    url: str
    """Where the agent answers: the address that a client of it would post to."""
    headers: dict[str, str] = {}
    """Sent with each request; a value may be a reference such as `env:AGENT_KEY`."""
    on_before_request: Any = None
    """`module:attribute`: called before each request, returns headers for it."""
    timeout: float = 120
    """Seconds for which the peer may say nothing."""
    connect_timeout: float = 10
    """Seconds for a connection."""
    tries: int = 3
    """How often a request is sent that the peer has not taken."""
    title: str = ""
    """What people are shown."""
    description: str = ""
    """What it is for: people read it, and models that may hand over to it."""


Kind = TypeVar("Kind", bound=Struct)


def settled(kind: str, name: str, options: Mapping[str, Any], type_: type[Kind]) -> Kind:
    """Convert an options table to `options_type`; raises ConfigError for an unknown or wrong option."""
    known = type_.__struct_fields__
    for key in options:
        if key not in known:
            hint = meant(key, known)
            raise ConfigError(f"The agent {name!r} ({kind}) has no option {key!r}. {hint}", param=key)
    try:
        found = msgspec.convert(dict(options), type_)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The agent {name!r} ({kind}) has a wrong option: {error}") from error
    for key in known:
        value = getattr(found, key)
        if isinstance(value, float | int) and not isinstance(value, bool) and value <= 0:
            raise ConfigError(f"The agent {name!r} ({kind}) needs a {key} above 0.", param=key)
    return found


def reach_of(name: str, options: Options) -> Reach:
    return Reach(
        name,
        options.url,
        headers=options.headers,
        hook=hook_of(options.on_before_request),
        connect_timeout=options.connect_timeout,
        timeout=options.timeout,
        tries=options.tries,
    )
