"""CheckResult: one line of the report."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.config.secret import mask

State = Literal["good", "broken", "skipped"]
MARKS: dict[State, str] = {"good": "✓", "broken": "✗", "skipped": "–"}


class Line(Struct, frozen=True):
    """Result of one check: its subject `what`, the reason `why`, and the `fix` if it is broken."""

    state: State
    what: str
    why: str = ""
    fix: str = ""

    def text(self) -> str:
        """Return the line for the terminal, with known secrets masked."""
        why = f"  {self.why}" if self.why else ""
        fix = f"\n    → {self.fix}" if self.fix else ""
        return mask(f"{MARKS[self.state]} {self.what:<32}{why}{fix}".rstrip())

    def plain(self) -> dict[str, str]:
        """Return the line for the JSON report, with known secrets masked."""
        return {"state": self.state, "what": self.what, "why": mask(self.why), "fix": mask(self.fix)}


def good(what: str, why: str = "") -> Line:
    return Line("good", what, why)


def broken(what: str, why: str, fix: str) -> Line:
    return Line("broken", what, why, fix)


def skipped(what: str, why: str, fix: str = "") -> Line:
    return Line("skipped", what, why, fix)
