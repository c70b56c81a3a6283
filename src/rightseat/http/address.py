"""Checks of a server's URL and headers as configured."""

from __future__ import annotations

from collections.abc import Mapping

from yarl import URL

from rightseat.errors import ConfigError


def parse_base_url(text: str, label: str) -> URL:
    """Parse an http(s) URL; ConfigError names `label`. Credentials in it are refused: they reach logs."""
    try:
        url = URL(text)
        port = url.port
    except ValueError as error:
        raise ConfigError(f"{label} is not an address: it looks like http://127.0.0.1:8080") from error
    if url.scheme not in ("http", "https") or not url.host or not port:
        raise ConfigError(f"{label} must begin with http:// or https:// and name a host.")
    if url.user or url.password:
        raise ConfigError(f"{label} must not contain a user or a password: give the key as api_key.")
    return url.with_fragment(None)


def parse_host(text: str) -> str:
    """Return the host of a URL, or "" where the URL is invalid (`parse_base_url` raises for that)."""
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
