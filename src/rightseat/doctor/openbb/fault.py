"""Faults of an answer, and their results in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doctor.line import CheckResult, broken, good, skipped

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
