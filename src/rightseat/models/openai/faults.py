"""Upstream errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.retry import parse_retry_after
from rightseat.models._vendor.errors import VendorErrors

DEFAULT_CREDENTIAL = "OPENAI_API_KEY (api_key)"
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
_FILTERED = {"content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"}
# Error names that servers send in a stream, and the HTTP status they stand for.
_STATUS = {
    "invalid_api_key": 401,
    "server_error": 500,
    "authentication_error": 401,
    "permission_error": 403,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "overloaded": 503,
    "overloaded_error": 503,
    "timeout": 504,
    "timeout_error": 504,
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "not_found_error": 404,
    "model_not_found": 404,
}


class OpenAIErrors(VendorErrors):
    """`key` names the key in messages."""

    unreachable = "check that it runs and check base_url (OPENAI_BASE_URL)"
    invalid = "check that base_url is an OpenAI API"

    def __init__(self, key: str = DEFAULT_CREDENTIAL) -> None:
        self.key = key


ERRORS = OpenAIErrors()


def token_provider_error(why: str) -> RightseatError:
    return errors.UpstreamDenied(f"There is no key for the model's server: token_provider {why}. Check it.")


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, credential: str = DEFAULT_CREDENTIAL
) -> RightseatError:
    """Map a response whose status is not 2xx. `credential` names the key in the message."""
    error = parse_error(body)
    if status in (400, 413, 422) and _is_context_too_long(error):
        return ERRORS.context_too_long()
    if _is_filtered(error):
        return _content_filter_error()
    return OpenAIErrors(credential).from_status(status, parse_retry_after(headers))


def from_payload(error: Any) -> RightseatError:
    """Map an `error` object of the stream: with a numeric code, an error name, or only a message."""
    if _is_context_too_long(error):
        return ERRORS.context_too_long()
    if _is_filtered(error):
        return _content_filter_error()
    names = [error.get(key) for key in ("code", "type", "status")] if isinstance(error, dict) else []
    statuses = [status for status in map(_parse_status, names) if status is not None]
    return ERRORS.from_status(statuses[0] if statuses else 500)


def _parse_status(name: object) -> int | None:
    if isinstance(name, str):
        name = int(name) if re.fullmatch(r"[45]\d\d", name) else _STATUS.get(name)
    return name if isinstance(name, int) and 400 <= name < 600 else None


def _content_filter_error() -> RightseatError:
    return errors.ContentRefused(
        "The model's vendor does not answer this: its content filter refused the prompt. Say it differently."
    )


def _is_filtered(error: Any) -> bool:
    """Whether the error code, or Azure's inner error code, is a content filter."""
    if not isinstance(error, dict):
        return False
    inner = error.get("innererror")
    codes = (error.get("code"), inner.get("code") if isinstance(inner, dict) else None)
    return any(isinstance(code, str) and code in _FILTERED for code in codes)


def _is_context_too_long(error: Any) -> bool:
    if not isinstance(error, dict):
        return False
    if any(isinstance(error.get(key), str) and error[key] in _TOO_LONG for key in ("code", "type")):
        return True
    # vLLM and similar servers send no code for it.
    message = error.get("message")
    return isinstance(message, str) and "maximum context length" in message


def parse_error(body: bytes) -> Any:
    """Return the error object that the body is or contains, else None."""
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return parsed.get("error") or parsed if isinstance(parsed, dict) else None
