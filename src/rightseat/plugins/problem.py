"""What is wrong with a plugin: where it stands, what it is, and what to do about it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Gravity = Literal["error", "warning", "style"]


class Problem(Struct, frozen=True):
    """An error costs what it is in: the plugin, an operation, a tool, a flow. A warning was mended or passed
    over. Style is for authors (`--strict`)."""

    file: str
    """Within the plugin's folder, such as `openapi.yaml`."""
    key: str
    """Where in the file, such as `paths./hosts.get.parameters[0]`."""
    what: str
    fix: str
    line: int = 0
    """From 1; 0 is not known."""
    gravity: Gravity = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.what} {self.fix}"
