"""Errors of any vendor's client → RightseatErrors, by class name and status code.

Messages are ours; upstream text goes only to the debug log. Other errors belong to the application and pass
unchanged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rightseat import errors
from rightseat.config.secret import mask
from rightseat.errors import RightseatError
from rightseat.http.retry import parse_retry_after
from rightseat.models._vendor.errors import VendorErrors

log = logging.getLogger(__name__)
_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|context window|prompt is too long|input is too long"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
# Exception class names of OpenAI, Anthropic, Google, AWS, httpx, aiohttp and LangChain.
_DENIED = {
    *("AuthenticationError", "PermissionDeniedError", "ModelAuthenticationError", "ModelPermissionDeniedError"),
    *("Unauthenticated", "PermissionDenied", "Forbidden", "Unauthorized", "NoCredentialsError"),
}
_BUSY = {"RateLimitError", "ModelRateLimitError", "ResourceExhausted", "TooManyRequests", "ThrottlingException"}
_OVERLOADED = {"OverloadedError", "ServiceUnavailable", "ServiceUnavailableError"}
_TIMED_OUT = {"APITimeoutError", "ModelTimeoutError", "TimeoutException", "TimeoutError", "Timeout", "DeadlineExceeded"}
_UNREACHED = {
    *("APIConnectionError", "ModelConnectionError", "ConnectError", "ConnectionError", "ClientConnectorError"),
    *("EndpointConnectionError", "NetworkError", "ProtocolError", "ClientError", "TransportError"),
}
_CONTEXT_TOO_LONG = {"ContextOverflowError", "ContextWindowExceededError"}
_REFUSED = {"ContentFilterFinishReasonError", "ContentPolicyViolationError", "ResponsibleAIPolicyViolation"}
_INVALID_OUTPUT = {"OutputParserException", "LengthFinishReasonError"}
_UNREADABLE = {"JSONDecodeError", "APIResponseValidationError"}
_REJECTED = {
    *("BadRequestError", "NotFoundError", "UnprocessableEntityError", "InvalidArgument", "InvalidRequestError"),
    *("ModelInvalidRequestError", "ModelNotFoundError", "ValidationException"),
}
_SERVER_ERRORS = {"InternalServerError", "APIError", "ModelAPIError", "ModelError", "APIStatusError"}


class LangChainErrors(VendorErrors):
    key = "what the model was made with"
    unreachable = "check the network and the model's address"

    def invalid_response(self, why: str) -> RightseatError:
        return errors.UpstreamGarbled(f"The LangChain model gave what cannot be read ({why}): check it.")


ERRORS = LangChainErrors()


class translate_errors:
    """Context manager that translates known errors of foreign code. `started`: chunks have arrived."""

    def __init__(self, started: bool) -> None:
        self._started = started

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, RightseatError):
            translated_error = from_exception(error, self._started)
            if translated_error is not None:
                log.debug("a LangChain model, %s: %r", type(error).__name__, mask(str(error))[:300])
                raise translated_error from error


def from_exception(error: Exception, started: bool) -> RightseatError | None:
    names = {base.__name__ for base in type(error).__mro__}
    status = find_status(error)
    if names & _CONTEXT_TOO_LONG or (
        status in (400, 413, 422, None) and names & (_REJECTED | _SERVER_ERRORS) and _mentions_context_length(error)
    ):
        return ERRORS.context_too_long(str(error)[:2000])
    if names & _REFUSED or getattr(error, "code", None) == "content_filter":
        return errors.ContentRefused("The vendor does not let the model answer this. Ask in other words.")
    if names & _INVALID_OUTPUT:
        return errors.OutputInvalid("The model's answer does not have the form that the chain wants: try again.")
    if names & _UNREADABLE:
        return ERRORS.invalid_response("not the JSON of an answer")
    if status is not None:
        return ERRORS.from_status(status, _find_retry_after(error))
    return _from_class_names(names, started)


def _from_class_names(names: set[str], started: bool) -> RightseatError | None:
    # Timeouts often subclass connection errors: check the specific names first.
    for known, status in ((_DENIED, 401), (_BUSY, 429), (_OVERLOADED, 503), (_TIMED_OUT, 504), (_REJECTED, 400)):
        if names & known:
            return ERRORS.from_status(status)
    if names & _UNREACHED:
        return ERRORS.incomplete_stream() if started else ERRORS.connection_refused()
    return ERRORS.from_status(500) if names & _SERVER_ERRORS else None


def find_status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    candidates = [getattr(error, name, None) for name in ("status_code", "http_status", "status", "code")]
    candidates.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):
        # The format of AWS's client.
        candidates.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    return next((int(status) for status in candidates if isinstance(status, int) and 400 <= status < 600), None)


def _mentions_context_length(error: Exception) -> bool:
    return _TOO_LONG.search(f"{getattr(error, 'code', '')} {error}") is not None


def _find_retry_after(error: Exception) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return parse_retry_after(headers) if isinstance(headers, Mapping) else None
