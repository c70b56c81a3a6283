"""The servers that a plugin may call: those it names itself, and of those the public ones."""

from __future__ import annotations

from rightseat.errors import AddressRefused, CallerError
from rightseat.http.fetch.rules import NotPublic


def not_allowed(plugin: str, error: NotPublic) -> AddressRefused:
    """The same, with what to write: who runs this server chose the plugin, and may mean it."""
    return AddressRefused(
        f"Plugin {plugin}'s server {error.host!r} is not at a public address, so it is not called. "
        f'To allow it, write allow = ["{error.host}"] in [[plugins]] of rightseat.toml.'
    )


def hosts_of(*urls: str) -> list[str]:
    """The hosts of these addresses, each with its port. One that cannot be read is left to its call."""
    from rightseat.http.fetch.target import target

    hosts: list[str] = []
    for url in urls:
        try:
            found = target(url)
        except CallerError:
            continue
        hosts.append(f"{found.host}:{found.port}")
        # http at its own port mostly leads to https at its own.
        if found.port == 80:
            hosts.append(f"{found.host}:443")
    return hosts
