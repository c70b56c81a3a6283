"""A server that we call: its errors, and the head of its response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from rightseat.errors import (
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.http.client import ConnectTimeout, HttpClient, IncompleteResponse, InvalidHttpResponse, Response
from rightseat.http.descriptors import find_descriptor_error
from rightseat.http.idle import IdleTimer
from rightseat.types.streams import closing

ERROR_BODY = 64 << 10
ERROR_BODY_SECONDS = 2.0
StatusTable = Mapping[int, tuple[type[RightseatError], str]]

log = logging.getLogger(__name__)

# Sentences without their subject, by status; `{status}` is filled in.
STATUSES: StatusTable = {
    300: (UpstreamRejected, "redirects, which is not followed: set {address} to the final address."),
    400: (UpstreamRejected, "does not take this request (HTTP {status}): {rejected}."),
    401: (UpstreamDenied, "refused our key: check {key}."),
    403: (UpstreamDenied, "refused our key: check {key}."),
    404: (UpstreamRejected, "{unknown}."),
    408: (UpstreamTimeout, "timed out: try again."),
    429: (UpstreamBusy, "is over its rate limit: try later."),
    500: (UpstreamError, "failed (HTTP {status}): try again."),
    503: (UpstreamOverloaded, "is overloaded: try later."),
    504: (UpstreamTimeout, "timed out: try again."),
    529: (UpstreamOverloaded, "is overloaded: try later."),
}
# Errors that tell a caller when to come back.
_WITH_RETRY_AFTER = (UpstreamBusy, UpstreamOverloaded, UpstreamError)


class UpstreamErrors:
    """The errors of one server. Their messages are ours: what the server says goes to the debug log only."""

    server: str  # subject of the messages
    address: str  # the option that holds the server's address
    key: str  # what to check where our key is refused
    unreachable: str  # what to check where no connection is made
    invalid: str  # what to check where the response cannot be read
    unknown: str  # what HTTP 404 means
    rejected: str  # what to check where a request is rejected
    statuses: ClassVar[StatusTable] = {}  # statuses with a meaning of their own

    def connection_refused(self) -> RightseatError:
        return UpstreamRefused(f"{self.server} cannot be reached: {self.unreachable}.")

    def connect_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(f"{self.server} could not be connected within {seconds:g} s: {self.unreachable}.")

    def idle_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(f"{self.server} said nothing for {seconds:g} s: try again, or raise timeout.")

    def first_token_timeout(self, seconds: float) -> RightseatError:
        return self.idle_timeout(seconds)

    def incomplete_stream(self) -> RightseatError:
        return Incomplete(f"{self.server} broke off in the middle of its answer: try again.")

    def invalid_response(self, why: str) -> RightseatError:
        return UpstreamGarbled(f"{self.server} sent what cannot be read ({why}): {self.invalid}.")

    def from_exception(self, error: BaseException | None, timeout: float, connect_timeout: float = 0) -> RightseatError:
        """Return the error for an exception before the response headers."""
        match error:
            case ConnectTimeout():
                return self.connect_timeout(connect_timeout)
            case TimeoutError():
                return self.first_token_timeout(timeout)
            case InvalidHttpResponse():
                return self.invalid_response("not HTTP")
            case _:
                return find_descriptor_error(error) or self.connection_refused()

    def from_status(self, status: int, retry_after: float | None = None) -> RightseatError:
        """Return the error for a response whose status is not 2xx; an unlisted status counts as its hundred."""
        known = {**STATUSES, **self.statuses}
        kind, words = known.get(status) or known.get(status // 100 * 100) or known[500]
        words = words.format(
            status=status, address=self.address, key=self.key, unknown=self.unknown, rejected=self.rejected
        )
        return kind(f"{self.server} {words}", retry_after=retry_after if kind in _WITH_RETRY_AFTER else None)


async def send_request(
    client: HttpClient, head: bytes, body: bytes | None, errors: UpstreamErrors, *, deadline: float, seconds: float
) -> Response:
    """Send a request; `deadline` is `seconds` after its begin."""
    try:
        return await client.send(head, body, deadline)
    except OSError as error:
        failure = errors.from_exception(error, seconds, client.connect_timeout)
        failure.upstream = client.origin
        raise failure from error


async def read_head(
    response: Response,
    timer: IdleTimer,
    errors: UpstreamErrors,
    seconds: float,
    make_status_error: Callable[[Response], Awaitable[RightseatError]],
    *,
    missing_ok: bool = False,
) -> None:
    """Wait for the response headers; raises and closes the response unless the status is 2xx (or 404)."""
    accepted = False
    try:
        await response.wait_for_head()
        accepted = 200 <= response.status < 300 or (missing_ok and response.status == 404)
        if not accepted:
            raise await make_status_error(response)
    except IncompleteResponse as error:
        raise errors.from_exception(TimeoutError() if timer.expired else error, seconds) from error
    finally:
        if not accepted:
            timer.stop()
            response.close()


async def read_error_body(response: Response) -> bytes:
    """Read the body of an error response, as far as it comes in two seconds."""
    body = bytearray()
    try:
        async with asyncio.timeout(ERROR_BODY_SECONDS), closing(response.iter_body()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= ERROR_BODY:
                    break
    except (TimeoutError, IncompleteResponse):
        log.debug("the body of an error answer did not arrive whole")
    return bytes(body[:ERROR_BODY])
