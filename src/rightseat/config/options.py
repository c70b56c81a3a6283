"""Options of a model, an agent or `asgi`: a mapping as a Struct."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.types.text import did_you_mean

OptionsT = TypeVar("OptionsT", bound=Struct)
TIMEOUTS = ("connect_timeout", "first_token_timeout", "idle_timeout")


def parse_options(
    owner: str,
    options: Mapping[str, Any],
    options_type: type[OptionsT],
    *,
    defaults: Mapping[str, Any] = {},
    positive: Collection[str] = (),
    known: Collection[str] = (),
) -> OptionsT:
    """Convert `options` over `defaults`; raises ConfigError for an unknown or wrong option of `owner`, and for
    a number of `positive` that is not above 0. `known`: the fields that are options, if not all are."""
    known = known or options_type.__struct_fields__
    for key in options:
        if key not in known:
            raise ConfigError(f"{owner} has no option {key!r}. {did_you_mean(key, known)}", param=key)
    try:
        parsed = msgspec.convert({**defaults, **options}, options_type)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{owner} has a wrong option: {error}") from error
    for key in positive:
        value = getattr(parsed, key, None)
        if isinstance(value, float | int) and not isinstance(value, bool) and not value > 0:
            raise ConfigError(f"{owner} needs a {key} above 0.", param=key)
    return parsed
