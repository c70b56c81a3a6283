"""Requests to foreign URLs: checked, limited, redirects followed under the same rules."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from msgspec import Struct

from rightseat.errors import AddressRefused, CallerError, UpstreamGarbled, UpstreamTimeout
from rightseat.http.fetch.rules import Rules

if TYPE_CHECKING:
    from rightseat.http.fetch.exchange import Line, Reply, Resolve
    from rightseat.http.fetch.target import Target

MAX_BYTES = 20 << 20
SECONDS = 20.0
REDIRECTS = 5
REDIRECTING = (301, 302, 303, 307, 308)
# The headers that follow a redirect to another origin; any other may be a credential.
HARMLESS = {"accept", "accept-language", "user-agent"}
# Headers of the connection itself: setting them allows request smuggling.
OURS = {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"}
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FILE_NAME = re.compile(r"""filename\*?=(?:utf-8'[^']*')?"?([^";]+)"?""", re.IGNORECASE)


class Fetched(Struct, frozen=True):
    """A response of any status. `content_type` is as the server sent it, parameters included."""

    url: str
    status: int
    content_type: str
    data: bytes
    headers: dict[str, str]
    """Names in lower case; the last of repeated ones."""

    @property
    def name(self) -> str:
        """The file name: of Content-Disposition, else the last part of the path."""
        said = FILE_NAME.search(self.headers.get("content-disposition", ""))
        path = self.url.partition("?")[0].partition("#")[0].split("://", 1)[-1]
        found = said[1] if said else path.partition("/")[2]
        return unquote(found).replace("\\", "/").rpartition("/")[2].strip()[:200]


class Outbound:
    """Fetches URLs under `rules`. Holds connections: close it."""

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        max_bytes: int = MAX_BYTES,
        seconds: float = SECONDS,
        redirects: int = REDIRECTS,
        resolve: Resolve | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.max_bytes = max_bytes
        self.seconds = seconds
        self.redirects = redirects
        self.resolve = resolve
        self._line: tuple[asyncio.AbstractEventLoop, Line] | None = None

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        same_origin: bool = False,
        query: tuple[str, ...] = (),
    ) -> Fetched:
        """Fetch a URL and return the response of any status. `same_origin`: a redirect to another origin is
        an error. `query`: escaped pairs that a redirect within the origin keeps, as it keeps headers.

        Raises AddressRefused, UpstreamRefused, UpstreamTimeout, UpstreamTooLarge or UpstreamGarbled.
        """
        if not TOKEN.fullmatch(method):
            raise CallerError(f"{method[:20]!r} is not an HTTP method.")
        check_headers(headers)
        try:
            async with asyncio.timeout(self.seconds):
                return await self._follow(url, method, headers, body, same_origin, query)
        except TimeoutError:
            raise UpstreamTimeout(
                f"The server did not answer completely within {self.seconds:g} s. Try again, or ask for less."
            ) from None

    async def _follow(
        self,
        url: str,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        same_origin: bool,
        query: tuple[str, ...],
    ) -> Fetched:
        from rightseat.http.fetch.target import joined, target

        line = self._connected()
        here = target(url)
        for _ in range(self.redirects + 1):
            self.rules.check_host(here.host, here.port)
            reply = await line.ask(here, method, sent(headers), body, self.max_bytes)
            location = reply.headers.get("Location")
            if reply.status not in REDIRECTING or not location:
                return fetched(here, reply)
            there = joined(here, location)
            if method not in ("GET", "HEAD") and (
                reply.status == 303 or (reply.status in (301, 302) and method == "POST")
            ):
                method, body = "GET", None
                headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
            if there.origin != here.origin:
                if same_origin or body is not None:
                    raise AddressRefused(
                        "The server sends this request on to another one, and that is not followed. "
                        "Name the final address."
                    )
                headers = {name: value for name, value in headers.items() if name.lower() in HARMLESS}
                query = ()
            here = target(with_query(str(there.url), query))
        raise UpstreamGarbled(
            f"The server redirects more than {self.redirects} times. Name the final address."
        )

    def _connected(self) -> Line:
        from rightseat.http.fetch.exchange import Line, by_system

        loop = asyncio.get_running_loop()
        if self._line is None or self._line[0] is not loop:
            self._line = loop, Line(self.rules, self.resolve or by_system)
        return self._line[1]

    async def close(self) -> None:
        if self._line is not None:
            _, line = self._line
            self._line = None
            await line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def may_be_sent(header: str) -> bool:
    """Whether a caller may set a header of this name."""
    return TOKEN.fullmatch(header) is not None and header.lower() not in OURS


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not may_be_sent(name):
            raise CallerError(f"Header {name[:60]!r} cannot be sent. Leave it out.")
        if any(char in value for char in "\r\n\0") or not value.isprintable():
            raise CallerError(
                f"The value of header {name[:60]!r} has a line break or a control character in it."
            )
        if not value.isascii():
            raise CallerError(f"The value of header {name[:60]!r} is not ASCII. Encode it.")


def with_query(url: str, query: tuple[str, ...]) -> str:
    """Add pairs to a URL's query, except for names that it has."""
    address, _, asked = url.partition("?")
    pairs = asked.split("&") if asked else []
    named = {pair.partition("=")[0] for pair in pairs}
    pairs += [pair for pair in query if pair.partition("=")[0] not in named]
    return f"{address}?{'&'.join(pairs)}" if pairs else address


def sent(headers: Mapping[str, str]) -> dict[str, str]:
    given = {name.lower() for name in headers}
    defaults = {"Accept": "*/*", "User-Agent": "rightseat"}
    added = {name: value for name, value in defaults.items() if name.lower() not in given}
    plain = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    return {**added, **plain, "Accept-Encoding": "gzip, deflate"}


def fetched(here: Target, reply: Reply) -> Fetched:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return Fetched(str(here.url), reply.status, headers.get("content-type", ""), reply.data, headers)
