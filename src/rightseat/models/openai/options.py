"""Parse `openai:NAME` and its options into an OpenAIModel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from rightseat.config.options import TIMEOUTS, parse_options
from rightseat.errors import ConfigError
from rightseat.http.client import parse_host
from rightseat.models._vendor.options import VendorOptions, read_environment
from rightseat.models._vendor.reasoning import InlineThoughts, ReasoningRules, ReasoningVendor, find_rules
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.models.openai import vendors
from rightseat.models.openai.client import OPENAI_URL, OpenAIModel, is_openai
from rightseat.models.openai.emulated import EmulatedToolsModel, ToolEmulation
from rightseat.models.openai.vendors import OpenAIVendor, ReasoningSummary, VendorKind

# Options passed to the model unchanged.
_PASSED_KEYS = (*TIMEOUTS, "api_key", "headers", "developer_role", "strict_tools", "usage", "images", "tries")

_CAPABILITY_KEYS = ("parallel", "schema", "images", "audio", "reasoning", "ignored_settings")


class OpenAIOptions(VendorOptions, frozen=True, kw_only=True):
    base_url: str = OPENAI_URL
    """The server's URL, including `/v1`. Without it OPENAI_BASE_URL, else OpenAI. A query string is sent with each
    request."""
    api_key: str | None = None
    """The key, sent as `Authorization: Bearer`. Without it OPENAI_API_KEY, which is sent only to OpenAI and
    OPENAI_BASE_URL."""
    api: Literal["chat", "responses"] = "chat"
    """Which API to use: `chat` is `/chat/completions`, `responses` is `/responses`, which keeps reasoning between
    calls."""
    azure_endpoint: str = ""
    """Azure's `https://NAME.openai.azure.com`, instead of base_url. Without it AZURE_OPENAI_ENDPOINT. The key, by
    default AZURE_OPENAI_API_KEY, is then sent as `api-key`."""
    api_version: str = ""
    """Azure's API version: a date such as 2024-10-21, or v1 for the API without dates. Without it
    OPENAI_API_VERSION."""
    deployment: str = ""
    """The name of the deployment at Azure. Without it, the model's name."""
    token_provider: str = ""
    """`module:attribute` of a function that returns a Microsoft Entra token, instead of a key."""
    developer_role: bool | None = None
    """Whether the server supports the role `developer`. Without it, true for api.openai.com and false for others."""
    strict_tools: bool = False
    """Whether the server enforces the schema of every tool. Arguments then stream without waiting for a check."""
    usage: bool = True
    """Whether the server supports `stream_options`. Set it to false for an old server that refuses them."""
    tools: bool | Literal["native", "schema", "prompt"] | None = None
    """How the model calls tools: `native` by the server's API, `schema` by a JSON schema for its output, `prompt`
    by instructions; false means not at all. Without it, what the model's family supports."""
    audio: bool | None = None
    """Whether the model accepts audio, which `input_audio` parts have. Without it, as the model's family does."""
    reasoning: bool | None = None
    """Whether the model reasons before it answers. Without it, as the model's family does."""
    reasoning_vendor: ReasoningVendor | None = None
    """The vendor whose rules about thoughts the server follows, for a server in front of the vendor's. Without it, by
    base_url, else by the model's name."""
    returns_reasoning: bool | None = None
    """Whether the server wants `reasoning_content` of earlier answers back in a loop of tool calls. Without it, true
    for the vendors that demand it."""
    inline_thoughts: InlineThoughts = "auto"
    """Thoughts that a compatible server leaves in the text: `auto` splits off a text that starts with `<think>` or a
    tag like it, `opened` one that starts inside a thought and has only `</think>`, `off` leaves the text as it is."""
    reasoning_summary: ReasoningSummary | None = None
    """How detailed the summary of the reasoning is, with `responses`. Without it, there is no summary."""


