"""HTTP client of an agent's server: one `AgentClient` per [agents.NAME], made by its factory.

    client = AgentClient(name, url, headers={...}, hook=load_request_hook(on_before_request), timeout=120)
    info  = await client.request_json("POST", ("info",), {"properties": {}})      # one JSON response, retried
    state = await client.request_json("GET", ("threads", id, "state"), missing_ok=True)     # None: HTTP 404
    async with await client.open_stream("POST", ("runs",), body, turn=turn) as response:
        response.headers                                  # names in lower case
        async for data in response: ...                   # raises if the stream breaks off or stays idle
    client.close()

Headers, by rising precedence: the client's forwarded ones (`turn.headers`), the configured ones, the hook's.
A path segment has letters, digits and `_ . ~ : @ + -` only, so that an id from a client cannot reach another
path. Redirects are refused, and errors come from PeerErrors. A request that the peer may have accepted is
sent again only if it is `idempotent`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from yarl import URL

from rightseat.agents._peer.faults import Faults
from rightseat.agents._peer.incoming import Incoming
from rightseat.agents.hook import Hook, Outgoing, fits
from rightseat.config.secret import mask
from rightseat.errors import (
    CallerError,
    ConfigError,
    Misused,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
)
from rightseat.http import Client, ConnectTimeout, Cut, Response, request_head
from rightseat.http.address import address
from rightseat.http.forwarding import over
from rightseat.http.retry import retrying
from rightseat.types.turn import Owner, Turn

JSON_LIMIT = 64 << 20
_ERROR_BODY = 64 << 10
_ERROR_BODY_SECONDS = 2.0
_PART = re.compile(r"[\w.~:@+\-]{1,300}", re.ASCII)
# Headers of a connection, which must not be forwarded.
_OURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect"))

log = logging.getLogger(__name__)


class Reach:
    """Client of one agent's server. `timeout` is the longest idle time, before and within a response."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        hook: Hook | None = None,
        connect_timeout: float = 10,
        timeout: float = 120,
        tries: int = 3,
    ) -> None:
        self.faults = Faults(name)
        self._base = address(url, f"The url of agent {name!r}")
        self._name = name
        self._headers = {"User-Agent": "rightseat", **headers}
        for key, value in self._headers.items():
            if not fits(key, value):
                raise ConfigError(
                    f"Agent {name!r}: the header {key!r} has a character that HTTP does not take."
                )
        self._hook = hook
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._tries = tries
        self._client = Client(self._base, connect_timeout=connect_timeout)

    def close(self) -> None:
        self._client.close()

    async def json(
        self,
        method: str,
        path: tuple[str, ...],
        body: Any = None,
        *,
        turn: Turn | None = None,
        owner: Owner | None = None,
        query: Mapping[str, str] = {},
        repeatable: bool = True,
        absent: bool = False,
    ) -> Any:
        """Send a request; return the decoded JSON, None for an empty body or (`missing_ok`) a 404."""
        answer = await self._sent(method, path, body, turn, owner, query, {}, repeatable, absent)
        async with answer:
            if answer.status == 404:
                return None
            data = bytearray()
            async for piece in answer:
                data += piece
                if len(data) > JSON_LIMIT:
                    raise self.faults.too_large(JSON_LIMIT)
        if not data:
            return None
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.faults.garbled("not JSON") from error

    async def stream(
        self,
        method: str,
        path: tuple[str, ...],
        body: Any = None,
        *,
        turn: Turn | None = None,
        query: Mapping[str, str] = {},
        headers: Mapping[str, str] = {},
        repeatable: bool = False,
    ) -> Incoming:
        """Send a request and wait for the response head; use the result with `async with`."""
        sent = {"Accept": "text/event-stream", **headers}
        return await self._sent(method, path, body, turn, None, query, sent, repeatable, False)

    async def _sent(
        self,
        method: str,
        path: tuple[str, ...],
        body: Any,
        turn: Turn | None,
        owner: Owner | None,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        repeatable: bool,
        absent: bool,
    ) -> Incoming:
        url = self._url(path, query)
        try:
            data = b"" if body is None else msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise CallerError(
                "The request contains half a character (a lone surrogate): send valid text."
            ) from error
        head = request_head(method, url, await self._outgoing(method, url, turn, owner, headers))
        taken = False

        def again(error: RightseatError) -> bool:
            # A busy peer has not started the request.
            passing = type(error) in (UpstreamBusy, UpstreamOverloaded)
            unsure = type(error) in (UpstreamError, UpstreamRefused)
            return passing or (unsure and (repeatable or not taken))

        async def attempt() -> Incoming:
            nonlocal taken
            taken = False
            response = await self._dialled(head, data)
            taken = True
            return await self._begun(response, absent)

        return await retrying(attempt, again=again, tries=self._tries)

    def _url(self, path: tuple[str, ...], query: Mapping[str, str]) -> URL:
        for part in path:
            # Percent-encoding does not help: servers decode %2F before routing.
            if not _PART.fullmatch(part) or part.strip(".") == "":
                raise CallerError(
                    "An id has characters that it cannot have: letters, digits and _ . : - only."
                )
        return self._base.joinpath(*path).with_query({**self._base.query, **query})

    async def _outgoing(
        self, method: str, url: URL, turn: Turn | None, owner: Owner | None, headers: Mapping[str, str]
    ) -> dict[str, str]:
        passed = turn.headers if turn else {}
        theirs = {k: v for k, v in passed.items() if k.lower() not in _OURS and fits(k, v)}
        fixed = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        # Identity only: compression allows decompression bombs and delays a stream.
        found = over({**fixed, **self._headers, "Accept-Encoding": "identity"}, theirs)
        if self._hook is None:
            return found
        properties = turn.forwarded.properties if turn else {}
        given = self._hook(Outgoing(method, url.path, turn.owner if turn else owner, theirs, properties))
        if inspect.isawaitable(given):
            given = await given
        return over(self._checked(given), found)

    def _checked(self, given: object) -> dict[str, str]:
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not all(fits(key, value) for key, value in given.items()):
            raise Misused(
                f"Agent {self._name!r}: on_before_request must return headers: a dict of plain strings."
            )
        return {key: value for key, value in given.items() if key.lower() not in _OURS}

    async def _dialled(self, head: bytes, body: bytes) -> Response:
        try:
            return await self._client.send(head, body, asyncio.get_running_loop().time() + self._timeout)
        except ConnectTimeout as error:
            raise self.faults.slow_connect(self._connect_timeout) from error
        except TimeoutError as error:
            raise self.faults.silent(self._timeout) from error
        except OSError as error:
            raise self.faults.refused() from error

    async def _begun(self, response: Response, absent: bool) -> Incoming:
        answer = Incoming(response, self.faults, self._timeout)
        accepted = False
        try:
            await answer.head()
            accepted = 200 <= response.status < 300 or (absent and response.status == 404)
            if not accepted:
                await self._log(response)
                raise self.faults.of_status(response.status, response.headers)
        finally:
            if not accepted:
                answer.close()
        return answer

    async def _log(self, response: Response) -> None:
        """Write the peer's error body to the debug log."""
        if not log.isEnabledFor(logging.DEBUG):
            return
        body = b""
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                body = await response.read(_ERROR_BODY)
        except (TimeoutError, Cut):
            log.debug("the body of an error answer did not arrive whole")
        # Mask before truncating, else half of a key could remain.
        said = mask(body.decode(errors="replace"))[:300]
        log.debug("agent %r, HTTP %s: %r", self._name, response.status, said)
