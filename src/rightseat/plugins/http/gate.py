"""Operator's policy for a plugin: allowed hosts, approval, timeouts, sizes, credentials."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.plugins.operation import Operation

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
        match self.confirm:
            case "never":
                return False
            case "all":
                return True
            case "writes":
                return operation.dangerous or operation.method.upper() not in SAFE_METHODS
            case "dangerous":
                return operation.dangerous
