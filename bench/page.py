"""The bench writes its table into docs/performance.md, between two marks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.rows import HEADINGS, ResultRow, format_cells

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- written by the bench -->", "<!-- end of what the bench writes -->"


def write_page(rows: Sequence[ResultRow], facts: Mapping[str, str], page: Path = PAGE) -> None:
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page.name} has lost the marks of the bench")
    page.write_text(f"{before}{BEGIN}\n{format_section(rows, facts)}{END}{after}", encoding="utf-8")


def format_section(rows: Sequence[ResultRow], facts: Mapping[str, str]) -> str:
    about = "; ".join(f"{name} {value}" for name, value in facts.items())
    lines = [f"Measured: {about}.", "", _line(HEADINGS), _line("---" for _ in HEADINGS)]
    return "\n".join([*lines, *(_line(format_cells(row)) for row in rows)]) + "\n"


def _line(row: Iterable[str]) -> str:
    return f"| {' | '.join(row)} |"
