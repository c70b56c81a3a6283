"""What a scenario finds, and whether it is good enough."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class ResultRow:
    measure: str
    peer: str
    unit: str
    rounds: Sequence[float]
    ratio: float | None = None
    """To the floor of the same run."""
    limit: float | None = None
    """On the ratio where there is one, else on the median."""

    @property
    def value(self) -> float:
        return median(self.rounds)

    @property
    def is_good(self) -> bool:
        judged = self.value if self.ratio is None else self.ratio
        return self.limit is None or judged <= self.limit

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "median": self.value, "good": self.is_good}


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


HEADINGS = ("measure", "peer", "unit", "rounds", "median", "× floor", "limit", "")


def format_table(rows: Sequence[ResultRow]) -> str:
    lines = [HEADINGS, *(format_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def format_cells(row: ResultRow) -> tuple[str, ...]:
    limit = "" if row.limit is None else f"{row.limit:g}{' ×' if row.ratio is not None else ''}"
    return (
        row.measure,
        row.peer,
        row.unit,
        " ".join(f"{value:.1f}" if value >= 1 else f"{value:.3f}" for value in row.rounds),
        f"{row.value:.1f}" if row.value >= 1 else f"{row.value:.3f}",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        limit,
        "" if row.limit is None else ("ok" if row.is_good else "TOO MUCH"),
    )
