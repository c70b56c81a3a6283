"""Google errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightseat.errors import ContentRefused, OutputInvalid, RightseatError
from rightseat.http.retry import MAX_RETRY_AFTER
from rightseat.models._vendor.errors import VendorErrors

_TOO_LONG = re.compile(r"token count.*exceeds|exceeds the maximum number of tokens")
_WRONG_KEY = ("API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED")
# Block and finish reasons, in words for the user.
_REFUSAL_REASONS = {
    "SAFETY": "it may not be safe",
    "IMAGE_SAFETY": "it may not be safe",
    "BLOCKLIST": "it contains a word that is not allowed",
    "PROHIBITED_CONTENT": "it may contain what is prohibited",
    "IMAGE_PROHIBITED_CONTENT": "it may contain what is prohibited",
    "SPII": "it may contain personal data",
    "RECITATION": "it would repeat a known text",
    "IMAGE_RECITATION": "it would repeat a known picture",
    "LANGUAGE": "it does not speak this language",
    "MODEL_ARMOR": "a filter of the project stopped it",
    "JAILBREAK": "a filter of the project stopped it",
}
_MALFORMED_CALL_REASONS = {
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
}


class GoogleErrors(VendorErrors):
    server = "Google's server"
    key = "GEMINI_API_KEY (api_key)"
    invalid = "check that base_url is Google's API"
    unknown = "does not know this model: check its name, and base_url"

    def prompt_blocked(self, reason: str) -> RightseatError:
        why = _REFUSAL_REASONS.get(reason, "it gives no reason")
        return ContentRefused(f"Google does not let the model answer this: {why}. Ask in other words.")

    def stopped(self, reason: str) -> RightseatError:
        """Return the error for a finish reason other than a normal end."""
        if why := _REFUSAL_REASONS.get(reason):
            return ContentRefused(f"The model will not go on with this answer: {why}. Ask in other words.")
        if reason in _MALFORMED_CALL_REASONS:
            return OutputInvalid("The model called a tool in a form that cannot be read: try again.")
        return self.incomplete_stream()

    def _recognize(self, error: Mapping[str, Any], status: int | None) -> RightseatError | None:
        message = str(error.get("message") or "")
        reasons = [detail.get("reason") for detail in _list_details(error)]
        if any(reason in _WRONG_KEY for reason in reasons) or message.startswith("API key not valid"):
            return self.from_status(401)
        return self.context_too_long(message) if status in (None, 400) and _TOO_LONG.search(message) else None

    def _find_retry_after(self, error: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
        """Return the seconds to wait, from RetryInfo or the Retry-After header."""
        for detail in _list_details(error):
            if match := re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", str(detail.get("retryDelay", ""))):
                return min(float(match[1]), MAX_RETRY_AFTER)
        return super()._find_retry_after(error, headers)


ERRORS = GoogleErrors()


def _list_details(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
