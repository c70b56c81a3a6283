"""Hosts that a plugin may call: its own servers, if public or allowed."""

from __future__ import annotations

from rightseat.errors import AddressRefused, CallerError
from rightseat.http.fetch.rules import AddressNotPublic


def private_address_error(plugin: str, error: AddressNotPublic) -> AddressRefused:
    """Return an error that names the setting which allows the address."""
    return AddressRefused(
        f"Plugin {plugin}'s server {error.host!r} is not at a public address, so it is not called. "
        f'To allow it, write allow = ["{error.host}"] in [[plugins]] of rightseat.toml.'
    )


def allowed_hosts(*urls: str) -> list[str]:
    """Return `host:port` of each URL. Invalid URLs are skipped: calling them raises the error."""
    from rightseat.http.fetch.target import parse_target

    hosts: list[str] = []
    for url in urls:
        try:
            url_target = parse_target(url)
        except CallerError:
            continue
        hosts.append(f"{url_target.host}:{url_target.port}")
        # Port 80 usually redirects to 443.
        if url_target.port == 80:
            hosts.append(f"{url_target.host}:443")
    return hosts
