"""Strict parsing of foreign URLs: what is checked is exactly what is called."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct
from yarl import URL

from rightseat.errors import AddressRefused
from rightseat.http.fetch.rules import normalize_host, parse_address, quote_host

MAX_URL = 8192
PORTS = {"http": 80, "https": 443}
HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
# One host and at most one port: parsers disagree about anything else.
AUTHORITY = re.compile(r"(?:\[[^\[\]@]*\]|[^\[\]@:]+)(?::[0-9]*)?")
# A numeric last label: resolvers read 0x7f.1, 0177.1 and 2130706433 as 127.0.0.1.
NUMERIC_LABEL = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
# Characters that stay as they are in path and query; `%` because they are escaped already.
SAFE_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"


class Target(Struct, frozen=True):
    scheme: str
    host: str
    port: int
    url: URL

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def name(self) -> str:
        """Host and port, for messages."""
        host = self.host[:100]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def parse_target(text: str) -> Target:
    """Parse a URL; raises AddressRefused."""
    check_url_text(text)
    try:
        parts = urlsplit(text.strip(" "))
        port = parts.port
    except ValueError:
        raise make_unreadable_error() from None
    if parts.scheme not in PORTS:
        raise AddressRefused("Only http:// and https:// URLs are fetched.")
    if "@" in parts.netloc:
        raise AddressRefused("The URL contains a user name or a password. Remove the part before the @.")
    if not AUTHORITY.fullmatch(parts.netloc):
        raise make_unreadable_error()
    host = to_ascii_host(parts.hostname or "")
    port = PORTS[parts.scheme] if port is None else port
    if port == 0:
        raise AddressRefused("The URL's port is 0. Name the port that the server listens on.")
    # Escapes are kept: a signed URL with one escape rewritten is no longer valid.
    path, query = quote(parts.path or "/", safe=SAFE_CHARACTERS), quote(parts.query, safe=SAFE_CHARACTERS)
    netloc = f"[{host}]" if ":" in host else host
    url = URL.build(scheme=parts.scheme, host=netloc, port=port, path=path, query_string=query, encoded=True)
    return Target(parts.scheme, host, port, url)


def check_url_text(text: str) -> None:
    if len(text) > MAX_URL:
        raise AddressRefused(f"The URL is longer than {MAX_URL} characters. Use a shorter one.")
    if any(char <= " " or char in "\\\x7f" or "\ud800" <= char <= "\udfff" for char in text.strip(" ")):
        raise AddressRefused("The URL contains spaces, control characters or backslashes. Percent-encode them.")


def make_unreadable_error() -> AddressRefused:
    return AddressRefused("The URL's host or port cannot be read. Write https://host/path.")


def resolve_redirect(base: Target, location: str) -> Target:
    """Return the target of a redirect, parsed by the same rules."""
    check_url_text(location)
    try:
        return parse_target(urljoin(str(base.url), location))
    except ValueError:
        raise make_unreadable_error() from None


def to_ascii_host(written: str) -> str:
    """Return the host as it goes to DNS: IDNA-encoded, full-width digits and dots normalized."""
    error = AddressRefused(f"Host {quote_host(written)} is not a host name or a plain IP address. Write one of them.")
    if "%" in written:
        raise error
    if ":" in written:
        if (address := parse_address(written)) is None:
            raise error
        return str(address)
    try:
        host = URL.build(scheme="http", host=written).raw_host or ""
    except (ValueError, UnicodeError):
        raise error from None
    host = normalize_host(host)
    if not HOST_NAME.fullmatch(host):
        raise error
    if NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]) and parse_address(host) is None:
        raise error
    return host
