"""Configuration of one MCP server: a command to run, or a URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

ConfirmPolicy = Literal["dangerous", "writes", "all", "never"]
# Environment variables that a child inherits; none of them is a secret.
INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


class McpServerConfig(Struct, frozen=True, kw_only=True):
    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    folder: Path = Path()
    url: str = ""
    headers: dict[str, str] = {}
    older: bool = False
    """Use a protocol version before 2026-07-28 even if the server supports newer ones."""
    timeout: float = 60.0
    start: float = 30.0
    """Seconds to connect, which may include installing the child."""
    refresh: float = 300.0
    """Seconds between refreshes of the tool list."""
    confirm: ConfirmPolicy = "dangerous"
    tools: tuple[str, ...] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | self.env
