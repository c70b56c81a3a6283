"""Vendors (OpenAI, Azure, compatible servers): auth header, API, dialect, Azure's URLs and Microsoft Entra tokens."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from yarl import URL

from rightseat.config.imports import import_object
from rightseat.errors import ConfigError
from rightseat.http.client import parse_base_url
from rightseat.models._vendor.reasoning import InlineThoughts, ReasoningRules
from rightseat.models._vendor.thinking import THINKING_FIELDS
from rightseat.models.catalog import find_listed_capabilities
from rightseat.models.openai.errors import DEFAULT_CREDENTIAL, ERRORS
from rightseat.models.openai.request import RESPONSES_SETTINGS, SETTINGS, Dialect
from rightseat.types.model import Capabilities
from rightseat.types.settings import SETTING_RULES

ReasoningSummary = Literal["auto", "concise", "detailed"]


TokenProvider = Callable[[], str | Awaitable[str]]

# API versions without a date: one path for all deployments; the body names the deployment.
VERSIONLESS = ("", "v1", "latest", "preview")


def build_base_url(endpoint: str, version: str, deployment: str, api: str) -> str:
    """Return the URL before `/chat/completions` or `/responses`."""
    url = parse_base_url(endpoint, "azure_endpoint")
    path = url.path.rstrip("/")
    for tail in ("/openai/v1", "/openai"):
        path = path.removesuffix(tail)
    url = url.with_path(f"{path}/openai").with_query(None)
    if version in VERSIONLESS:
        url = url / "v1"
        return str(url.with_query({"api-version": version}) if version == "preview" else url)
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}(-preview)?", version):
        raise ConfigError(
            f"api_version {version!r} is not an API version of Azure. Write a date such as 2024-10-21, or v1.",
            param="api_version",
        )
    # The responses API has one path for all deployments; the body names the deployment.
    resource_url: URL = url if api == "responses" else url / "deployments" / deployment
    return str(resource_url.with_query({"api-version": version}))


def load_token_provider(target: str) -> TokenProvider:
    """Load the function at `module:attribute`, which returns a Microsoft Entra token per call."""
    try:
        loaded: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"token_provider: {error.message}", param="token_provider") from error
    if not callable(loaded):
        raise ConfigError(f"token_provider: {target} is not a function.", param="token_provider")
    provider: TokenProvider = loaded
    return provider


async def fetch_token(provider: TokenProvider, seconds: float) -> str:
    """Call the provider and return its token; raise UpstreamDenied on failure or after `seconds`."""
    # In a task, so that any exception of user code can be inspected.
    task = asyncio.ensure_future(_call_provider(provider))
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
    if not done:
        raise ERRORS.token_provider_failed(f"took longer than {seconds:g} s")
    if (error := task.exception()) is not None:
        raise ERRORS.token_provider_failed(f"failed ({type(error).__name__})") from error
    return task.result()


async def _call_provider(provider: TokenProvider) -> str:
    """Call the provider; a sync function runs in a thread, so that it does not block the loop."""
    if inspect.iscoroutinefunction(provider):
        return str(await provider())
    result = await asyncio.to_thread(provider)
    return str(await result if inspect.isawaitable(result) else result)


# OpenAI refuses sampling settings for reasoning models, and reasoning settings for other models.
_REASONING_SETTINGS = frozenset({"reasoning", "reasoning_effort", "verbosity"})
# Fields about thinking of other servers, which OpenAI refuses.
_FOREIGN_SETTINGS = THINKING_FIELDS - _REASONING_SETTINGS

_SAMPLING_SETTINGS = frozenset(
    {"temperature", "top_p", "stop", "presence_penalty", "frequency_penalty", "logit_bias"}
    | {"logprobs", "top_logprobs"}
)

_PARALLEL_SETTINGS = frozenset({"parallel_tool_calls"})
VendorKind = Literal["openai", "azure", "compatible"]


class OpenAIVendor(Struct, frozen=True, kw_only=True):
    """The server's vendor; `compatible` is any other than OpenAI and Azure."""

    kind: VendorKind
    api: Literal["chat", "responses"] = "chat"
    deployment: str = ""
    """The deployment to request instead of the model's name."""
    token_provider: TokenProvider | None = None
    """Returns a fresh token for each request."""
    reasoning_summary: ReasoningSummary | None = None
    reasoning_rules: ReasoningRules = ReasoningRules()
    """Which thoughts of earlier answers the server wants back."""
    inline_thoughts: InlineThoughts = "off"
    """Whether thoughts between tags at the start of a text are split off."""

    def make_auth_headers(self, api_key: str | None) -> dict[str, str]:
        if not api_key:
            return {}
        return {"api-key": api_key} if self.kind == "azure" else {"Authorization": f"Bearer {api_key}"}

    @property
    def credential_name(self) -> str:
        """The setting that holds the credential, for error messages."""
        if self.token_provider is not None:
            return "token_provider"
        return "AZURE_OPENAI_API_KEY (api_key)" if self.kind == "azure" else DEFAULT_CREDENTIAL

    def knows_model(self, name: str) -> bool:
        """Whether the model's capabilities are known; only then images are sent unasked."""
        return self.kind != "compatible" or find_listed_capabilities(self.kind, name) is not None

    def list_settings(self, capabilities: Capabilities) -> frozenset[str]:
        """Return the settings that the server takes of a model with these capabilities."""
        if self.kind == "compatible":
            # A server of another maker may know any of them; it refuses those that it does not.
            return frozenset(RESPONSES_SETTINGS) if self.api == "responses" else frozenset(SETTING_RULES)
        names = frozenset(RESPONSES_SETTINGS) if self.api == "responses" else SETTINGS
        return names - list_unsupported_settings(capabilities)

    def make_dialect(
        self, capabilities: Capabilities, *, developer_role: bool | None, strict_tools: bool, usage: bool
    ) -> Dialect:
        return Dialect(
            developer_role=self.kind == "openai" if developer_role is None else developer_role,
            max_completion_tokens=self.kind == "openai" or (self.kind == "azure" and capabilities.reasoning),
            strict_tools=strict_tools,
            usage=usage,
            schema=capabilities.schema,
            reasoning=capabilities.reasoning,
            reasoning_summary=self.reasoning_summary if capabilities.reasoning else None,
            unsupported=frozenset() if self.kind == "compatible" else list_unsupported_settings(capabilities),
            reasoning_rules=self.reasoning_rules,
        )


def list_unsupported_settings(capabilities: Capabilities) -> frozenset[str]:
    """Return the settings that OpenAI refuses for a model."""
    if not capabilities.reasoning:
        return _REASONING_SETTINGS | _FOREIGN_SETTINGS
    settings = _SAMPLING_SETTINGS | _FOREIGN_SETTINGS
    return settings if capabilities.parallel else settings | _PARALLEL_SETTINGS
