"""docs/builtin-tools.md is run: its expressions, its queries and its recognized messages."""

import re
from pathlib import Path

import pytest

from rightseat.plugins.sql.table_query import query_table
from rightseat.tools.builtin.calculate import evaluate_expression
from rightseat.tools.builtin.expression import format_value
from rightseat.tools.builtin.facts import find_fact
from rightseat.tools.builtin.functions import NAMES
from rightseat.tools.builtin.match_calculation import match_calculation
from tests.docs.test_docs import ROOT, find_blocks, import_code
from tests.kit.cases import each_case

PAGE = ROOT / "docs/builtin-tools.md"
TEXT = PAGE.read_text(encoding="utf-8")


def list_rows(header: str) -> list[tuple[str, ...]]:
    """Cells of the table with this header, without backquotes."""
    lines = TEXT.partition(f"{header}\n")[2].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip().strip("`") for cell in line.strip("|").split(" | ")))
    return rows


@each_case(("expression", "result"), list_rows("| expression | result |"))
def test_the_pages_expressions(expression: str, result: str) -> None:
    assert evaluate_expression(expression) == result


@pytest.mark.parametrize(("table", "sql", "result"), list_rows("| table | sql | result |"))
def test_the_pages_queries(table: str, sql: str, result: str) -> None:
    [row] = query_table(table.replace(";", "\n"), sql).rows
    assert ", ".join(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row) == result


@pytest.mark.parametrize(("message", "call"), list_rows("| message | call |"))
def test_the_pages_messages(message: str, call: str) -> None:
    assert match_calculation(message) == (None if call == "none" else {"expression": call})


@pytest.mark.demand("five_minutes.facts_looked_up")
@each_case(("question", "answer"), list_rows("| question | answer |"))
def test_the_pages_facts(question: str, answer: str) -> None:
    assert find_fact(question) == (None if answer == "none" else answer)


def test_the_page_names_every_function() -> None:
    words = set(re.findall(r"[a-z_0-9]+", TEXT))
    hidden = {"sign", "product", "count", "int", "log10", "pow", "mod", "degrees", "radians", "day_of_year"}
    hidden |= {name for name in NAMES if re.fullmatch(r"a?(?:sin|cos|tan)h?", name)}
    assert [name for name in NAMES if name not in words | hidden] == []


def test_the_pages_program_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = import_code("page_builtin", find_blocks(PAGE, "python")[0], tmp_path, monkeypatch)
    assert made.results == [format_value("40.8")]
