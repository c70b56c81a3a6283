"""Problem of a plugin: location, message and fix."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Gravity = Literal["error", "warning", "style"]


class Problem(Struct, frozen=True):
    """A problem of a plugin's files. An error disables the plugin, operation, tool or flow that it is in; a
    warning was repaired or ignored; style is for authors (`--strict`)."""

    file: str
    """Path within the plugin's folder, such as `openapi.yaml`."""
    key: str
    """Key path in the file, such as `paths./hosts.get.parameters[0]`."""
    what: str
    fix: str
    line: int = 0
    """Line from 1; 0 if unknown."""
    gravity: Gravity = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.what} {self.fix}"
