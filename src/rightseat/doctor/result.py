"""CheckResult: one line of the report. Faults of an answer, and their results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.config.secret import mask
from rightseat.types.streams import closing

CheckState = Literal["good", "broken", "skipped"]
STATE_MARKS: dict[CheckState, str] = {"good": "✓", "broken": "✗", "skipped": "–"}


class CheckResult(Struct, frozen=True):
    """Result of one check: its subject `what`, the reason `why`, and the `fix` if it is broken."""

    state: CheckState
    what: str
    why: str = ""
    fix: str = ""
    is_untried: bool = False
    """Whether this is not known, because something that is needed to check it is missing."""

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


def untried(what: str, why: str, fix: str) -> CheckResult:
    """Make the result of a check that could not be made: whether all is well is not known."""
    return CheckResult("skipped", what, why, fix, is_untried=True)


def skipped(what: str, why: str, fix: str = "") -> CheckResult:
    return CheckResult("skipped", what, why, fix)


async def chain(*checks: AsyncIterator[CheckResult]) -> AsyncIterator[CheckResult]:
    """Yield the results of several checks, one check after the other."""
    for check in checks:
        async with closing(check) as results:
            async for result in results:
                yield result


MAX_FAULTS = 5
"""The most faults reported per check."""


class Fault(Struct, frozen=True):
    why: str
    fix: str
    enforced: bool = True
    """Whether the client fails; else it only ignores something or shows less."""


def report_faults(what: str, faults: Iterable[Fault], success_text: str = "") -> Iterator[CheckResult]:
    """Yield a result per distinct fault, and a good one with `success_text` if none is enforced."""
    unique_faults = list(dict.fromkeys(faults))
    if not any(fault.enforced for fault in unique_faults):
        yield good(what, success_text)
    for fault in unique_faults[:MAX_FAULTS]:
        yield (broken if fault.enforced else skipped)(what, fault.why, fault.fix)
    if len(unique_faults) > MAX_FAULTS:
        yield skipped(what, f"and {len(unique_faults) - MAX_FAULTS} more like these")


def find_type_error(value: object, kind: Any) -> str | None:
    """Return why a value does not fit a type, in msgspec's words; None if it fits."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error).replace("`", "")
    except RecursionError:
        return "it is nested too deeply"
    return None
