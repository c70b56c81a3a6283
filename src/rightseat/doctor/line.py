"""CheckResult: one line of the report."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rightseat.config.secret import mask

CheckState = Literal["good", "broken", "skipped"]
STATE_MARKS: dict[CheckState, str] = {"good": "✓", "broken": "✗", "skipped": "–"}


class CheckResult(Struct, frozen=True):
    """Result of one check: its subject `what`, the reason `why`, and the `fix` if it is broken."""

    state: CheckState
    what: str
    why: str = ""
    fix: str = ""

    def format_text(self) -> str:
        """Return the line for the terminal, with known secrets masked."""
        why = f"  {self.why}" if self.why else ""
        fix = f"\n    → {self.fix}" if self.fix else ""
        return mask(f"{STATE_MARKS[self.state]} {self.what:<32}{why}{fix}".rstrip())

    def to_dict(self) -> dict[str, str]:
        """Return the line for the JSON report, with known secrets masked."""
        return {"state": self.state, "what": self.what, "why": mask(self.why), "fix": mask(self.fix)}


def good(what: str, why: str = "") -> CheckResult:
    return CheckResult("good", what, why)


def broken(what: str, why: str, fix: str) -> CheckResult:
    return CheckResult("broken", what, why, fix)


def skipped(what: str, why: str, fix: str = "") -> CheckResult:
    return CheckResult("skipped", what, why, fix)
