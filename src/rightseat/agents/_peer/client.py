"""HTTP client of an agent's server: one `AgentClient` per [agents.NAME], made by its factory.

    info = await client.request_json("POST", ("info",), {"properties": {}})      # one JSON response, retried
    async with await client.open_stream("POST", ("runs",), body, turn=turn) as response:
        async for data in response: ...                   # raises if the stream breaks off or stays idle

Headers, by rising precedence: the client's forwarded ones (`turn.client.headers`), the configured ones, the hook's.
A path segment has letters, digits and `_ . ~ : @ + -` only, so that an id from a client cannot reach another
path. Redirects are refused. A request that the peer may have accepted is sent again only if it is `idempotent`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.agents.hook import OutgoingRequest, is_valid_header, load_request_hook
from rightseat.config.options import OptionsT, parse_options
from rightseat.config.secret import mask
from rightseat.errors import (
    AgentFailed,
    CallerError,
    ConfigError,
    Conflict,
    Misused,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamTooLarge,
)
from rightseat.http.client import HttpClient, Response, format_request_head, parse_base_url
from rightseat.http.forwarding import merge_headers
from rightseat.http.idle import IdleTimer
from rightseat.http.retry import call_with_retry, parse_retry_after
from rightseat.http.upstream import StatusTable, UpstreamErrors, read_error_body, read_head, send_request
from rightseat.types.turn import Turn

JSON_LIMIT = 64 << 20
_PATH_SEGMENT = re.compile(r"[\w.~:@+\-]{1,300}", re.ASCII)

# Headers of a connection, which must not be forwarded.
_CONNECTION_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect")
)

log = logging.getLogger(__name__)


class AgentOptions(Struct, frozen=True, kw_only=True):
    """Options that every HTTP agent accepts in its [agents.NAME] table."""

    url: str
    """The URL that clients of the agent post to."""
    headers: dict[str, str] = {}
    """Headers of each request. A value may be a reference such as `env:AGENT_KEY`."""
    on_before_request: Any = None
    """`module:attribute` of a function that is called before each request and returns headers for it."""
    timeout: float = 120
    """Seconds without data from the agent, before and within a response, after which a run fails."""
    connect_timeout: float = 10
    """Seconds for connecting to the agent."""
    tries: int = 3
    """How often a request is sent in all if the agent does not accept it."""
    title: str = ""
    """The name that front ends show."""
    description: str = ""
    """What the agent is for. Users see it, and models that may hand over to the agent."""


def parse_agent_options(kind: str, name: str, options: Mapping[str, Any], options_type: type[OptionsT]) -> OptionsT:
    """Convert the table [agents.NAME]; all its numbers are above 0."""
    owner = f"The agent {name!r} ({kind})"
    return parse_options(owner, options, options_type, positive=options_type.__struct_fields__)


class PeerErrors(UpstreamErrors):
    """Errors of one peer, which is named as in rightseat.toml. Its address is never shown to clients."""

    address = "its url"
    key = "its api_key and headers"
    unreachable = "check that it runs, and check its url"
    invalid = "check its url and kind"
    unknown = "knows no such agent or path: check its url and agents"
    rejected = "the debug log has its reason"
    statuses: ClassVar[StatusTable] = {
        409: (Conflict, "is still answering in this conversation: wait for it, or stop it.")
    }

    def __init__(self, name: str) -> None:
        self.server = f"The server of agent {name!r}"

    def response_too_large(self, limit: int) -> RightseatError:
        return UpstreamTooLarge(f"{self.server} sent more than {limit} bytes at once.")

    def run_failed(self, kind: str = "") -> RightseatError:
        """Return the error of a failed run. `kind` is its error class, shown if a plain identifier."""
        named = f" ({kind})" if re.fullmatch(r"[A-Za-z_][\w.]{0,80}", kind, re.ASCII) else ""
        return AgentFailed(f"{self.server} failed in its run{named}: its own log has the reason. Try again.")


class StreamingResponse:
    """An HTTP response whose body is read by `async for`. Closing it early cuts the connection."""

    def __init__(self, response: Response, errors: PeerErrors, timeout: float) -> None:
        self._response = response
        self._errors = errors
        self._timeout = timeout
        self.timer = IdleTimer(timeout, response, response.abort)

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The response's headers, with names in lower case."""
        return self._response.headers

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        response = self._response
        while not response.ready:
            await response.next_arrival()
        data = response.take_body()
        if data or not response.ended:
            return data
        if response.complete:
            raise StopAsyncIteration
        raise (self._errors.idle_timeout(self._timeout) if self.timer.expired else self._errors.incomplete_stream())

    def close(self) -> None:
        self.timer.stop()
        self._response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AgentClient:
    def __init__(self, name: str, options: AgentOptions) -> None:
        self.errors = PeerErrors(name)
        self._base = parse_base_url(options.url, f"The url of agent {name!r}")
        self._name = name
        self._headers = {"User-Agent": "rightseat", **options.headers}
        for key, value in self._headers.items():
            if not is_valid_header(key, value):
                raise ConfigError(
                    f"Agent {name!r}: the header {key!r} has a character that HTTP headers cannot contain. Remove it."
                )
        self._hook = load_request_hook(options.on_before_request)
        self._timeout = options.timeout
        self._tries = options.tries
        self._client = HttpClient(self._base, connect_timeout=options.connect_timeout)

    def close(self) -> None:
        self._client.close()

    async def request_json(
        self,
        method: str,
        path: tuple[str, ...],
        body: Any = None,
        *,
        turn: Turn | None = None,
        query: Mapping[str, str] = {},
        idempotent: bool = True,
        missing_ok: bool = False,
    ) -> Any:
        """Send a request; return the decoded JSON, None for an empty body or (`missing_ok`) a 404."""
        headers = {"Accept": "application/json"}
        stream = self.open_stream(method, path, body, turn, query, headers, idempotent, missing_ok)
        async with await stream as response:
            if response.status == 404:
                return None
            data = bytearray()
            async for chunk in response:
                data += chunk
                if len(data) > JSON_LIMIT:
                    raise self.errors.response_too_large(JSON_LIMIT)
        if not data:
            return None
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.errors.invalid_response("not JSON") from error

    async def open_stream(
        self,
        method: str,
        path: tuple[str, ...],
        body: Any = None,
        turn: Turn | None = None,
        query: Mapping[str, str] = {},
        headers: Mapping[str, str] = {},
        idempotent: bool = False,
        missing_ok: bool = False,
    ) -> StreamingResponse:
        """Send a request and wait for the response head; use the result with `async with`."""
        url = self._url(path, query)
        try:
            data = b"" if body is None else msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise CallerError(
                "The request contains a lone surrogate, which is not valid text. Send valid Unicode text."
            ) from error
        head = format_request_head(method, url, await self._build_headers(method, url, turn, headers))
        request_sent = False

        def is_retryable(error: RightseatError) -> bool:
            # A busy peer has not started the request.
            is_busy = type(error) in (UpstreamBusy, UpstreamOverloaded)
            is_uncertain = type(error) in (UpstreamError, UpstreamRefused)
            return is_busy or (is_uncertain and (idempotent or not request_sent))

        async def attempt() -> StreamingResponse:
            nonlocal request_sent
            request_sent = False
            deadline = asyncio.get_running_loop().time() + self._timeout
            response = await send_request(
                self._client, head, data, self.errors, deadline=deadline, seconds=self._timeout
            )
            request_sent = True
            stream = StreamingResponse(response, self.errors, self._timeout)
            await read_head(
                response, stream.timer, self.errors, self._timeout, self._make_status_error, missing_ok=missing_ok
            )
            return stream

        return await call_with_retry(attempt, is_retryable=is_retryable, tries=self._tries)

    def _url(self, path: tuple[str, ...], query: Mapping[str, str]) -> URL:
        for part in path:
            # Percent-encoding does not help: servers decode %2F before routing.
            if not _PATH_SEGMENT.fullmatch(part) or part.strip(".") == "":
                raise CallerError("An id contains an invalid character. Use only letters, digits and _ . : -")
        return self._base.joinpath(*path).with_query({**self._base.query, **query})

    async def _build_headers(
        self, method: str, url: URL, turn: Turn | None, headers: Mapping[str, str]
    ) -> dict[str, str]:
        client_headers = turn.client.headers.items() if turn else ()
        valid = {key: value for key, value in client_headers if is_valid_header(key, value)}
        forwarded = drop_connection_headers(valid)
        fixed = {"Content-Type": "application/json", "Accept": "text/event-stream", **headers}
        # Identity only: compression allows decompression bombs and delays a stream.
        merged = merge_headers({**fixed, **self._headers, "Accept-Encoding": "identity"}, forwarded)
        if self._hook is None:
            return merged
        owner, properties = (turn.owner, turn.client.forwarded.properties) if turn else (None, {})
        added: Any = self._hook(OutgoingRequest(method, url.path, owner, forwarded, properties))
        added = await added if inspect.isawaitable(added) else added
        if added is None:
            return merged
        if not isinstance(added, Mapping) or not all(is_valid_header(key, value) for key, value in added.items()):
            raise Misused(f"Agent {self._name!r}: on_before_request must return headers: a dict of plain strings.")
        return merge_headers(drop_connection_headers(added), merged)

    async def _make_status_error(self, response: Response) -> RightseatError:
        if log.isEnabledFor(logging.DEBUG):
            # Mask before truncating, else half of a key could remain.
            text = mask((await read_error_body(response)).decode(errors="replace"))[:300]
            log.debug("agent %r, HTTP %s: %r", self._name, response.status, text)
        return self.errors.from_status(response.status, parse_retry_after(response.headers))


def drop_connection_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() not in _CONNECTION_HEADERS}
