"""What a vendor's server answers is the same error here, whichever vendor it is."""

import json
from typing import Any

import pytest

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.models._vendor.errors import VendorErrors
from rightseat.models.anthropic.errors import ERRORS as ANTHROPIC
from rightseat.models.google.errors import ERRORS as GOOGLE
from rightseat.models.openai.errors import ERRORS as OPENAI

ErrorBody = dict[str, Any]
VENDORS: dict[str, VendorErrors] = {"openai": OPENAI, "anthropic": ANTHROPIC, "google": GOOGLE}
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


def make_error(vendor: str, status: int, body: ErrorBody) -> RightseatError:
    return VENDORS[vendor].from_response(status, {"retry-after": "3"}, json.dumps(body).encode())


@pytest.mark.demand("models.vendor_errors_map_same", "models.model_contract_suite_passes")
@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("status", ERRORS_BY_STATUS)
def test_a_status(vendor: str, status: int) -> None:
    error = make_error(vendor, status, CANARY)
    assert type(error) is ERRORS_BY_STATUS[status]
    assert "canary" not in error.message
    if isinstance(error, errors.UpstreamBusy):
        assert error.retry_after == 3


@pytest.mark.demand("models.vendor_errors_map_same")
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_conversation_that_is_too_long(vendor: str) -> None:
    error = make_error(vendor, 400, TOO_LONG[vendor])
    assert type(error) is errors.ContextTooLong
    assert "canary" not in error.message


@pytest.mark.demand("models.vendor_errors_map_same")
def test_what_a_vendor_will_not_answer() -> None:
    filtered = {"error": {"code": "content_filter", "message": "canary", "status": 400}}
    for error in (make_error("openai", 400, filtered), GOOGLE.prompt_blocked("SAFETY")):
        assert type(error) is errors.ContentRefused
        assert "canary" not in error.message
