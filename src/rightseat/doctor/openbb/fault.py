"""What is wrong with one answer, and its lines in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doctor.line import Line, broken, good, skipped

MOST = 5
"""Of one kind: a server that is wrong in each of a thousand events is wrong once."""


class Fault(Struct, frozen=True):
    why: str
    fix: str
    enforced: bool = True
    """Whether the client fails over it; else it only ignores or shows less."""


def lines(what: str, faults: Iterable[Fault], fine: str = "") -> Iterator[Line]:
    """Each fault once; `fine` where there is none that counts."""
    found = list(dict.fromkeys(faults))
    if not any(fault.enforced for fault in found):
        yield good(what, fine)
    for fault in found[:MOST]:
        yield (broken if fault.enforced else skipped)(what, fault.why, fault.fix)
    if len(found) > MOST:
        yield skipped(what, f"and {len(found) - MOST} more like these")


def misfit(value: object, kind: Any) -> str | None:
    """Why a value has not the form, in msgspec's words; None where it has."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error).replace("`", "")
    except RecursionError:
        return "it is nested too deeply"
    return None
