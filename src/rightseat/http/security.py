"""Request checks before a handler runs: Host, Origin, body size and time.

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
from urllib.parse import urlsplit

from yarl import URL

from rightseat.config.settings import ServerSettings
from rightseat.errors import CallerError, ConfigError, Forbidden, NotJson, RequestTimeout, TooLarge
from rightseat.http.forwarding import TrustedProxies
from rightseat.http.multipart import is_form
from rightseat.http.reply import Headers, Receive

# Every character that HTTP allows in names: users configure these headers in their client.
HEADER_NAMES_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1000}")
HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_origin(text: str) -> str:
    """Return an origin as browsers send it: in lower case, without a default port. Raises ConfigError if it is none."""
    if text == "null":
        return text
    try:
        url = URL(text)
        origin = str(url.origin()) if url.scheme and url.host else ""
    except ValueError:
        url, origin = URL(), ""
    if origin and not (url.user or url.password or url.path.strip("/") or url.query_string or url.fragment):
        return origin
    advice = f"write {origin}" if origin else "write it as https://HOST or https://HOST:PORT"
    if text == "*":
        advice = "name each page that may call, for `*` would let in every page on the web"
    elif HOST_PATTERN.fullmatch(text):
        advice = f"write https://{text}"
    shown = "an address with a user name" if url.user else repr(text)
    raise ConfigError(f"[server] cors: {shown} is no origin of a page: {advice}.")


class RequestGuard:
    """Checks of a server's requests; `is_mounted`: another app serves them, and no rightseat.toml has the settings."""

    def __init__(self, settings: ServerSettings, *, is_mounted: bool = False) -> None:
        self.is_mounted = is_mounted
        public = urlsplit(settings.public_url).hostname or ""
        self.public_url = settings.public_url.rstrip("/")
        self.proxies = TrustedProxies(settings.trusted_proxies)
        # Beyond loopback a key is required, which a rebound page does not have.
        self.any_host = "*" in settings.hosts or not is_loopback(settings.host)
        self.hosts = {name.lower() for name in (*settings.hosts, settings.host, public) if name}
        self.origins = {*map(parse_origin, settings.cors)}
        self.max_body = int(settings.max_body_mb * 1_000_000)
        self.body_timeout = settings.body_timeout

    def check_host(self, values: list[str]) -> None:
        """Raise unless there is exactly one Host header and it names this server (DNS rebinding)."""
        host = parse_host_header(values[0]) if len(values) == 1 else None
        if host is None:
            raise CallerError("The Host header is missing, repeated or malformed.")
        if not (self.any_host or is_loopback(host) or host in self.hosts):
            advice = f"If it should be, write {self.describe_setting('hosts', host[:64])}"
            raise Forbidden(f"Host {host[:64]!r} is not served here. {advice}")

    def describe_setting(self, key: str, value: str) -> str:
        """Return what to write, and where, for a setting that is a list with this value."""
        if self.is_mounted:
            return f'rightseat.asgi(runtime, {key}=["{value}"])'
        return f'in rightseat.toml: [server] {key} = ["{value}"]'

    def check_origin(
        self,
        headers: Mapping[str, str],
        *,
        has_body: bool,
        is_unsafe: bool = False,
        takes_form: bool = False,
        extra_origins: Collection[str] = (),
    ) -> Headers:
        """Refuse foreign origins; return the CORS headers for an allowed one. `extra_origins` are those of
        the door's own clients; `takes_form`: the body may be a form, which browsers send without asking first."""
        origin = headers.get("origin")
        if origin is None:
            # A page that hides its origin may not cause effects: those are never caused by GET.
            if is_unsafe and headers.get("sec-fetch-site") == "cross-site":
                raise Forbidden("A page of another site may not call here without naming its origin.")
            return ()
        listed = origin.lower() in self.origins or origin.lower() in extra_origins
        if not (listed or self.is_own_origin(origin, headers.get("host", ""))):
            advice = f"If it should, write {self.describe_setting('cors', 'THE ORIGIN')}"
            raise Forbidden(f"This origin may not call here. {advice}")
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = media == "application/json" or media.endswith("+json")
        if has_body and not is_json and not (takes_form and is_form(media)):
            raise NotJson("Send the body with `Content-Type: application/json`.")
        return (
            (b"access-control-allow-origin", origin.encode()),
            (b"vary", b"Origin"),
            (b"access-control-expose-headers", b"x-request-id, x-trace-id, retry-after, link, mcp-session-id"),
            *(((b"access-control-allow-credentials", b"true"),) if listed else ()),
        )

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether an origin is a page on this machine or one that this host served."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or parts.path or not parts.hostname:
            return False
        return is_loopback(parts.hostname) or parts.netloc.lower() == host.lower()

    def make_preflight_headers(self, headers: Mapping[str, str], extra_origins: Collection[str] = ()) -> Headers:
        """Return the headers that answer a CORS preflight; empty without an Origin."""
        if not (allowed := self.check_origin(headers, has_body=False, extra_origins=extra_origins)):
            return ()
        requested = headers.get("access-control-request-headers", "")
        names = requested if HEADER_NAMES_PATTERN.fullmatch(requested) else ""
        private = headers.get("access-control-request-private-network") == "true"
        return (
            *allowed,
            (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE, OPTIONS"),
            (b"access-control-allow-headers", names.encode()),
            (b"access-control-max-age", b"600"),
            *(((b"access-control-allow-private-network", b"true"),) if private else ()),
        )

    async def read_body(self, headers: Mapping[str, str], receive: Receive) -> bytes | None:
        """Read the whole body within size and time limits; None when the client disconnected."""
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise CallerError("Send the body without Content-Encoding: compressed requests are not supported.")
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > self.max_body:
            raise TooLarge(f"The body is larger than {self.max_body} bytes.")
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.body_timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk: bytes = message.get("body", b"")
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > self.max_body:
                        raise TooLarge(f"The body is larger than {self.max_body} bytes.")
                    if not message.get("more_body"):
                        return b"".join(chunks)
        except TimeoutError:
            raise RequestTimeout(f"The body did not arrive within {self.body_timeout:g} s.") from None


def parse_host_header(value: str) -> str | None:
    """Return the name of a Host header without its port; None where malformed."""
    match = HOST_PATTERN.fullmatch(value)
    return match[1].strip("[]").lower() if match else None
