"""Parse `google:NAME` and its options into a GoogleModel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.http.client import parse_host
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.types.text import did_you_mean

if TYPE_CHECKING:
    from rightseat.models.google.client import GoogleModel

GOOGLE_URL = "https://generativelanguage.googleapis.com"
_KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


class GoogleOptions(Struct, frozen=True, kw_only=True):
    base_url: str = GOOGLE_URL
    """The server's URL, without the API version. Without it GOOGLE_GEMINI_BASE_URL, else Google."""
    api_key: str | None = None
    """The key, sent as `x-goog-api-key`. Without it GEMINI_API_KEY or GOOGLE_API_KEY, which are sent only to Google
    and GOOGLE_GEMINI_BASE_URL."""
    headers: dict[str, str] = {}
    """Further headers of each request. A value may be a reference."""
    connect_timeout: float = 10
    """Seconds for connecting to the server."""
    first_token_timeout: float = 120
    """Seconds until the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    thoughts: bool | None = None
    """Whether the model's thoughts are shown as reasoning. Without it, if the model is known to think."""
    thinking_budget: int | None = None
    """The most tokens for thinking, for Gemini 2.5. 0 means none, -1 means that the model decides."""
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    """How much the model thinks, for Gemini 3 and newer."""
    tools: bool | None = None
    """Whether the model can call tools. Without it, as the model's family does."""
    parallel: bool | None = None
    """Whether the model calls several tools in one answer. Without it, as the model's family does."""
    schema: bool | None = None
    """Whether the API enforces an output schema. Without it, as the model's family does."""
    images: bool | None = None
    """Whether the model accepts images. Without it, as the model's family does."""
    reasoning: bool | None = None
    """Whether the model reasons before it answers. Without it, as the model's family does."""
    tries: int = 3
    """How often a request is sent in all if it fails before its first token."""


def model(name: str, options: Mapping[str, Any]) -> GoogleModel:
    """Make the model; GEMINI_API_KEY or GOOGLE_API_KEY and GOOGLE_GEMINI_BASE_URL fill missing options."""
    if not name:
        raise ConfigError("google: needs a model's name, as in google:gemini-2.5-flash")
    parsed = _parse_options(name, options)
    _check_options(name, parsed)
    try:
        from rightseat.models.google.client import GoogleModel
        from rightseat.models.google.exchange import GoogleTimeouts
        from rightseat.models.google.request import make_request_options
    except ImportError as error:
        raise ConfigError(
            f"The model google:{name} needs Google's client. Install it with: pip install 'rightseat[google]'"
        ) from error
    capabilities = override_capabilities(lookup_capabilities("google", name), msgspec.structs.asdict(parsed))
    thoughts = capabilities.reasoning if parsed.thoughts is None else parsed.thoughts
    return GoogleModel(
        name,
        base_url=parsed.base_url,
        api_key=parsed.api_key,
        headers=parsed.headers,
        timeouts=GoogleTimeouts(parsed.connect_timeout, parsed.first_token_timeout, parsed.idle_timeout),
        capabilities=capabilities,
        request_options=make_request_options(
            name, thoughts, parsed.thinking_budget, parsed.thinking_level, schema=capabilities.schema
        ),
        tries=parsed.tries,
    )


def _parse_options(name: str, options: Mapping[str, Any]) -> GoogleOptions:
    keys = GoogleOptions.__struct_fields__
    for key in options:
        if key not in keys:
            hint = did_you_mean(key, keys)
            raise ConfigError(f"The model google:{name} has no option {key!r}. {hint}", param=key)
    values: dict[str, Any] = {"base_url": os.environ.get("GOOGLE_GEMINI_BASE_URL") or GOOGLE_URL, **options}
    # Send the environment's key only to the environment's server or Google.
    if "base_url" not in options or is_google(str(options["base_url"])):
        environment_keys = filter(None, map(os.environ.get, _KEY_VARIABLES))
        values.setdefault("api_key", next(environment_keys, None))
    try:
        return msgspec.convert(values, GoogleOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The model google:{name} has a wrong option: {error}") from error


def is_google(base_url: str) -> bool:
    return parse_host(base_url).endswith(".googleapis.com")


def _check_options(name: str, options: GoogleOptions) -> None:
    for key in ("connect_timeout", "first_token_timeout", "idle_timeout", "tries"):
        if not getattr(options, key) > 0:
            raise ConfigError(f"The model google:{name} needs a {key} above 0.", param=key)
    header_names = {header.lower() for header in options.headers}
    if is_google(options.base_url) and not options.api_key and not header_names & {"x-goog-api-key", "authorization"}:
        raise ConfigError(f"The model google:{name} needs a key: set GEMINI_API_KEY, or api_key.")
