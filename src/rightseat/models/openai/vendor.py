"""Vendors (OpenAI, Azure, compatible servers): auth header, API, dialect."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.models.openai import faults
from rightseat.models.openai.api import ChatCompletionsApi, OpenAIApi, ReasoningSummary, ResponsesApi
from rightseat.models.openai.azure import TokenProvider
from rightseat.models.openai.request import Dialect
from rightseat.types.capabilities import Capabilities, find_listed_capabilities

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
        return "AZURE_OPENAI_API_KEY (api_key)" if self.kind == "azure" else faults.DEFAULT_CREDENTIAL

    def knows_model(self, name: str) -> bool:
        """Whether the model's capabilities are known; only then images are sent unasked."""
        return self.kind != "compatible" or find_listed_capabilities(self.kind, name) is not None

    def make_api(
        self, capabilities: Capabilities, *, developer_role: bool | None, strict_tools: bool, usage: bool
    ) -> OpenAIApi:
        dialect = Dialect(
            developer_role=self.kind == "openai" if developer_role is None else developer_role,
            max_completion_tokens=self.kind == "openai" or (self.kind == "azure" and capabilities.reasoning),
            strict_tools=strict_tools,
            usage=usage,
            schema=capabilities.schema,
            unsupported=frozenset() if self.kind == "compatible" else list_unsupported_settings(capabilities),
        )
        if self.api == "responses":
            return ResponsesApi(
                dialect, supports_reasoning=capabilities.reasoning, summary=self.reasoning_summary
            )
        return ChatCompletionsApi(dialect)


def list_unsupported_settings(capabilities: Capabilities) -> frozenset[str]:
    """Return the settings that OpenAI refuses for a model."""
    if not capabilities.reasoning:
        return _REASONING_SETTINGS
    return _SAMPLING_SETTINGS if capabilities.parallel else _SAMPLING_SETTINGS | _PARALLEL_SETTINGS
