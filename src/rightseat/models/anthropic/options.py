"""Parse `anthropic:NAME` and its options into an AnthropicModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rightseat.config.options import TIMEOUTS, parse_options
from rightseat.errors import ConfigError
from rightseat.http.client import parse_host
from rightseat.models._vendor.options import VendorOptions, read_environment
from rightseat.models.anthropic.client import ANTHROPIC_URL, AnthropicModel
from rightseat.models.anthropic.request import AnthropicRequestOptions
from rightseat.models.catalog import lookup_capabilities, override_capabilities


class AnthropicOptions(VendorOptions, frozen=True, kw_only=True):
    base_url: str = ANTHROPIC_URL
    """The server's URL, without `/v1`. Without it ANTHROPIC_BASE_URL, else Anthropic."""
    api_key: str | None = None
    """The key. Without it ANTHROPIC_API_KEY, which is sent only to Anthropic and ANTHROPIC_BASE_URL."""
    max_tokens: int | None = None
    """The most tokens of an answer if the caller sets no limit. Without it, the most that the model can write."""
    thinking: bool | int | None = None
    """Whether the model thinks before it answers. A number is a budget in tokens, for models that accept one; false
    is ignored if the model always thinks. Without it, the model's default."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """The model's effort, for models that support it. A caller's `reasoning_effort` overrides it."""
    cache: bool = True
    """Whether instructions, tools and the last turn are marked for the vendor's prompt cache."""
    sampling: bool = False
    """Whether temperature, top_p and top_k are passed on, with the API of 2023. Claude 4.6 and older accept them."""
    strict_tools: bool = False
    """Whether the API enforces each tool's schema that it supports. Arguments then stream without waiting for a
    check."""
    tools: bool | None = None
    """Whether the model can call tools. Without it, as the model's family does."""


def model(name: str, options: Mapping[str, Any]) -> AnthropicModel:
    """Make the model; ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL fill missing options."""
    if not name:
        raise ConfigError("anthropic: needs a model's name, as in anthropic:claude-opus-5-5")
    parsed = parse_options(
        f"The model anthropic:{name}",
        options,
        AnthropicOptions,
        defaults=read_environment(options, ANTHROPIC_URL, "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",), is_anthropic),
        positive=(*TIMEOUTS, "tries", "max_tokens"),
    )
    if is_anthropic(parsed.base_url) and not parsed.has_key("authorization", "x-api-key"):
        raise ConfigError(
            f"The model anthropic:{name} needs a key: set ANTHROPIC_API_KEY, or base_url to your own server."
        )
    return AnthropicModel(
        name,
        base_url=parsed.base_url,
        api_key=parsed.api_key,
        headers=parsed.headers,
        connect_timeout=parsed.connect_timeout,
        first_token_timeout=parsed.first_token_timeout,
        idle_timeout=parsed.idle_timeout,
        request_options=msgspec.convert(parsed, AnthropicRequestOptions, from_attributes=True),
        capabilities=override_capabilities(lookup_capabilities("anthropic", name), msgspec.structs.asdict(parsed)),
        tries=parsed.tries,
    )


def is_anthropic(base_url: str) -> bool:
    return parse_host(base_url) == "api.anthropic.com"
