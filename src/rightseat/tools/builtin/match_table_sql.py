"""SQL over a table in the message: quoting, SELECT statements and the order of dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rightseat.tools.builtin.dates import MONTHS
from rightseat.tools.builtin.table_text import TextTable, TypedColumn


def quote(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def write_select(*columns: str, where: str = "", group: str = "", order: str = "", limit: int = 0) -> str:
    """Return a SELECT of columns that are quoted already."""
    parts = ["SELECT", ", ".join(columns), "FROM t"]
    parts += [f"WHERE {where}"] if where else []
    parts += [f"GROUP BY {group}"] if group else []
    parts += [f"ORDER BY {order}"] if order else []
    parts += [f"LIMIT {limit}"] if limit else []
    return " ".join(parts)


def match_best(expression: str, function: str, condition: str) -> str:
    """Return the condition that an expression has its maximum or minimum among the rows of a condition."""
    best = f"{expression} = ({write_select(f'{function}({expression})', where=condition)})"
    return f"{condition} AND {best}" if condition else best


def find_time_order(columns: Sequence[TypedColumn]) -> tuple[TypedColumn, str] | None:
    """Return the column of time and the expression that orders it; None if there is none."""
    for column in columns:
        key = quote(column.name)
        cells = [str(cell).lower() for cell in column.cells if cell is not None]
        if column.kind == "DATE":
            return column, key
        if column.kind == "INTEGER" and all(re.fullmatch(r"(?:19|20)\d\d", cell) for cell in cells) and cells:
            return column, key
        if cells and all(re.fullmatch(r"\d{4}-\d{2}|(?:\d{4}[- ]?)?q[1-4]", cell) for cell in cells):
            return column, key
        months = {cell: MONTHS.get(cell.lower()) or read_chinese_month(cell) for cell in map(str, column.cells)}
        if cells and all(months.values()):
            cases = " ".join(f"WHEN {literal(cell)} THEN {number}" for cell, number in months.items())
            return column, f"CASE {key} {cases} END"
    return None


def read_chinese_month(cell: str) -> int | None:
    match = re.fullmatch(r"(\d{1,2}|[一二三四五六七八九十]{1,2})月份?", cell)
    if not match:
        return None
    names = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")
    return int(match[1]) if match[1].isdigit() else names.index(match[1]) + 1 if match[1] in names else None


def format_table(table: TextTable) -> str:
    """Return the table as Markdown."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (table.columns, *table.rows)]
    return "\n".join([f"| {lines[0]} |", "|" + "---|" * len(table.columns), *(f"| {line} |" for line in lines[1:])])
