"""Headers that proxies add (`X-Forwarded-*`, believed from trusted proxies only), and the client headers that reach
agents and tools."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from rightseat.config.settings import DEFAULT_FORWARD_HEADERS
from rightseat.errors import ConfigError


class OriginalRequest(Struct, frozen=True):
    client: str
    scheme: str
    host: str | None = None
    """X-Forwarded-Host of a trusted proxy; None: the Host header counts."""


class TrustedProxies:
    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self.networks = [parse_network(address) for address in addresses]

    def trusts(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A dual-stack socket reports IPv4 clients as IPv4-mapped IPv6.
        plain = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(plain in network for network in self.networks)

    def read_forwarded(self, peer: str, scheme: str, headers: Mapping[str, str]) -> OriginalRequest:
        if not self.networks or not self.trusts(peer):
            return OriginalRequest(peer, scheme)
        proto = last_value(headers.get("x-forwarded-proto", "")).lower()
        return OriginalRequest(
            self.find_client(peer, headers.get("x-forwarded-for", "")),
            proto if proto in ("http", "https") else scheme,
            last_value(headers.get("x-forwarded-host", "")) or None,
        )

    def find_client(self, peer: str, chain: str) -> str:
        client = peer
        for hop in reversed(chain.split(",")):
            address = parse_hop(hop.strip())
            if address is None:
                break
            client = address
            if not self.trusts(address):
                break
        return client


def parse_network(address: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(address, strict=False)
    except ValueError:
        raise ConfigError(f"[server] trusted_proxies: {address!r} is not an address or a network.") from None


def parse_hop(hop: str) -> str | None:
    """Return the address of a hop without its port; None for anything else."""
    for text in (hop, hop.strip("[]"), hop.rpartition(":")[0].strip("[]")):
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            continue
    return None


def last_value(values: str) -> str:
    """Return the last of several values, the nearest proxy's: earlier ones may be the client's own."""
    return values.rpartition(",")[2].strip()


DENIED_HEADERS = frozenset(
    ("x-cache", "x-client-ip", "x-cloud-trace-context", "x-real-ip", "x-request-id", "x-served-by")
)

DENIED_PREFIXES = (
    "x-amz-",
    "x-amzn-",
    "x-azure-",
    "x-copilotcloud-",
    "x-envoy-",
    "x-fastly-",
    "x-forwarded-",
    "x-middleware-",
    "x-original-",
    "x-vercel-",
)


class HeaderForwarding:
    """The client headers that reach agents and tools: allowed names; `x-*` allows a prefix. DENIED_HEADERS and
    DENIED_PREFIXES, those of proxies and platforms, restrict prefixes only: a full name always passes."""

    def __init__(self, allowed: Collection[str] = DEFAULT_FORWARD_HEADERS) -> None:
        names = [name.strip().lower() for name in allowed]
        self.names = frozenset(name for name in names if name and not name.endswith("*"))
        self.prefixes = tuple(name[:-1] for name in names if name.endswith("*"))

    def select_headers(self, headers: Mapping[str, str], excluded: Collection[str] = ()) -> dict[str, str]:
        """Return the allowed headers (lower-case names) that are not in `excluded`."""
        return {name: value for name, value in headers.items() if name not in excluded and self.allows(name)}

    def allows(self, name: str) -> bool:
        if name in self.names:
            return True
        return name.startswith(self.prefixes) and name not in DENIED_HEADERS and not name.startswith(DENIED_PREFIXES)


def merge_headers(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Merge headers for an agent by lower-case name; `ours` win."""
    merged = {name.lower(): value for name, value in theirs.items()}
    return merged | {name.lower(): value for name, value in ours.items()}