def model(name: str, options: Mapping[str, Any], *, kind: str = "openai") -> OpenAIModel:
    """Make the model; OPENAI_API_KEY and OPENAI_BASE_URL, or AZURE_OPENAI_…, fill missing options. `kind` is the one
    that the spec names."""
    if not name:
        raise ConfigError("openai: needs a model's name, as in openai:gpt-5-mini")
    parsed = parse_options(
        f"The model {kind}:{name}",
        options,
        OpenAIOptions,
        defaults=_read_environment(options),
        positive=(*TIMEOUTS, "tries"),
    )
    _check_key(name, parsed)
    return _make_model(name, parsed)


def _read_environment(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return defaults from the environment; its key is used only for its own server or OpenAI."""
    env = os.environ
    prefers_openai = "base_url" in options or env.get("OPENAI_BASE_URL") or env.get("OPENAI_API_KEY")
    endpoint = "" if prefers_openai else env.get("AZURE_OPENAI_ENDPOINT", "")
    if endpoint or options.get("azure_endpoint"):
        same_endpoint = env.get("AZURE_OPENAI_ENDPOINT", "") in ("", options.get("azure_endpoint", endpoint))
        version = env.get("OPENAI_API_VERSION") or env.get("AZURE_OPENAI_API_VERSION") or ""
        key = env.get("AZURE_OPENAI_API_KEY") if same_endpoint else None
        return {"azure_endpoint": endpoint, "api_version": version, "api_key": key or None}
    return read_environment(options, OPENAI_URL, "OPENAI_BASE_URL", ("OPENAI_API_KEY",), is_openai)


def _make_model(name: str, options: OpenAIOptions) -> OpenAIModel:
    base_url = options.base_url
    kind: VendorKind = "openai" if is_openai(base_url) else "compatible"
    if options.azure_endpoint:
        kind, deployment = "azure", options.deployment or name
        base_url = vendors.build_base_url(options.azure_endpoint, options.api_version, deployment, options.api)
    capabilities = lookup_capabilities(kind, name)
    overrides = {key: getattr(options, key) for key in _CAPABILITY_KEYS}
    emulation = _choose_emulation(
        options.tools, native=capabilities.tools, schema=override_capabilities(capabilities, overrides).schema
    )
    capabilities = override_capabilities(capabilities, overrides | {"tools": emulation != "none"})
    openai_vendor = OpenAIVendor(
        kind=kind,
        api=options.api,
        deployment=options.deployment,
        token_provider=vendors.load_token_provider(options.token_provider) if options.token_provider else None,
        reasoning_summary=options.reasoning_summary,
        reasoning_rules=_find_reasoning_rules(kind, name, base_url, options),
        inline_thoughts=options.inline_thoughts if kind == "compatible" else "off",
    )
    fields = {field: getattr(options, field) for field in _PASSED_KEYS}
    fields |= {"base_url": base_url, "capabilities": capabilities, "vendor": openai_vendor}
    return (
        EmulatedToolsModel(name, tools=emulation, **fields)
        if emulation in ("schema", "prompt")
        else OpenAIModel(name, **fields)
    )


def _find_reasoning_rules(kind: VendorKind, name: str, base_url: str, options: OpenAIOptions) -> ReasoningRules:
    """Return the rules of a compatible server; OpenAI and Azure take no thoughts in chat completions."""
    if kind != "compatible":
        return ReasoningRules()
    return find_rules(parse_host(base_url), name, options.reasoning_vendor, options.returns_reasoning)


def _choose_emulation(
    tools: bool | str | None, *, native: bool, schema: bool
) -> Literal["native", "none"] | ToolEmulation:
    """Choose how tools are called: natively if the server can, else by emulation."""
    match tools:
        case False:
            return "none"
        case None if not native:
            return "schema" if schema else "prompt"
        case "schema" | "prompt":
            return tools
        case _:
            return "native"


def _check_key(name: str, options: OpenAIOptions) -> None:
    if options.token_provider or options.has_key("authorization", "api-key"):
        return
    if options.azure_endpoint:
        raise ConfigError(
            f"The model openai:{name} needs a key: set AZURE_OPENAI_API_KEY, or api_key, or token_provider."
        )
    if is_openai(options.base_url):
        raise ConfigError(f"The model openai:{name} needs a key: set OPENAI_API_KEY, or base_url to your own server.")
