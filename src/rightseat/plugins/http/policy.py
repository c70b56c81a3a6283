"""Operator's policy for a plugin: the hosts it may call, approval, timeouts, sizes, credentials."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.errors import AddressRefused, CallerError
from rightseat.http.fetch.rules import AddressNotPublic
from rightseat.plugins.plugin import Operation

ConfirmMode = Literal["dangerous", "writes", "all", "never"]
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class PluginPolicy(Struct, frozen=True, kw_only=True):
    """Limits of a plugin's API calls. Comes from the configuration only, never from the plugin or a model."""

    allow: tuple[str, ...] = ()
    """Non-public hosts and networks that may be called."""
    server: str = ""
    """URL that replaces the document's servers."""
    confirm: ConfirmMode = "dangerous"
    """Operations that need the user's approval."""
    seconds: float = 30.0
    """Timeout of one request with its whole response."""
    retries: int = 2
    """Retries of a retryable request."""
    max_retry_wait: float = 5.0
    """Longest wait in seconds between two tries; a longer Retry-After ends the retries."""
    max_bytes: int = 8 << 20
    """Largest response, decompressed."""
    max_upload: int = 20 << 20
    """Largest attached file."""
    credentials: dict[str, Secret] = {}
    """Values that replace those of plugin.json's auth, by header or parameter name."""
    caller_headers: dict[str, str] = {}
    """Credential name → request header of the caller that supplies it; without the header no call is made."""

    def requires_confirmation(self, operation: Operation) -> bool:
        if self.confirm in ("never", "all"):
            return self.confirm == "all"
        writes = self.confirm == "writes" and operation.method.upper() not in SAFE_METHODS
        return operation.dangerous or writes


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
            target = parse_target(url)
        except CallerError:
            continue
        hosts.append(f"{target.host}:{target.port}")
        # Port 80 usually redirects to 443.
        if target.port == 80:
            hosts.append(f"{target.host}:443")
    return hosts
