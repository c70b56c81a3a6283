"""Request checks before a handler runs: Host, Origin (CORS), body size and body timeout.

A web page can make a browser call a server on loopback (DNS rebinding, cross-site posts). So the Host must be
one of ours, an Origin must be allowed, and with an Origin the body must be declared as JSON, which forces a
preflight.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

from rightseat.errors import CallerError, Forbidden, NotJson, RequestTimeout, TooLarge
from rightseat.http.proxy import Proxies
from rightseat.http.reply import Headers, Receive

# Every character that HTTP allows in names: users configure these headers in their client.
HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1000}")
METHODS = b"GET, POST, PATCH, DELETE, OPTIONS"


class Policy(Protocol):
    """The security settings of the [server] table."""

    @property
    def host(self) -> str: ...
    @property
    def public_url(self) -> str: ...
    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def cors(self) -> tuple[str, ...]: ...
    @property
    def trusted_proxies(self) -> tuple[str, ...]: ...
    @property
    def max_body_mb(self) -> float: ...
    @property
    def body_timeout(self) -> float: ...


@lru_cache(maxsize=256)
def loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    def __init__(self, policy: Policy) -> None:
        public = urlsplit(policy.public_url).hostname or ""
        self.public_url = policy.public_url.rstrip("/")
        self.proxies = Proxies(policy.trusted_proxies)
        # Beyond loopback a key is required, which a rebound page does not have.
        self.any_host = "*" in policy.hosts or not loopback(policy.host)
        self.hosts = {name.lower() for name in (*policy.hosts, policy.host, public) if name}
        self.origins = {origin.rstrip("/").lower() for origin in policy.cors}
        self.max_body = int(policy.max_body_mb * 1_000_000)
        self.body_timeout = policy.body_timeout

    def check_host(self, values: list[str]) -> None:
        """Raise unless there is exactly one Host header and it names this server (DNS rebinding)."""
        host = hostname(values[0]) if len(values) == 1 else None
        if host is None:
            raise CallerError("The Host header is missing, doubled or malformed.")
        if not (self.any_host or loopback(host) or host in self.hosts):
            raise Forbidden(
                f"Host {host[:64]!r} is not served here. Add it to [server] hosts if it should be."
            )

    def check_origin(
        self, headers: Mapping[str, str], *, has_body: bool, also: Collection[str] = ()
    ) -> Headers:
        """Refuse foreign origins; return the CORS headers for an allowed one. `extra_origins` are those of
        the door's own clients."""
        origin = headers.get("origin")
        if origin is None:
            return ()
        listed = origin.lower() in self.origins or origin.lower() in also
        if not (listed or self.own(origin, headers.get("host", ""))):
            raise Forbidden("This origin may not call here. Add it to [server] cors if it should.")
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if has_body and media != "application/json" and not media.endswith("+json"):
            raise NotJson("Send the body with `Content-Type: application/json`.")
        allowed = [(b"access-control-allow-origin", origin.encode()), (b"vary", b"Origin")]
        exposed = b"x-request-id, x-trace-id, retry-after, mcp-session-id"
        allowed.append((b"access-control-expose-headers", exposed))
        if listed:
            allowed.append((b"access-control-allow-credentials", b"true"))
        return tuple(allowed)

    def own(self, origin: str, host: str) -> bool:
        """Whether an origin is a page on this machine or one that this host served."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or parts.path or not parts.hostname:
            return False
        return loopback(parts.hostname) or parts.netloc.lower() == host.lower()

    def preflight(self, headers: Mapping[str, str], also: Collection[str] = ()) -> Headers:
        """Return the headers that answer a CORS preflight; empty without an Origin."""
        allowed = self.check_origin(headers, has_body=False, also=also)
        asked = headers.get("access-control-request-headers", "")
        names = asked if HEADER_NAMES.fullmatch(asked) else ""
        more = [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", names.encode()),
            (b"access-control-max-age", b"600"),
        ]
        if allowed and headers.get("access-control-request-private-network") == "true":
            more.append((b"access-control-allow-private-network", b"true"))
        return (*allowed, *more) if allowed else ()

    async def body(self, headers: Mapping[str, str], receive: Receive) -> bytes | None:
        """Read the whole body within size and time limits; None when the client disconnected."""
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise CallerError("Send the body without Content-Encoding: compressed requests are not read.")
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > self.max_body:
            raise TooLarge(f"The body is larger than {self.max_body} bytes.")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.body_timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    piece: bytes = message.get("body", b"")
                    pieces.append(piece)
                    size += len(piece)
                    if size > self.max_body:
                        raise TooLarge(f"The body is larger than {self.max_body} bytes.")
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError:
            raise RequestTimeout(f"The body did not arrive within {self.body_timeout:g} s.") from None


def hostname(value: str) -> str | None:
    """Return the name of a Host header without its port; None where malformed."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?", value)
    return found[1].strip("[]").lower() if found else None
