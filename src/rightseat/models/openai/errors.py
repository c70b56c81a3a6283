"""Upstream errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.errors import ContentRefused, RightseatError, UpstreamDenied
from rightseat.models._vendor.errors import VendorErrors

DEFAULT_CREDENTIAL = "OPENAI_API_KEY (api_key)"
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
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
        return None


ERRORS = OpenAIErrors()


def _is_context_too_long(error: Mapping[str, Any]) -> bool:
    if any(isinstance(error.get(key), str) and error[key] in _TOO_LONG for key in ("code", "type")):
        return True
    # vLLM and similar servers send no code for it.
    message = error.get("message")
    return isinstance(message, str) and "maximum context length" in message
