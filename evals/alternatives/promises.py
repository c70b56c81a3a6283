"""What rightseat's own rows must show; the rows of other products are not judged."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evals.alternatives import effects, quotas, readers
from evals.alternatives.rows import DrillRow

PRODUCT = "rightseat"


def is_exact(figures: Mapping[str, Any]) -> bool:
    answered: int = figures["answered"]
    return quotas.LIMIT <= answered <= quotas.LIMIT + figures["refill"] and not figures["others"]


PROMISES: dict[str, Callable[[Mapping[str, Any]], object]] = {
    quotas.DID: is_exact,
    readers.JOINED: lambda figures: figures["words"] >= 15 and figures["goes_on"],
    readers.STOPPED: lambda figures: figures["stopped"] and figures["status"] == 200,
    readers.REPEATED: lambda figures: (figures["status"], figures["asked"]) == (409, 0),
    readers.KILLED: lambda figures: (figures["lost"], figures["doubled"], figures["end"]) == (0, 0, "restarted"),
    readers.STARTED: lambda figures: figures["words"] >= 15 and figures["end"] == "restarted",
    effects.DID: lambda figures: (
        figures["asked"] == 1
        and figures["end"] == "RUN_FINISHED"
        and figures["effects"] == {effects.ORDERS: 1, effects.MAILS: 1}
    ),
}


def list_broken(rows: Iterable[DrillRow]) -> list[str]:
    """List which rows of rightseat show something else, and which drills are missing."""
    own = [row for row in rows if row.product.startswith(PRODUCT)]
    broken = [f"{row.did}: {row.happened} {row.figures}" for row in own if not PROMISES[row.did](row.figures)]
    return broken + [f"not measured: {did}" for did in PROMISES.keys() - {row.did for row in own}]
