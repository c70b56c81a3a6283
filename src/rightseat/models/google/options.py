"""Parse `google:NAME` and its options into a GoogleModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.config.options import TIMEOUTS, parse_options
from rightseat.errors import ConfigError
from rightseat.http.client import parse_host
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models._vendor.options import has_key, read_environment
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.models.google.client import GoogleModel
from rightseat.models.google.request import make_request_options

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
    parsed = parse_options(
        f"The model google:{name}",
        options,
        GoogleOptions,
        defaults=read_environment(options, GOOGLE_URL, "GOOGLE_GEMINI_BASE_URL", _KEY_VARIABLES, is_google),
        positive=(*TIMEOUTS, "tries"),
    )
    if is_google(parsed.base_url) and not has_key(parsed.api_key, parsed.headers, "x-goog-api-key", "authorization"):
        raise ConfigError(f"The model google:{name} needs a key: set GEMINI_API_KEY, or api_key.")
    capabilities = override_capabilities(lookup_capabilities("google", name), msgspec.structs.asdict(parsed))
    thoughts = capabilities.reasoning if parsed.thoughts is None else parsed.thoughts
    return GoogleModel(
        name,
        base_url=parsed.base_url,
        api_key=parsed.api_key,
        headers=parsed.headers,
        timeouts=Timeouts(parsed.connect_timeout, parsed.first_token_timeout, parsed.idle_timeout),
        capabilities=capabilities,
        request_options=make_request_options(
            name, thoughts, parsed.thinking_budget, parsed.thinking_level, schema=capabilities.schema
        ),
        tries=parsed.tries,
    )


def is_google(base_url: str) -> bool:
    return parse_host(base_url).endswith(".googleapis.com")
