"""What a request was before our own proxies passed it on: who asked, by which scheme, for which host.

Anyone can send these headers, so they count only from a listed address, and of a list only what our proxies
added themselves: that is read from the right, up to the first address that is not one of theirs.
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
    """What the client asked for, where a proxy told; else the Host header tells."""


class Proxies:
    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self.networks = [network(address) for address in addresses]

    def trusts(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A socket for both kinds of addresses shows the older kind wrapped in the newer.
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
    """An address without the port that some proxies write; None for anything else."""
    for text in (hop, hop.strip("[]"), hop.rpartition(":")[0].strip("[]")):
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            continue
    return None


def last(values: str) -> str:
    """Of several values the nearest proxy's: what stands before it may be the client's own."""
    return values.rpartition(",")[2].strip()
