"""The original client, scheme and host of a request that came through trusted proxies.

Anyone can send X-Forwarded-* headers, so they count only from a trusted address, and X-Forwarded-For is read
from the right up to the first address that is no trusted proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from msgspec import Struct

from rightseat.errors import ConfigError


class Seen(Struct, frozen=True):
    client: str
    scheme: str
    host: str | None = None
    """X-Forwarded-Host of a trusted proxy; None: the Host header counts."""


class Proxies:
    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self.networks = [network(address) for address in addresses]

    def trusts(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A dual-stack socket reports IPv4 clients as IPv4-mapped IPv6.
        plain = getattr(found, "ipv4_mapped", None) or found
        return any(plain in network for network in self.networks)

    def see(self, peer: str, scheme: str, headers: Mapping[str, str]) -> Seen:
        if not self.networks or not self.trusts(peer):
            return Seen(peer, scheme)
        told = last(headers.get("x-forwarded-proto", "")).lower()
        return Seen(
            self.client(peer, headers.get("x-forwarded-for", "")),
            told if told in ("http", "https") else scheme,
            last(headers.get("x-forwarded-host", "")) or None,
        )

    def client(self, peer: str, chain: str) -> str:
        client = peer
        for hop in reversed(chain.split(",")):
            address = bare(hop.strip())
            if address is None:
                break
            client = address
            if not self.trusts(address):
                break
        return client


def network(address: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(address, strict=False)
    except ValueError:
        raise ConfigError(f"[server] trusted_proxies: {address!r} is not an address or a network.") from None


def bare(hop: str) -> str | None:
    """Return the address of a hop without its port; None for anything else."""
    for text in (hop, hop.strip("[]"), hop.rpartition(":")[0].strip("[]")):
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            continue
    return None


def last(values: str) -> str:
    """Return the last of several values, the nearest proxy's: earlier ones may be the client's own."""
    return values.rpartition(",")[2].strip()
