"""Rows of the comparison: what was done to a product, and what happened."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DrillRow:
    """`figures` are what was measured, for tests; `happened` says the same for people."""

    product: str
    did: str
    happened: str
    figures: dict[str, Any] = field(default_factory=dict)


def format_table(rows: Iterable[DrillRow]) -> Iterator[str]:
    """Format the rows as a Markdown table, those of one drill together."""
    groups: dict[str, list[DrillRow]] = {}
    for row in rows:
        groups.setdefault(row.did, []).append(row)
    yield "| what was done | with | what happened |"
    yield "|---|---|---|"
    for group in groups.values():
        for row in group:
            yield f"| {row.did} | {row.product} | {row.happened} |"


def count_words(count: int) -> str:
    return "no word" if count == 0 else f"{count} word{'s' * (count > 1)}"
