"""The errors of the vendors' clients, as LangChain's packages let them through."""

import asyncio
import json
import logging
from typing import Any

import pytest
from langchain_core import exceptions as core

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.types.chunks import TextChunk
from tests.kit.faults import CANARY
from tests.kit.vendors.langchain import FakeChatModel, make_message_chunk
from tests.unit.models.langchain.model_calls import collect_chunks


class FakeResponse:
    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code = status_code
        self.headers = headers


def make_exception(name: str, *base_names: str, **fields: Any) -> Exception:
    """An exception of a class of that name, with the given fields."""
    kind: type[Exception] = Exception
    for one in (*reversed(base_names), name):
        kind = type(one, (kind,), {})
    error = kind(CANARY)
    for key, value in fields.items():
        setattr(error, key, value)
    return error


@pytest.mark.demand("models.langchain_module_attr_basechatmodel", "models.vendor_errors_map_same")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (make_exception("AuthenticationError", "APIStatusError", status_code=401), errors.UpstreamDenied),
        (make_exception("PermissionDeniedError", status_code=403), errors.UpstreamDenied),
        (
            make_exception("RateLimitError", status_code=429, response=FakeResponse(429, {"retry-after": "7"})),
            errors.UpstreamBusy,
        ),
        (make_exception("InternalServerError", status_code=500), errors.UpstreamError),
        (make_exception("APIStatusError", status_code=529), errors.UpstreamOverloaded),
        (make_exception("BadRequestError", status_code=400), errors.UpstreamRejected),
        (make_exception("BadRequestError", status_code=400, code="context_length_exceeded"), errors.ContextTooLong),
        (make_exception("BadRequestError", status_code=400, code="content_filter"), errors.ContentRefused),
        (make_exception("NotFoundError", status_code=404), errors.UpstreamRejected),
        (make_exception("APITimeoutError", "APIConnectionError", "APIError"), errors.UpstreamTimeout),
        (make_exception("APIConnectionError", "APIError"), errors.UpstreamRefused),
        (make_exception("ConnectError", "NetworkError", "TransportError"), errors.UpstreamRefused),
        (make_exception("ReadTimeout", "TimeoutException", "TransportError"), errors.UpstreamTimeout),
        (make_exception("ResourceExhausted", code=429), errors.UpstreamBusy),
        (make_exception("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 403}}), errors.UpstreamDenied),
        (make_exception("ThrottlingException"), errors.UpstreamBusy),
        (make_exception("HTTPStatusError", response=FakeResponse(503, {})), errors.UpstreamOverloaded),
        (make_exception("APIError"), errors.UpstreamError),
        (ConnectionRefusedError(CANARY), errors.UpstreamRefused),
        (TimeoutError(CANARY), errors.UpstreamTimeout),
        (core.ModelAuthenticationError(CANARY), errors.UpstreamDenied),
        (core.ModelPermissionDeniedError(CANARY), errors.UpstreamDenied),
        (core.ModelInvalidRequestError(CANARY), errors.UpstreamRejected),
        (core.ModelNotFoundError(CANARY), errors.UpstreamRejected),
        (core.ModelRateLimitError(CANARY), errors.UpstreamBusy),
        (core.ModelConnectionError(CANARY), errors.UpstreamRefused),
        (core.ModelTimeoutError(CANARY), errors.UpstreamTimeout),
        (core.ModelAPIError(CANARY), errors.UpstreamError),
        (core.ContextOverflowError(CANARY), errors.ContextTooLong),
        (core.OutputParserException(CANARY), errors.OutputInvalid),
        (json.JSONDecodeError(CANARY, "x", 0), errors.UpstreamGarbled),
        (errors.UpstreamBusy("ours"), errors.UpstreamBusy),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
async def test_an_error(error: Exception, kind: type[RightseatError], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fragments, found = await collect_chunks(FakeChatModel(chunks=[error]))
    assert not fragments
    assert type(found) is kind
    assert CANARY not in found.message
    assert found.retry_after == (7 if hasattr(error, "response") and kind is errors.UpstreamBusy else None)
    # The reason is for the operator who asks for it.
    assert (CANARY in caplog.text) is (CANARY in str(error))


@pytest.mark.parametrize(
    "error", [make_exception("RemoteProtocolError", "ProtocolError"), ConnectionResetError(CANARY)]
)
async def test_a_connection_that_breaks_within_the_answer(error: Exception) -> None:
    fragments, found = await collect_chunks(FakeChatModel(chunks=[make_message_chunk("so far"), error]))
    assert fragments == [TextChunk("so far")]
    assert type(found) is errors.Incomplete


async def test_a_cancelled_vendor_is_a_cancellation() -> None:
    with pytest.raises(asyncio.CancelledError):
        await collect_chunks(_cancelled)


async def _cancelled(_: Any) -> str:
    raise asyncio.CancelledError
