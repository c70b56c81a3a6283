"""Upstream errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.retry import parse_retry_after

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


def connection_refused_error() -> RightseatError:
    return errors.UpstreamRefused(
        "The model's server cannot be reached: check that it runs and check base_url (OPENAI_BASE_URL)."
    )


def connect_timeout_error(seconds: float) -> RightseatError:
    return errors.UpstreamTimeout(
        f"The model's server could not be connected within {seconds:g} s: check base_url and the network."
    )


def first_token_timeout_error(seconds: float) -> RightseatError:
    return errors.UpstreamTimeout(
        f"The model did not begin to answer within {seconds:g} s: try again, or raise first_token_timeout."
    )


def idle_timeout_error(seconds: float) -> RightseatError:
    return errors.UpstreamTimeout(
        f"The model fell silent for {seconds:g} s within its answer: try again, or raise idle_timeout."
    )


def key_refused_error(credential: str = DEFAULT_CREDENTIAL) -> RightseatError:
    return errors.UpstreamDenied(f"The model's server refused our key: check {credential}.")


def token_provider_error(why: str) -> RightseatError:
    return errors.UpstreamDenied(f"There is no key for the model's server: token_provider {why}. Check it.")


def incomplete_error() -> RightseatError:
    return errors.Incomplete("The model's answer ended before it was finished: try again.")


def garbled_error(why: str) -> RightseatError:
    return errors.UpstreamGarbled(
        f"The model's server sent what cannot be read ({why}): check that base_url is an OpenAI API."
    )


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, credential: str = DEFAULT_CREDENTIAL
) -> RightseatError:
    """Map a response whose status is not 2xx. `credential` names the key in the message."""
    error = parse_error(body)
    if status in (400, 413, 422) and _is_context_too_long(error):
        return _context_too_long_error()
    if _is_filtered(error):
        return _content_filter_error()
    if status in (401, 403):
        return key_refused_error(credential)
    return _from_status_code(status, parse_retry_after(headers))


def from_payload(error: Any) -> RightseatError:
    """Map an `error` object of the stream: with a numeric code, an error name, or only a message."""
    if _is_context_too_long(error):
        return _context_too_long_error()
    if _is_filtered(error):
        return _content_filter_error()
    names = [error.get(key) for key in ("code", "type", "status")] if isinstance(error, dict) else []
    statuses = [status for status in map(_parse_status, names) if status is not None]
    return _from_status_code(statuses[0] if statuses else 500, None)


def _parse_status(name: object) -> int | None:
    if isinstance(name, str):
        name = int(name) if re.fullmatch(r"[45]\d\d", name) else _STATUS.get(name)
    return name if isinstance(name, int) and 400 <= name < 600 else None


def _from_status_code(status: int, wait: float | None) -> RightseatError:
    if status in (401, 403):
        return key_refused_error()
    if status == 429:
        return errors.UpstreamBusy("The model's server is over its rate limit: try later.", retry_after=wait)
    if status in (503, 529):
        return errors.UpstreamOverloaded("The model's server is overloaded: try later.", retry_after=wait)
    if status in (408, 504):
        return errors.UpstreamTimeout("The model's server timed out: try again.")
    if 300 <= status < 400:
        return errors.UpstreamRejected(
            "The model's server redirects, which is not followed: set base_url to the final address."
        )
    if status == 404:
        return errors.UpstreamRejected(
            "The model's server does not know this model or path: check the model's name and base_url."
        )
    if 400 <= status < 500:
        return errors.UpstreamRejected(
            f"The model's server does not take this request (HTTP {status}): "
            "check the model's name, its tools and settings; outside production the debug log says why."
        )
    return errors.UpstreamError(f"The model's server failed (HTTP {status}): try again.", retry_after=wait)


def _context_too_long_error() -> RightseatError:
    return errors.ContextTooLong(
        "The conversation is too long for this model: shorten it, or take a model with a longer context."
    )


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
