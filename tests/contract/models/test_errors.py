"""What a vendor's server answers is the same error here, whichever vendor it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.models.anthropic import faults as anthropic
from rightseat.models.google import faults as google
from rightseat.models.openai import faults as openai

ErrorBody = dict[str, Any]
# Their clients spell names differently.
HEADERS = {"retry-after": "3", "Retry-After": "3"}
VENDORS: dict[str, Callable[[int, ErrorBody], RightseatError]] = {
    "openai": lambda status, said: openai.from_status(status, HEADERS, json.dumps(said).encode()),
    "anthropic": lambda status, said: anthropic.from_status(status, HEADERS, said),
    "google": lambda status, said: google.from_status(status, HEADERS, json.dumps(said).encode()),
}
ERRORS_BY_STATUS = {
    401: errors.UpstreamDenied,
    403: errors.UpstreamDenied,
    429: errors.UpstreamBusy,
    503: errors.UpstreamOverloaded,
    408: errors.UpstreamTimeout,
    504: errors.UpstreamTimeout,
    400: errors.UpstreamRejected,
    404: errors.UpstreamRejected,
    422: errors.UpstreamRejected,
    500: errors.UpstreamError,
    502: errors.UpstreamError,
}
TOO_LONG: dict[str, ErrorBody] = {
    "openai": {"error": {"code": "context_length_exceeded", "message": "canary"}},
    "anthropic": {"error": {"type": "invalid_request_error", "message": "prompt is too long: 3 > 2 canary"}},
    "google": {"error": {"message": "The input token count (3) exceeds the maximum. canary"}},
}
CANARY: ErrorBody = {"error": {"message": "canary", "type": "canary", "code": "canary"}}


@pytest.mark.demand("models.vendor_errors_map_same", "models.model_contract_suite_passes")
@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("status", ERRORS_BY_STATUS)
def test_a_status(vendor: str, status: int) -> None:
    error = VENDORS[vendor](status, CANARY)
    assert type(error) is ERRORS_BY_STATUS[status]
    assert "canary" not in error.message
    if isinstance(error, errors.UpstreamBusy):
        assert error.retry_after == 3


@pytest.mark.demand("models.vendor_errors_map_same")
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_conversation_that_is_too_long(vendor: str) -> None:
    error = VENDORS[vendor](400, TOO_LONG[vendor])
    assert type(error) is errors.ContextTooLong
    assert "canary" not in error.message


@pytest.mark.demand("models.vendor_errors_map_same")
def test_what_a_vendor_will_not_answer() -> None:
    filtered = {"error": {"code": "content_filter", "message": "canary", "status": 400}}
    for error in (VENDORS["openai"](400, filtered), google.prompt_blocked_error("SAFETY")):
        assert type(error) is errors.ContentRefused
        assert "canary" not in error.message
