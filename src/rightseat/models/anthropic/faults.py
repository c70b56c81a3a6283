"""Anthropic errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from rightseat.errors import RightseatError, UpstreamDenied
from rightseat.http.retry import parse_retry_after
from rightseat.http.upstream import StatusTable
from rightseat.models._vendor.errors import VendorErrors

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


class AnthropicErrors(VendorErrors):
    server = "Anthropic's server"
    key = "ANTHROPIC_API_KEY (api_key), and that it may use this model"
    unreachable = "check the network and base_url (ANTHROPIC_BASE_URL)"
    invalid = "check that base_url is an Anthropic API"
    unknown = "does not know this model: check the name in anthropic:NAME, and base_url"
    statuses: ClassVar[StatusTable] = {
        402: (UpstreamDenied, "takes no request: the account of our key has no credit left. See its billing.")
    }

    def from_status(self, status: int, retry_after: float | None = None) -> RightseatError:
        return self.context_too_long() if status == 413 else super().from_status(status, retry_after)


ERRORS = AnthropicErrors()


def from_status(status: int, headers: Mapping[str, str], body: object) -> RightseatError:
    """Map a response whose status is not 2xx. `body` is the decoded JSON, or whatever was sent."""
    error = body.get("error") if isinstance(body, dict) else None
    if status == 400 and _is_context_too_long(error):
        return ERRORS.context_too_long()
    return ERRORS.from_status(status, parse_retry_after(headers))


def from_payload(error: Any) -> RightseatError:
    """Map the `error` object of a stream event."""
    if _is_context_too_long(error):
        return ERRORS.context_too_long()
    kind = error.get("type") if isinstance(error, dict) else None
    return ERRORS.from_status(_STATUS.get(str(kind), 500))


def _is_context_too_long(error: Any) -> bool:
    message = error.get("message") if isinstance(error, dict) else None
    return isinstance(message, str) and _TOO_LONG.search(message[:1000]) is not None
