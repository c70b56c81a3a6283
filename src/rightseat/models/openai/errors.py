"""Upstream errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.errors import ContentRefused, RightseatError, UpstreamDenied, UpstreamRejected
from rightseat.models._vendor.errors import VendorErrors
from rightseat.types.settings import SETTING_RULES

DEFAULT_CREDENTIAL = "OPENAI_API_KEY (api_key)"
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
_REQUEST_FIELDS = SETTING_RULES.keys() | {"messages", "tools", "tool_choice", "max_completion_tokens"}
_FILTERED = {"content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"}


class OpenAIErrors(VendorErrors):
    """`key` names the key in messages."""

    unreachable = "check that it runs and check base_url (OPENAI_BASE_URL)"
    invalid = "check that base_url is an OpenAI API"

    def __init__(self, key: str = DEFAULT_CREDENTIAL) -> None:
        self.key = key

    def token_provider_failed(self, why: str) -> RightseatError:
        return UpstreamDenied(f"There is no key for the model's server: token_provider {why}. Check it.")

    def _recognize(self, error: Mapping[str, Any], status: int | None) -> RightseatError | None:
        if status in (None, 400, 413, 422) and _is_context_too_long(error):
            return self.context_too_long(error.get("message"))
        # Azure puts the filter's code into an inner error.
        inner = error.get("innererror")
        codes = (error.get("code"), inner.get("code") if isinstance(inner, dict) else None)
        if any(isinstance(code, str) and code in _FILTERED for code in codes):
            return ContentRefused(
                "The model's vendor does not answer this: its content filter refused the prompt. Say it differently."
            )
        if status in (400, 422) and (field := _find_field(error)) is not None:
            why = "change it or leave it out; outside production the debug log says why"
            return UpstreamRejected(f"{self.server} does not take `{field}` of this request: {why}.", param=field)
        return None


ERRORS = OpenAIErrors()


def _find_field(error: Mapping[str, Any]) -> str | None:
    """Return the field that the server refuses, if it is one of ours: other words of a server are not repeated."""
    param = error.get("param")
    field = param.partition(".")[0].partition("[")[0] if isinstance(param, str) else None
    return field if field in _REQUEST_FIELDS else None


def _is_context_too_long(error: Mapping[str, Any]) -> bool:
    if any(isinstance(error.get(key), str) and error[key] in _TOO_LONG for key in ("code", "type")):
        return True
    # vLLM and similar servers send no code for it.
    message = error.get("message")
    return isinstance(message, str) and "maximum context length" in message
