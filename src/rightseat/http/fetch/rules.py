"""Rules for hosts and addresses that may be called. Addresses are checked after DNS resolution."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from rightseat.errors import AddressRefused, ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


# Our own list: `is_global` of the standard library differs between Python releases.
PRIVATE = parse_networks(
    "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7"
)
BLOCKED_IPV4 = parse_networks(
    "0.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    # Azure's metadata service, at an address that looks public.
    "168.63.129.16/32",
)
# IPv6 as an allowlist: one block is public, without the ranges that embed other addresses.
PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
BLOCKED_IPV6 = parse_networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")


class AddressRules:
    """`hosts`: the only names that may be called (`name`, `name:port`, `*.name`); None: any public host.

    `allow`: exceptions for addresses that are not public: networks (`10.1.0.0/16`), or names whose private
    and loopback addresses are then allowed. Link-local and metadata addresses must be listed as networks.
    """

    def __init__(self, hosts: Iterable[str] | None = None, allow: Iterable[str] = ()) -> None:
        self.hosts = None if hosts is None else {normalize_host(host) for host in hosts}
        self.networks: list[Network] = []
        self.names: set[str] = set()
        for entry in allow:
            try:
                self.networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                if "/" in entry or not entry:
                    raise ConfigError(f"{entry!r} is neither a network nor the name of a host.") from None
                self.names.add(normalize_host(entry))

    def check_host(self, host: str, port: int) -> None:
        """Raise AddressRefused for a host by its name alone, before DNS."""
        name = normalize_host(host)
        if self.hosts is not None and not is_listed(name, port, self.hosts):
            raise AddressRefused(
                f"Host {quote_host(host)} is not on the list of hosts that may be called here. "
                "Name one that is, or ask the operator to add it."
            )
        address = parse_address(name)
        if address is not None:
            self.check_address(host, str(address))

    def check_address(self, host: str, text: str) -> None:
        """Raise AddressNotPublic for a resolved address that is not allowed."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise AddressNotPublic(host) from None
        if any(address in network for network in self.networks):
            return
        if normalize_host(host) in self.names and any(address in network for network in PRIVATE):
            return
        if not is_public(address):
            raise AddressNotPublic(host)


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in (*PRIVATE, *BLOCKED_IPV4))
    if address.scope_id is not None or address not in PUBLIC_IPV6:
        return False
    return not any(address in network for network in BLOCKED_IPV6)


def is_listed(name: str, port: int, hosts: set[str]) -> bool:
    parents = name.split(".")
    wild = ("*." + ".".join(parents[start:]) for start in range(1, len(parents)))
    return any(pattern in hosts or f"{pattern}:{port}" in hosts for pattern in (name, *wild))


def parse_address(name: str) -> Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def normalize_host(host: str) -> str:
    """Return a host as it is compared: lower case, without brackets and trailing dot."""
    return host.strip().strip("[]").rstrip(".").lower()


def quote_host(host: str) -> str:
    return repr(host[:100])


class AddressNotPublic(AddressRefused):
    def __init__(self, host: str) -> None:
        # The address is not told: it would map the network behind this server.
        super().__init__(
            f"Host {quote_host(host)} does not lead to a public address, so it is not called. "
            "Use a public address, or ask the operator to allow this one."
        )
        self.host = host
