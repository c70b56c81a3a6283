"""Errors of a model's server; upstream text never becomes part of a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.errors import (
    ContextTooLong,
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.http.retry import parse_retry_after
from rightseat.http.upstream import UpstreamErrors

# Transient errors; a rejected request or a wrong key is not retried.
RETRYABLE = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}
# Error names that servers send in a stream, and the HTTP status they stand for.
_STATUSES_BY_NAME = {
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "overloaded": 503,
    "overloaded_error": 503,
    "timeout": 504,
    "timeout_error": 504,
}


class VendorErrors(UpstreamErrors):
    """The errors of a model, in words that name the options of [models]."""

    server = "The model's server"
    address = "base_url"
    unreachable = "check the network and base_url"
    unknown = "does not know this model or path: check the model's name and base_url"
    rejected = "check the model's name, its tools and settings; outside production the debug log says why"

    def first_token_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The model did not begin to answer within {seconds:g} s: try again, or raise first_token_timeout."
        )

    def idle_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The model fell silent for {seconds:g} s within its answer: try again, or raise idle_timeout."
        )

    def incomplete_stream(self) -> RightseatError:
        return Incomplete("The model's answer ended before it was finished: try again.")

    def context_too_long(self, message: object = "") -> RightseatError:
        """Return the error with the numbers of tokens that the vendor's message names."""
        tokens, window = parse_token_numbers(message if isinstance(message, str) else "")
        return ContextTooLong(
            "The conversation is too long for this model: shorten it, or take a model with a longer context.",
            tokens=tokens,
            window=window,
        )

    def from_response(self, status: int, headers: Mapping[str, str], body: bytes) -> RightseatError:
        """Return the error for a response whose status is not 2xx."""
        error = find_error(body)
        return self._recognize(error, status) or self.from_status(status, self._find_retry_after(error, headers))

    def from_payload(self, error: Any) -> RightseatError:
        """Return the error for an error object in the stream: with a numeric code, a name, or only a message."""
        error = error if isinstance(error, dict) else {}
        statuses = [_parse_status(error.get(key)) for key in ("code", "type", "status")]
        status = next((status for status in statuses if status is not None), 500)
        return self._recognize(error, None) or self.from_status(status, self._find_retry_after(error, {}))

    def _recognize(self, error: Mapping[str, Any], status: int | None) -> RightseatError | None:
        """Return what the vendor's error object says beyond its status, which is None within a stream."""
        return None

    def _find_retry_after(self, error: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
        return parse_retry_after(headers)


# In the words of OpenAI, vLLM, Anthropic and Google.
_WINDOW = re.compile(
    r"maximum context length is (\d{1,9})|(?:>|exceed context limit:[ \d+]{1,40}>) (\d{1,9})"
    r"|tokens allowed \((\d{1,9})\)"
)
_PROMPT_TOKENS = re.compile(
    r"(\d{1,9}) (?:tokens )?in (?:the|your) (?:messages|prompt)|has (\d{1,9}) input tokens|resulted in (\d{1,9}) tokens"
    r"|too long: (\d{1,9}) tokens|context limit: (\d{1,9}) \+|token count \((\d{1,9})\)"
)


def parse_token_numbers(message: str) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and the context window that a refusal names; None for what it does not name."""
    matches = (pattern.search(message[:2000]) for pattern in (_PROMPT_TOKENS, _WINDOW))
    tokens, window = (
        next((int(group) for group in match.groups() if group), None) if match else None for match in matches
    )
    return tokens, window


def _parse_status(name: object) -> int | None:
    if isinstance(name, str):
        name = int(name) if re.fullmatch(r"[45]\d\d", name) else _STATUSES_BY_NAME.get(name)
    return name if isinstance(name, int) and 400 <= name < 600 else None


def find_error(body: bytes) -> dict[str, Any]:
    """Return the error object that a body is or contains, also in a list of one; empty if there is none."""
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return {}
    error = parsed.get("error")
    return error if isinstance(error, dict) else parsed
