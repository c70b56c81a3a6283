"""Requests to foreign URLs: checked, limited, redirects followed under the same rules; recorded for the playground."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from msgspec import Struct

from rightseat.config.secret import mask
from rightseat.errors import AddressRefused, CallerError, UpstreamGarbled, UpstreamTimeout
from rightseat.http.fetch.rules import AddressRules

if TYPE_CHECKING:
    from rightseat.http.fetch.exchange import FetchSession, Lookup

MAX_BYTES = 20 << 20
TIMEOUT_SECONDS = 20.0
MAX_REDIRECTS = 5
REDIRECT_STATUSES = (301, 302, 303, 307, 308)

# The headers that follow a redirect to another origin; any other may be a credential.
CROSS_ORIGIN_HEADERS = {"accept", "accept-language", "user-agent"}

# Headers of the connection itself: setting them allows request smuggling.
CONNECTION_HEADERS = {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"}

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FILE_NAME = re.compile(r"""filename\*?=(?:utf-8'[^']*')?"?([^";]+)"?""", re.IGNORECASE)


class FetchResult(Struct, frozen=True):
    """A response of any status. `content_type` is as the server sent it, parameters included."""

    url: str
    status: int
    content_type: str
    data: bytes
    headers: dict[str, str]
    """Names in lower case; repeated ones are joined."""

    @property
    def name(self) -> str:
        """The file name: of Content-Disposition, else the last part of the path."""
        match = FILE_NAME.search(self.headers.get("content-disposition", ""))
        path = self.url.partition("?")[0].partition("#")[0].split("://", 1)[-1]
        name = match[1] if match else path.partition("/")[2]
        return unquote(name).replace("\\", "/").rpartition("/")[2].strip()[:200]


class OutboundClient:
    """Fetches URLs under `rules`. Holds connections: close it."""

    def __init__(
        self,
        rules: AddressRules | None = None,
        *,
        max_bytes: int = MAX_BYTES,
        seconds: float = TIMEOUT_SECONDS,
        resolve: Lookup | None = None,
    ) -> None:
        self.rules = rules or AddressRules()
        self.max_bytes = max_bytes
        self.seconds = seconds
        self.resolve = resolve
        self._session: tuple[asyncio.AbstractEventLoop, FetchSession] | None = None

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        same_origin: bool = False,
        query: tuple[str, ...] = (),
    ) -> FetchResult:
        """Fetch a URL and return the response of any status. `same_origin`: a redirect to another origin is
        an error. `query`: escaped pairs that a redirect within the origin keeps, as it keeps headers.

        Raises AddressRefused, UpstreamRefused, UpstreamTimeout, UpstreamTooLarge or UpstreamGarbled.
        """
        if not TOKEN.fullmatch(method):
            raise CallerError(f"{method[:20]!r} is not an HTTP method.")
        check_headers(headers)
        try:
            async with asyncio.timeout(self.seconds):
                return await self._fetch_with_redirects(url, method, headers, body, same_origin, query)
        except TimeoutError:
            raise UpstreamTimeout(
                f"The server did not answer completely within {self.seconds:g} s. Try again, or ask for less."
            ) from None

    async def _fetch_with_redirects(
        self,
        url: str,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        same_origin: bool,
        query: tuple[str, ...],
    ) -> FetchResult:
        from rightseat.http.fetch.target import parse_target, resolve_redirect

        session = self._get_session()
        current = parse_target(url)
        for _ in range(MAX_REDIRECTS + 1):
            self.rules.check_host(current.host, current.port)
            reply = await session.send(current, method, add_default_headers(headers), body, self.max_bytes)
            location = reply.headers.get("location")
            if reply.status not in REDIRECT_STATUSES or not location:
                return reply
            next_target = resolve_redirect(current, location)
            if method not in ("GET", "HEAD") and (
                reply.status == 303 or (reply.status in (301, 302) and method == "POST")
            ):
                method, body = "GET", None
                headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
            if next_target.origin != current.origin:
                if same_origin or body is not None:
                    raise AddressRefused(
                        "The server redirects this request, and redirects of it are not followed. "
                        "Name the final address."
                    )
                headers = {name: value for name, value in headers.items() if name.lower() in CROSS_ORIGIN_HEADERS}
                query = ()
            current = parse_target(add_query(str(next_target.url), query))
        raise UpstreamGarbled(f"The server redirects more than {MAX_REDIRECTS} times. Name the final address.")

    def _get_session(self) -> FetchSession:
        from rightseat.http.fetch.exchange import FetchSession, resolve_by_system

        loop = asyncio.get_running_loop()
        if self._session is None or self._session[0] is not loop:
            self._session = loop, FetchSession(self.rules, self.resolve or resolve_by_system)
        return self._session[1]

    async def close(self) -> None:
        if self._session is not None:
            _, session = self._session
            self._session = None
            session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def is_allowed_header(header: str) -> bool:
    """Whether a caller may set a header of this name."""
    return TOKEN.fullmatch(header) is not None and header.lower() not in CONNECTION_HEADERS


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not is_allowed_header(name):
            raise CallerError(f"Header {name[:60]!r} cannot be sent. Leave it out.")
        if any(char in value for char in "\r\n\0") or not value.isprintable():
            raise CallerError(f"The value of header {name[:60]!r} has a line break or a control character in it.")
        if not value.isascii():
            raise CallerError(f"The value of header {name[:60]!r} is not ASCII. Encode it.")


def add_query(url: str, query: tuple[str, ...]) -> str:
    """Add pairs to a URL's query, except for names that it has."""
    address, _, existing = url.partition("?")
    pairs = existing.split("&") if existing else []
    named = {pair.partition("=")[0] for pair in pairs}
    pairs += [pair for pair in query if pair.partition("=")[0] not in named]
    return f"{address}?{'&'.join(pairs)}" if pairs else address


def add_default_headers(headers: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower() for name in headers}
    defaults = {"Accept": "*/*", "User-Agent": "rightseat"}
    added = {name: value for name, value in defaults.items() if name.lower() not in names}
    plain = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    return {**added, **plain, "Accept-Encoding": "gzip, deflate"}


_RECORDED: ContextVar[list[dict[str, Any]] | None] = ContextVar("seen", default=None)

# Values of all other headers are masked: one may be a key.
SHOWN_HEADERS = ("accept", "content-type", "user-agent")
MAX_BODY_SHOWN = 4000


@contextmanager
def record_requests() -> Iterator[list[dict[str, Any]]]:
    """Record the requests of this task within the block, in order; yields the list."""
    requests: list[dict[str, Any]] = []
    token = _RECORDED.set(requests)
    try:
        yield requests
    finally:
        _RECORDED.reset(token)


def record_request(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> None:
    requests = _RECORDED.get()
    if requests is None:
        return
    shown = {name: value if name.lower() in SHOWN_HEADERS else "•••" for name, value in headers.items()}
    text = (body or b"")[:MAX_BODY_SHOWN].decode("utf-8", "replace")
    requests.append({"method": method, "url": mask(url), "headers": shown, "body": mask(text)})
