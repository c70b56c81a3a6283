"""Groups of rows in questions about a table: the team with the most goals, how many teams, highest less lowest."""

from __future__ import annotations

import re

from rightseat.tools.builtin.match_table_sql import literal, match_best, quote, write_select
from rightseat.tools.builtin.match_table_value import TableQuestion, normalize_name, write_filter
from rightseat.tools.builtin.table_text import TypedColumn
from rightseat.tools.builtin.table_words import OPERATIONS, has_han, split_stems

# The sum of prices, ages or temperatures means nothing.
_NO_SUMS = re.compile(
    r"\b(?:price|rate|wage|temp|temperature|high|low|age|rating|score|grade|mark|height|weight|speed|time|pace|average|"
    r"avg|percent|humidity|level|rank)s?\b|价|率|温|龄|评分|成绩|分数|高度|身高|体重|速度|平均|时薪|百分"
)
_MOST = re.compile(r"\b(?:most|least|fewest|more|fewer|less|overall|total|altogether)\b|最多|最少|一共|总共|总")
_ASKED = re.compile(
    r"\b(?:which|what|how many)(?: different| distinct| unique)? ([a-z]+)|(?:哪|多少|几)[一个家种款位项支]{0,2}"
)
_ROWS = re.compile(r"\b(?:rows?|entries|records?|lines?)\b|[行条]")


def can_sum(column: TypedColumn) -> bool:
    """Whether the sum of a column means something."""
    return not _NO_SUMS.search(normalize_name(column)) and column.unit[:1] not in ("%", "‰", "°")


def has_repeats(column: TypedColumn) -> bool:
    return len(set(column.cells)) < len(column.cells)


def find_asked_column(question: TableQuestion) -> TypedColumn:
    """Return the text column whose cells are asked for: `which team`, 哪个城市; the label if no other is named."""
    match = _ASKED.search(question.words)
    if match is None:
        return question.label
    after = question.words[match.end() :]
    for column in question.columns:
        name = column.name.lower()
        named = after.startswith(name) if has_han(name) else match[1] and split_stems(match[1]) & split_stems(name)
        if column.kind == "TEXT" and named:
            return column
    return question.label


def list_rows(question: TableQuestion) -> list[int]:
    """Return the numbers of the rows that the named cells leave."""
    rows = range(len(question.label.cells))
    return [row for row in rows if all(str(column.cells[row]) == cell for column, cell in question.mentions)]


def query_best(question: TableQuestion, function: str) -> str | None:
    """Return the query for the rows, or the groups of rows, with the highest or lowest number."""
    value, asked = question.value, find_asked_column(question)
    condition = write_filter(question, other_than=asked)
    if value is None or condition is None or value is asked:
        return None
    rows = list_rows(question)
    column = quote(value.name)
    if len({asked.cells[row] for row in rows}) == len(rows) or not can_sum(value):
        return write_select(quote(asked.name), column, where=match_best(column, function, condition))
    if not _MOST.search(question.words):
        # `the highest` may be that of one row or that of a group.
        return None
    totals: dict[str, float] = {}
    for row in rows:
        name, number = str(asked.cells[row]), value.cells[row]
        totals[name] = totals.get(name, 0) + (number if isinstance(number, (int, float)) else 0)
    best = max(totals.values()) if function == "MAX" else min(totals.values())
    names = [name for name, total in totals.items() if abs(total - best) < 1e-9]
    title = f"{value.name}合计" if has_han(question.ask) else f"total {value.name}"
    group = quote(asked.name)
    chosen = f"{group} IN ({', '.join(map(literal, names))})"
    where = f"{condition} AND {chosen}" if condition else chosen
    return write_select(group, f"SUM({column}) AS {quote(title)}", where=where, group=group)


def query_range(question: TableQuestion) -> str | None:
    """Return the query for the highest number less the lowest."""
    condition = write_filter(question, other_than=question.label)
    if question.value is None or condition is None:
        return None
    column = quote(question.value.name)
    title = quote("相差" if has_han(question.ask) else "difference")
    return write_select(f"ROUND(MAX({column}) - MIN({column}), 6) AS {title}", where=condition)


def query_count(question: TableQuestion) -> str | None:
    """Return the query for the number of rows, or of the different cells of a column where they repeat."""
    condition = write_filter(question)
    if condition is None:
        return None
    asked = find_asked_column(question)
    is_rows = _ROWS.search(question.words) is not None
    return write_count(question.ask, condition, None if is_rows or not has_repeats(asked) else asked)


def write_count(ask: str, condition: str = "", column: TypedColumn | None = None) -> str:
    title = quote("数量" if has_han(ask) else "count")
    counted = f"DISTINCT {quote(column.name)}" if column else "*"
    return write_select(f"COUNT({counted}) AS {title}", where=condition)


def asks_for_range(question: TableQuestion) -> bool:
    return all(OPERATIONS[name].search(question.words) for name in ("max", "min", "range"))
