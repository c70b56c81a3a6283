"""What the operator allows a plugin: where it may call, who must agree, how long and how much."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.plugins.operation import Operation

Confirm = Literal["dangerous", "writes", "all", "never"]
READING = ("GET", "HEAD", "OPTIONS")


class Gate(Struct, frozen=True, kw_only=True):
    """Comes from the configuration only: nothing in a plugin's folder and nothing a model says changes it."""

    allow: tuple[str, ...] = ()
    """Hosts and networks that may be called although they are not public."""
    server: str = ""
    """Called instead of the servers that the document names."""
    confirm: Confirm = "dangerous"
    """Which operations a person must agree to first."""
    seconds: float = 30.0
    """For one request and its whole answer."""
    retries: int = 2
    """How often a request that may be repeated is tried again."""
    patience: float = 5.0
    """The longest wait, in seconds, between two tries; a server that asks for more is not waited for."""
    max_bytes: int = 8 << 20
    """Of an answer, unpacked."""
    max_upload: int = 20 << 20
    """Of one attached file."""
    credentials: dict[str, Secret] = {}
    """Values for what plugin.json's auth names, in place of those there: a header, a parameter …"""
    caller: dict[str, str] = {}
    """The same from a header of whoever asks: credential → header. Without that header no call is made."""

    def asks(self, operation: Operation) -> bool:
        match self.confirm:
            case "never":
                return False
            case "all":
                return True
            case "writes":
                return operation.dangerous or operation.method.upper() not in READING
            case "dangerous":
                return operation.dangerous
