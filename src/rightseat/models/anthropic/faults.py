"""Anthropic errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.client import ConnectTimeout, InvalidHttpResponse
from rightseat.http.retry import parse_retry_after

# The API has no code for a too long prompt, only a message.
_TOO_LONG = re.compile(r"prompt is too long|exceed context limit|exceeds? the (model's )?context window", re.I)
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def from_connection_error(cause: BaseException | None, connect_timeout: float) -> RightseatError:
    """Map the cause of a request without a response."""
    match cause:
        case ConnectTimeout():
            return errors.UpstreamTimeout(
                f"Anthropic's server could not be connected within {connect_timeout:g} s: "
                "check base_url and the network."
            )
        case InvalidHttpResponse():
            return garbled_error("not HTTP")
        case _:
            return errors.UpstreamRefused(
                "Anthropic's server cannot be reached: check the network and base_url (ANTHROPIC_BASE_URL)."
            )


def first_token_timeout_error(seconds: float) -> RightseatError:
    return errors.UpstreamTimeout(
        f"The model did not begin to answer within {seconds:g} s: try again, or raise first_token_timeout."
    )


def idle_timeout_error(seconds: float) -> RightseatError:
    return errors.UpstreamTimeout(
        f"The model fell silent for {seconds:g} s within its answer: try again, or raise idle_timeout."
    )


def incomplete_error() -> RightseatError:
    return errors.Incomplete("The model's answer ended before it was finished: try again.")


def garbled_error(why: str) -> RightseatError:
    return errors.UpstreamGarbled(
        f"The model's server sent what cannot be read ({why}): check that base_url is an Anthropic API."
    )


def from_status(status: int, headers: Mapping[str, str], body: object) -> RightseatError:
    """Map a response whose status is not 2xx. `body` is the decoded JSON, or whatever was sent."""
    error = body.get("error") if isinstance(body, dict) else None
    if status == 400 and _is_context_too_long(error):
        return _context_too_long_error()
    return _from_status_code(status, parse_retry_after(headers))


def from_payload(error: Any) -> RightseatError:
    """Map the `error` object of a stream event."""
    if _is_context_too_long(error):
        return _context_too_long_error()
    kind = error.get("type") if isinstance(error, dict) else None
    return _from_status_code(_STATUS.get(str(kind), 500), None)


def _from_status_code(status: int, wait: float | None) -> RightseatError:
    match status:
        case 401 | 403:
            return errors.UpstreamDenied(
                "Anthropic refused our key, or it may not use this model: check ANTHROPIC_API_KEY (api_key)."
            )
        case 402:
            return errors.UpstreamDenied("Anthropic's account of our key has no credit left: see its billing.")
        case 404:
            return errors.UpstreamRejected(
                "Anthropic does not know this model: check the name in anthropic:NAME, and base_url."
            )
        case 413:
            return _context_too_long_error()
        case 429:
            return errors.UpstreamBusy("Anthropic's rate limit is reached: try later.", retry_after=wait)
        case 503 | 529:
            return errors.UpstreamOverloaded("Anthropic is overloaded: try later.", retry_after=wait)
        case 408 | 504:
            return errors.UpstreamTimeout("Anthropic's server timed out: try again.")
        case _:
            return _from_status_class(status, wait)


def _from_status_class(status: int, wait: float | None) -> RightseatError:
    if 300 <= status < 400:
        return errors.UpstreamRejected(
            "The model's server redirects, which is not followed: set base_url to the final address."
        )
    if 400 <= status < 500:
        return errors.UpstreamRejected(
            f"Anthropic does not take this request (HTTP {status}): "
            "check the model's name, its tools and settings; outside production the debug log says why."
        )
    return errors.UpstreamError(f"Anthropic's server failed (HTTP {status}): try again.", retry_after=wait)


def _context_too_long_error() -> RightseatError:
    return errors.ContextTooLong(
        "The conversation is too long for this model: shorten it, or take a model with a longer context."
    )


def _is_context_too_long(error: Any) -> bool:
    message = error.get("message") if isinstance(error, dict) else None
    return isinstance(message, str) and _TOO_LONG.search(message[:1000]) is not None
