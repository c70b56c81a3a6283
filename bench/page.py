"""The bench writes its table into docs/performance.md, between two marks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.machine import ROOT
from bench.rows import HEADS, Row, cells

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- written by the bench -->", "<!-- end of what the bench writes -->"


def write(rows: Sequence[Row], facts: Mapping[str, str], page: Path = PAGE) -> None:
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page.name} has lost the marks of the bench")
    page.write_text(f"{before}{BEGIN}\n{body(rows, facts)}{END}{after}", encoding="utf-8")


def body(rows: Sequence[Row], facts: Mapping[str, str]) -> str:
    about = "; ".join(f"{name} {value}" for name, value in facts.items())
    lines = [f"Measured: {about}.", "", _line(HEADS), _line("---" for _ in HEADS)]
    return "\n".join([*lines, *(_line(cells(row)) for row in rows)]) + "\n"


def _line(row: Iterable[str]) -> str:
    return f"| {' | '.join(row)} |"
