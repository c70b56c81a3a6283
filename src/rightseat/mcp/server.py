"""One MCP server as the operator describes it: a command to run, or an address. Values only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

Confirm = Literal["dangerous", "writes", "all", "never"]
# What a child finds of our environment: where programs and its own files are, and how to write. No secret.
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


class Server(Struct, frozen=True, kw_only=True):
    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    folder: Path = Path()
    url: str = ""
    headers: dict[str, str] = {}
    older: bool = False
    """Speak the protocol of before 2026-07-28 even to one that knows the newer."""
    timeout: float = 60.0
    start: float = 30.0
    """Seconds to connect; a child may have to be installed first."""
    refresh: float = 300.0
    """Seconds after which its tools are looked up again."""
    confirm: Confirm = "dangerous"
    tools: tuple[str, ...] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {name: os.environ[name] for name in INHERITED if name in os.environ} | self.env
