"""Vendors (OpenAI, Azure, compatible servers): auth header, API, dialect, Azure's URLs and Microsoft Entra tokens."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from yarl import URL

from rightseat.config.loading import import_object
from rightseat.errors import ConfigError
from rightseat.http.client import parse_base_url
from rightseat.models.catalog import find_listed_capabilities
from rightseat.models.openai import request
from rightseat.models.openai.chat_parser import ChatStreamParser
from rightseat.models.openai.errors import DEFAULT_CREDENTIAL, ERRORS
from rightseat.models.openai.request import Dialect
from rightseat.models.openai.responses_parser import ResponsesStreamParser
from rightseat.types.model import Capabilities, Prompt

ReasoningSummary = Literal["auto", "concise", "detailed"]


OpenAIStreamParser = ChatStreamParser | ResponsesStreamParser


class ChatCompletionsApi:
    path = ("chat", "completions")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def build_body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return request.build_chat_body(model, prompt, self._dialect)

    def make_parser(self, prompt: Prompt, /) -> ChatStreamParser:
        return ChatStreamParser(find_enforced_tools(prompt, self._dialect))


class ResponsesApi:
    """The responses API. `summary`: the length of the reasoning summary to request."""

    path = ("responses",)

    def __init__(self, dialect: Dialect, *, supports_reasoning: bool, summary: ReasoningSummary | None) -> None:
        self._dialect = dialect
        self._supports_reasoning = supports_reasoning
        self._summary = summary if supports_reasoning else None

    def build_body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return request.build_responses_body(
            model, prompt, self._dialect, supports_reasoning=self._supports_reasoning, summary=self._summary
        )

    def make_parser(self, prompt: Prompt, /) -> ResponsesStreamParser:
        return ResponsesStreamParser(find_enforced_tools(prompt, self._dialect))


def find_enforced_tools(prompt: Prompt, dialect: Dialect) -> frozenset[str]:
    """Return the names of tools whose schema the server enforces."""
    strict = prompt.tools if dialect.strict_tools else ()
    return frozenset(tool.name for tool in strict)


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

    def make_api(
        self, capabilities: Capabilities, *, developer_role: bool | None, strict_tools: bool, usage: bool
    ) -> ChatCompletionsApi | ResponsesApi:
        dialect = Dialect(
            developer_role=self.kind == "openai" if developer_role is None else developer_role,
            max_completion_tokens=self.kind == "openai" or (self.kind == "azure" and capabilities.reasoning),
            strict_tools=strict_tools,
            usage=usage,
            schema=capabilities.schema,
            unsupported=frozenset() if self.kind == "compatible" else list_unsupported_settings(capabilities),
        )
        if self.api == "responses":
            return ResponsesApi(dialect, supports_reasoning=capabilities.reasoning, summary=self.reasoning_summary)
        return ChatCompletionsApi(dialect)


def list_unsupported_settings(capabilities: Capabilities) -> frozenset[str]:
    """Return the settings that OpenAI refuses for a model."""
    if not capabilities.reasoning:
        return _REASONING_SETTINGS
    return _SAMPLING_SETTINGS if capabilities.parallel else _SAMPLING_SETTINGS | _PARALLEL_SETTINGS
