"""Vendors (OpenAI, Azure, compatible servers): auth header, API, dialect."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.models.openai import faults
from rightseat.models.openai.api import Api, Chat, Responses, Summary
from rightseat.models.openai.azure import TokenProvider
from rightseat.models.openai.request import Dialect
from rightseat.types.capabilities import Abilities, listed

# OpenAI refuses sampling settings for reasoning models, and reasoning settings for other models.
_NOT_REASONING = frozenset({"reasoning", "reasoning_effort", "verbosity"})
_REASONING = frozenset(
    {"temperature", "top_p", "stop", "presence_penalty", "frequency_penalty", "logit_bias"}
    | {"logprobs", "top_logprobs"}
)
_ONE_CALL = frozenset({"parallel_tool_calls"})


Kind = Literal["openai", "azure", "compatible"]


class Vendor(Struct, frozen=True, kw_only=True):
    """The server's vendor; `compatible` is any other than OpenAI and Azure."""

    kind: Kind
    api: Literal["chat", "responses"] = "chat"
    served: str = ""
    """The deployment to request instead of the model's name."""
    token: TokenProvider | None = None
    """Returns a fresh token for each request."""
    summary: Summary | None = None

    def key(self, key: str | None) -> dict[str, str]:
        if not key:
            return {}
        return {"api-key": key} if self.kind == "azure" else {"Authorization": f"Bearer {key}"}

    @property
    def credential(self) -> str:
        """The setting that holds the credential, for error messages."""
        if self.token is not None:
            return "token_provider"
        return "AZURE_OPENAI_API_KEY (api_key)" if self.kind == "azure" else faults.KEY

    def knows(self, name: str) -> bool:
        """Whether the model's capabilities are known; only then images are sent unasked."""
        return self.kind != "compatible" or listed(self.kind, name) is not None

    def asked(self, able: Abilities, *, developer_role: bool | None, strict_tools: bool, usage: bool) -> Api:
        dialect = Dialect(
            developer_role=self.kind == "openai" if developer_role is None else developer_role,
            completion_tokens=self.kind == "openai" or (self.kind == "azure" and able.reasoning),
            strict_tools=strict_tools,
            usage=usage,
            schema=able.schema,
            unknown=frozenset() if self.kind == "compatible" else unknown(able),
        )
        if self.api == "responses":
            return Responses(dialect, reasons=able.reasoning, summary=self.summary)
        return Chat(dialect)


def unknown(able: Abilities) -> frozenset[str]:
    """Return the settings that OpenAI refuses for a model."""
    if not able.reasoning:
        return _NOT_REASONING
    return _REASONING if able.parallel else _REASONING | _ONE_CALL
