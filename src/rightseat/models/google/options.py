"""Parse `google:NAME` and its options into a GoogleModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rightseat.config.options import TIMEOUTS, parse_options
from rightseat.errors import ConfigError
from rightseat.http.client import parse_host
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models._vendor.options import VendorOptions, read_environment
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.models.google.client import GoogleModel
from rightseat.models.google.request import GoogleRequestOptions, is_gemini_3, is_pro

GOOGLE_URL = "https://generativelanguage.googleapis.com"
_KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


class GoogleOptions(VendorOptions, frozen=True, kw_only=True):
    base_url: str = GOOGLE_URL
    """The server's URL, without the API version. Without it GOOGLE_GEMINI_BASE_URL, else Google."""
    api_key: str | None = None
    """The key, sent as `x-goog-api-key`. Without it GEMINI_API_KEY or GOOGLE_API_KEY, which are sent only to Google
    and GOOGLE_GEMINI_BASE_URL."""
    thoughts: bool | None = None
    """Whether the model's thoughts are shown as reasoning. Without it, if the model is known to think."""
    thinking_budget: int | None = None
    """The most tokens for thinking, for Gemini 2.5. 0 means none, -1 means that the model decides."""
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    """How much the model thinks, for Gemini 3 and newer."""
    tools: bool | None = None
    """Whether the model can call tools. Without it, as the model's family does."""
    reasoning: bool | None = None
    """Whether the model reasons before it answers. Without it, as the model's family does."""


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
    if is_google(parsed.base_url) and not parsed.has_key("x-goog-api-key", "authorization"):
        raise ConfigError(f"The model google:{name} needs a key: set GEMINI_API_KEY, or api_key.")
    capabilities = override_capabilities(lookup_capabilities("google", name), msgspec.structs.asdict(parsed))
    return GoogleModel(
        name,
        base_url=parsed.base_url,
        api_key=parsed.api_key,
        headers=parsed.headers,
        timeouts=Timeouts(parsed.connect_timeout, parsed.first_token_timeout, parsed.idle_timeout),
        capabilities=capabilities,
        request_options=GoogleRequestOptions(
            include_thoughts=capabilities.reasoning if parsed.thoughts is None else parsed.thoughts,
            thinking_budget=parsed.thinking_budget,
            thinking_level=parsed.thinking_level,
            supports_schema=capabilities.schema,
            is_gemini_3=is_gemini_3(name),
            thinks=capabilities.reasoning,
            lowest_budget=128 if is_pro(name) else 0,
            lowest_level="low" if is_pro(name) else "minimal",
        ),
        tries=parsed.tries,
    )


def is_google(base_url: str) -> bool:
    return parse_host(base_url).endswith(".googleapis.com")
