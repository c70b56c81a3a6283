"""Options that every HTTP agent accepts in its [agents.NAME] table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.agents._peer.reach import AgentClient
from rightseat.agents.hook import load_request_hook
from rightseat.errors import ConfigError
from rightseat.types.nearest import did_you_mean


class AgentOptions(Struct, frozen=True, kw_only=True):
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


OptionsT = TypeVar("OptionsT", bound=Struct)


def parse_options(kind: str, name: str, options: Mapping[str, Any], options_type: type[OptionsT]) -> OptionsT:
    """Convert an options table to `options_type`; raises ConfigError for an unknown or wrong option."""
    known = options_type.__struct_fields__
    for key in options:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ConfigError(f"The agent {name!r} ({kind}) has no option {key!r}. {hint}", param=key)
    try:
        parsed = msgspec.convert(dict(options), options_type)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The agent {name!r} ({kind}) has a wrong option: {error}") from error
    for key in known:
        value = getattr(parsed, key)
        if isinstance(value, float | int) and not isinstance(value, bool) and value <= 0:
            raise ConfigError(f"The agent {name!r} ({kind}) needs a {key} above 0.", param=key)
    return parsed


def make_client(name: str, options: AgentOptions) -> AgentClient:
    return AgentClient(
        name,
        options.url,
        headers=options.headers,
        hook=load_request_hook(options.on_before_request),
        connect_timeout=options.connect_timeout,
        timeout=options.timeout,
        tries=options.tries,
    )
