"""Parse `google:NAME` and its options into a GoogleModel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.http.address import host
from rightseat.types import capabilities as abilities
from rightseat.types.nearest import meant

if TYPE_CHECKING:
    from rightseat.models.google.client import Google

GOOGLE_URL = "https://generativelanguage.googleapis.com"
_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


class Options(Struct, frozen=True, kw_only=True):
    base_url: str = GOOGLE_URL
    """The server, without the API's version; else GOOGLE_GEMINI_BASE_URL."""
    api_key: str | None = None
    """Sent as `x-goog-api-key`. Else GEMINI_API_KEY or GOOGLE_API_KEY, but only to Google and
    GOOGLE_GEMINI_BASE_URL."""
    headers: dict[str, str] = {}
    """Further headers of each request; a value may be a reference."""
    connect_timeout: float = 10
    """Seconds for a connection."""
    first_token_timeout: float = 120
    """Seconds for the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    thoughts: bool | None = None
    """Whether the model's thoughts are shown; not given: where it is known to think."""
    thinking_budget: int | None = None
    """How many tokens it may think: 0 none, -1 as many as it likes. For Gemini 2.5."""
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    """How much it thinks. For Gemini 3 and newer."""
    tools: bool | None = None
    """Whether the model calls tools; not given: as it is known."""
    parallel: bool | None = None
    """Whether it makes several calls in one answer; not given: as it is known."""
    schema: bool | None = None
    """Whether it keeps to an output schema; not given: as it is known."""
    images: bool | None = None
    """Whether it takes images; not given: as it is known."""
    reasoning: bool | None = None
    """Whether it thinks; not given: as it is known."""
    tries: int = 3
    """How often a request is sent that fails before its first token."""


def model(name: str, options: Mapping[str, Any]) -> Google:
    """Make the model; GEMINI_API_KEY or GOOGLE_API_KEY and GOOGLE_GEMINI_BASE_URL fill missing options."""
    if not name:
        raise ConfigError("google: needs a model's name, as in google:gemini-2.5-flash")
    known = _known(name, options)
    _check(name, known)
    try:
        from rightseat.models.google.client import Google
        from rightseat.models.google.exchange import Times
        from rightseat.models.google.request import manner
    except ImportError as error:
        raise ConfigError(
            f"The model google:{name} needs Google's client. Install it with: pip install 'rightseat[google]'"
        ) from error
    able = abilities.said(abilities.known("google", name), msgspec.structs.asdict(known))
    thoughts = able.reasoning if known.thoughts is None else known.thoughts
    return Google(
        name,
        base_url=known.base_url,
        api_key=known.api_key,
        headers=known.headers,
        times=Times(known.connect_timeout, known.first_token_timeout, known.idle_timeout),
        abilities=able,
        manner=manner(name, thoughts, known.thinking_budget, known.thinking_level, schema=able.schema),
        tries=known.tries,
    )


def _known(name: str, options: Mapping[str, Any]) -> Options:
    keys = Options.__struct_fields__
    for key in options:
        if key not in keys:
            hint = meant(key, keys)
            raise ConfigError(f"The model google:{name} has no option {key!r}. {hint}", param=key)
    given: dict[str, Any] = {"base_url": os.environ.get("GOOGLE_GEMINI_BASE_URL") or GOOGLE_URL, **options}
    # Send the environment's key only to the environment's server or Google.
    if "base_url" not in options or is_google(str(options["base_url"])):
        found = filter(None, map(os.environ.get, _KEYS))
        given.setdefault("api_key", next(found, None))
    try:
        return msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The model google:{name} has a wrong option: {error}") from error


def is_google(base_url: str) -> bool:
    return host(base_url).endswith(".googleapis.com")


def _check(name: str, options: Options) -> None:
    for key in ("connect_timeout", "first_token_timeout", "idle_timeout", "tries"):
        if not getattr(options, key) > 0:
            raise ConfigError(f"The model google:{name} needs a {key} above 0.", param=key)
    carried = {header.lower() for header in options.headers}
    if (
        is_google(options.base_url)
        and not options.api_key
        and not carried & {"x-goog-api-key", "authorization"}
    ):
        raise ConfigError(f"The model google:{name} needs a key: set GEMINI_API_KEY, or api_key.")
