"""Google errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.retry import MAX_RETRY_AFTER, parse_retry_after
from rightseat.models._vendor.errors import VendorErrors

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


ERRORS = GoogleErrors()


def prompt_blocked_error(reason: str) -> RightseatError:
    """Map a block reason of the prompt."""
    why = _REFUSAL_REASONS.get(reason, "it gives no reason")
    return errors.ContentRefused(f"Google does not let the model answer this: {why}. Ask in other words.")


def stop_reason_error(reason: str) -> RightseatError:
    """Map a finish reason other than a normal end."""
    if why := _REFUSAL_REASONS.get(reason):
        return errors.ContentRefused(f"The model will not go on with this answer: {why}. Ask in other words.")
    if reason in _MALFORMED_CALL_REASONS:
        return errors.OutputInvalid("The model called a tool in a form that cannot be read: try again.")
    return ERRORS.incomplete_stream()


def from_status(status: int, headers: Mapping[str, str], body: bytes) -> RightseatError:
    """Map a response whose status is not 200."""
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        parsed = None
    return from_error(status, find_error(parsed), headers)


def find_code(error: Mapping[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) and 300 <= code < 600 else 500


def from_error(status: int, error: Mapping[str, Any], headers: Mapping[str, str]) -> RightseatError:
    message = str(error.get("message") or "")
    if _is_wrong_key(error, message):
        return ERRORS.from_status(401)
    if status == 400 and re.search(r"token count.*exceeds|exceeds the maximum number of tokens", message):
        return ERRORS.context_too_long()
    return ERRORS.from_status(status, _find_retry_delay(error, headers))


def find_error(parsed: Any) -> Mapping[str, Any]:
    """Return the error object of a body or of a one-element list; empty if there is none."""
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]
    error = parsed.get("error") if isinstance(parsed, dict) else None
    return error if isinstance(error, dict) else {}


def _is_wrong_key(error: Mapping[str, Any], message: str) -> bool:
    reasons = [detail.get("reason") for detail in _list_details(error)]
    return any(reason in _WRONG_KEY for reason in reasons) or message.startswith("API key not valid")


def _list_details(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = error.get("details")
    return [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []


def _find_retry_delay(error: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from RetryInfo or the Retry-After header."""
    for detail in _list_details(error):
        if match := re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", str(detail.get("retryDelay", ""))):
            return min(float(match[1]), MAX_RETRY_AFTER)
    return parse_retry_after(headers)
