"""A server's address as somebody wrote it down."""

from __future__ import annotations

from collections.abc import Mapping

from yarl import URL

from rightseat.errors import ConfigError


def address(text: str, what: str) -> URL:
    """`what` it is, as the error names it. A password in it would reach logs: keys are given elsewhere."""
    try:
        url = URL(text)
        port = url.port
    except ValueError as error:
        raise ConfigError(f"{what} is not an address: it looks like http://127.0.0.1:8080") from error
    if url.scheme not in ("http", "https") or not url.host or not port:
        raise ConfigError(f"{what} must begin with http:// or https:// and name a host.")
    if url.user or url.password:
        raise ConfigError(f"{what} must not contain a user or a password: give the key as api_key.")
    return url.with_fragment(None)


def host(text: str) -> str:
    """Whose address it is; empty where it is none, which `address` says."""
    try:
        return URL(text).host or ""
    except ValueError:
        return ""


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ConfigError(
                f"The header {name!r} (api_key, headers) has a character that HTTP does not take."
            )
