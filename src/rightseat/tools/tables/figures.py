"""Figures over selected rows: extremes, sums, counts, differences and changes, each as a sentence or None."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from statistics import median

from msgspec.structs import replace

from rightseat.tools.tables.ask import read_tenor
from rightseat.tools.tables.rows import RowColumn, is_blank
from rightseat.tools.tables.select import Mention, filter_by_limit, get_order, match_time
from rightseat.tools.tables.tickers import find_name, list_aliases
from rightseat.tools.tables.wording import Selection, format_cell, format_number, format_percent, format_result
from rightseat.tools.tables.words import find_terms, list_phrases

MAX_NAMED_ROWS = 6
_NEXT = re.compile(r"\b(?:next|soonest|upcoming|nearest|closest)\b|下一|接下来|即将|最先|最快")
_LAST = re.compile(r"\b(?:last|latest|newest|most recent(?:ly)?|furthest)\b|最晚|最后|最迟|最近|最新")
_NOT_ADDITIVE_WORDS = """
close open high low price last bid ask strike rate interest_rate yield eps pe forward_pe pb ps roe roa beta sharpe
expense_ratio dividend_yield implied_volatility volatility target nav change_percent growth inflation unemployment
gross_margin operating_margin net_margin margin return ytd rating score
"""
_NOT_ADDITIVE = frozenset(_NOT_ADDITIVE_WORDS.split())


def answer_extreme(selection: Selection, column: RowColumn, *, highest: bool) -> str | None:
    """Return the rows with the highest or lowest numbers."""
    ask = selection.ask
    if (groups := sum_groups(selection, column)) is not None:
        name, total = (max if highest else min)(groups.items(), key=lambda item: item[1])
        key = "table_highest_group" if highest else "table_lowest_group"
        return selection.say(key, column=column.name, value=format_result(total, column), row=name)
    ranked = [row for row in selection.rows if column.numbers[row] is not None]
    ranked.sort(key=lambda row: column.numbers[row] or Decimal(), reverse=highest)
    if not ranked:
        return None
    if ask.top > 1:
        rows = ranked[: ask.top]
        key = "table_highest_list" if highest else "table_lowest_list"
        return selection.say(key, column=column.name, rows=selection.list_rows(rows, [column]))
    values = list(dict.fromkeys(column.numbers[row] for row in ranked))
    if ask.nth > len(values):
        return None
    best = values[ask.nth - 1]
    rows = [row for row in ranked if column.numbers[row] == best]
    names = "; ".join(dict.fromkeys(selection.describe_row(row, without=[column]) for row in rows[:5]))
    if ask.nth == 1:
        key = "table_highest" if highest else "table_lowest"
    else:
        key = "table_highest_nth" if highest else "table_lowest_nth"
    return selection.say(key, column=column.name, value=format_cell(column, rows[0]), row=names, number=ask.nth)


def answer_by_date(selection: Selection, numbers: Sequence[RowColumn]) -> str | None:
    """Return the row whose date is the first or the last, where `which` asks for one: which lease expires first."""
    ask, label, time = selection.ask, selection.table.label, selection.time
    if time is None or label is None or label.kind != "text" or numbers or "label" not in ask.operations:
        return None
    is_first = "earliest" in ask.operations or _NEXT.search(ask.text) is not None
    if not (is_first or _LAST.search(ask.text)) or {"max", "min", "change"} & ask.operations:
        return None
    rows = [row for row in selection.rows if time.times[row] is not None]
    if len(rows) < 2:
        return None
    best = (min if is_first else max)(get_order(time, row) for row in rows)
    rows = [row for row in rows if get_order(time, row) == best]
    names = "; ".join(dict.fromkeys(format_cell(label, row) for row in rows[:5]))
    key = "table_earliest" if is_first else "table_latest"
    return selection.say(key, column=time.name, value=format_cell(time, rows[0]), row=names)


def sum_groups(selection: Selection, column: RowColumn) -> dict[str, Decimal] | None:
    """Return the sums by a named column whose cells repeat, such as costs by category; None if none is asked for."""
    if column.terms.concepts & _NOT_ADDITIVE or column.is_melted or "label" not in selection.ask.operations:
        return None
    for group in selection.table.texts:
        cells = [group.cells[row] for row in selection.rows]
        if len(set(cells)) < len(cells) and group.terms.all & selection.ask.terms.all and len(set(cells)) > 1:
            sums: dict[str, Decimal] = {}
            for row in selection.rows:
                name = format_cell(group, row)
                sums[name] = sums.get(name, Decimal()) + (column.numbers[row] or Decimal())
            return sums
    return None


def answer_aggregate(selection: Selection, column: RowColumn, operation: str) -> str | None:
    """Return a sum, an average, a median or a share of a column."""
    rows = filter_by_limit(selection.ask, column, selection.rows)
    numbers = [number for row in rows if (number := column.numbers[row]) is not None]
    if not numbers:
        return None
    total = sum(numbers, Decimal())
    values = {"column": column.name, "count": len(numbers), "rows": name_rows(selection, rows)}
    if operation == "share":
        whole = sum((number for number in column.numbers if number is not None), Decimal())
        if not whole:
            return None
        return selection.say(
            "table_share", value=format_result(total, column), total=format_result(whole, column),
            percent=format_percent(total / whole * 100), **values,
        )  # fmt: skip
    if operation == "sum":
        return selection.say("table_sum", value=format_number(total, column), **values)
    if operation == "median":
        return selection.say("table_median", value=format_result(Decimal(median(numbers)), column), **values)
    return selection.say("table_average", value=format_result(total / len(numbers), column), **values)


def name_rows(selection: Selection, rows: Sequence[int]) -> str:
    """Return the names of the rows, or the first and the last of many."""
    named = rows if len(rows) <= MAX_NAMED_ROWS else (rows[0], rows[-1])
    names = [selection.describe_row(row) for row in named]
    return ("; " if named is rows else " … ").join(filter(None, names))


def answer_count(selection: Selection) -> str | None:
    """Return the number of selected rows, or of different cells of a named column."""
    ask = selection.ask
    if not selection.is_filtered:
        for column in selection.table.texts:
            cells = {cell for cell in column.cells if not is_blank(cell)}
            if column.terms.concepts & ask.terms.concepts and len(cells) < selection.table.size:
                return selection.say(
                    "table_distinct", count=len(cells), column=column.name, rows=", ".join(sorted(map(str, cells))[:12])
                )
    conditions = [f"{mention.column.name} {', '.join(mention.cells)}" for mention in selection.mentions]
    if conditions:
        return selection.say(
            "table_count",
            count=len(selection.rows),
            condition="; ".join(conditions),
            rows=name_rows(selection, selection.rows),
        )
    return selection.say("table_count_all", count=len(selection.rows))


def answer_limit(selection: Selection, column: RowColumn) -> str | None:
    """Return the rows beyond a limit that the question names."""
    rows = filter_by_limit(selection.ask, column, selection.rows)
    if not rows:
        return selection.say("table_none_beyond", column=column.name)
    lines = selection.list_rows(rows, [column])
    return selection.say("table_beyond", count=len(rows), column=column.name, rows=lines)


def answer_sign(selection: Selection, column: RowColumn, *, rises: bool) -> str | None:
    """Return the rows whose change is positive or negative."""
    numbers = [(row, number) for row in selection.rows if (number := column.numbers[row]) is not None]
    rows = [row for row, number in numbers if (number > 0 if rises else number < 0)]
    if not rows:
        return selection.say("table_no_rise" if rises else "table_no_fall", column=column.name)
    return selection.say("table_beyond", count=len(rows), column=column.name, rows=selection.list_rows(rows, [column]))


def answer_difference(selection: Selection, column: RowColumn | None, columns: Sequence[RowColumn]) -> str | None:
    """Return the difference of two named rows, of two columns of one row, or of the highest and the lowest row."""
    ask = selection.ask
    if len(columns) == 2 and len(selection.rows) == 1 and all(one.is_number for one in columns):
        row = selection.rows[0]
        first, second = columns[0].numbers[row], columns[1].numbers[row]
        if first is None or second is None:
            return None
        return selection.say(
            "table_difference", first=f"{columns[0].name} {format_cell(columns[0], row)}",
            second=f"{columns[1].name} {format_cell(columns[1], row)}", value=format_result(first - second, columns[0]),
            row=selection.describe_row(row), column=columns[0].name,
        )  # fmt: skip
    if column is None:
        return None
    pair = find_pair(selection)
    if pair is None and {"max", "min"} <= ask.operations:
        rows = [row for row in selection.rows if column.numbers[row] is not None]
        rows.sort(key=lambda row: column.numbers[row] or Decimal())
        pair = (rows[-1], rows[0]) if rows else None
    if pair is None:
        return None
    one, two = (column.numbers[row] for row in pair)
    if one is None or two is None:
        return None
    names = [f"{selection.describe_row(row, without=[column])} {format_cell(column, row)}" for row in pair]
    text = selection.say(
        "table_difference",
        first=names[0],
        second=names[1],
        value=format_result(one - two, column),
        column=column.name,
        row="",
    )
    if "percent" in ask.operations and two:
        text += " " + format_percent((one - two) / abs(two) * 100)
    return text


def find_pair(selection: Selection) -> tuple[int, int] | None:
    """Return two rows that the question names, in its order."""
    rows, members = selection.rows, frozenset(selection.rows)
    for mention in selection.mentions:
        if len(mention.cells) == 2:
            cells = sorted(mention.cells, key=lambda cell: find_place(selection, mention, cell))
            places = [[row for row in rows if mention.column.cells[row] == cell] for cell in cells]
            if all(places):
                return pick_row(selection, places[0]), pick_row(selection, places[1])
    if selection.time is not None and len(selection.ask.times) == 2:
        found = [[row for row in match_time(selection.time, point) if row in members] for point in selection.ask.times]
        return (found[0][0], found[1][0]) if len(found[0]) == len(found[1]) == 1 else None
    return (rows[0], rows[1]) if len(rows) == 2 and selection.number_label is not None else None


def pick_row(selection: Selection, rows: Sequence[int]) -> int:
    """Return the newest of the rows."""
    time = selection.time
    return rows[0] if time is None else max(rows, key=lambda row: get_order(time, row))


def find_place(selection: Selection, mention: Mention, cell: str) -> int:
    ask = selection.ask
    if (tenor := read_tenor(cell)) in ask.tenors and tenor:
        return ask.tenors.index(tenor)
    names = [cell.lower(), *list_aliases(cell), *cell.lower().split(), *list_phrases(find_terms(cell).concepts)]
    places = [place for name in names if (place := find_name(ask.text, name)) >= 0]
    return min(places, default=len(ask.text))


def answer_change(selection: Selection, column: RowColumn) -> str | None:
    """Return how a column changed between two times, for one row of each time or for each of several."""
    time = selection.time
    if time is None:
        return None
    groups = group_rows(selection)
    changes = []
    for name, rows in groups.items():
        ends = find_ends(selection, rows)
        if ends is None:
            continue
        before, after = column.numbers[ends[0]], column.numbers[ends[1]]
        if before is not None and after is not None:
            changes.append((name, ends, before, after))
    if not changes:
        return None
    operations = selection.ask.operations
    if len(changes) > 1:
        if "max" in operations or "min" in operations:
            chooses_max = "max" in operations and not ("falls" in operations and "rises" not in operations)
            changes = [
                (max if chooses_max else min)(
                    changes, key=lambda change: (change[3] - change[2]) / (abs(change[2]) or 1)
                )
            ]
        elif "falls" in operations or "rises" in operations:
            kept = [
                change
                for change in changes
                if (change[3] < change[2]) == ("falls" in operations) and change[2] != change[3]
            ]
            if not kept:
                return selection.say("table_no_fall" if "falls" in operations else "table_no_rise", column=column.name)
            changes = kept
    return "\n".join(
        describe_change(selection, column, name, ends, before, after) for name, ends, before, after in changes[:12]
    )


def describe_change(
    selection: Selection, column: RowColumn, name: str, ends: tuple[int, int], before: Decimal, after: Decimal
) -> str:
    assert selection.time is not None
    start, end = (format_cell(selection.time, row) for row in ends)
    key = "table_rose" if after > before else "table_fell" if after < before else "table_same"
    percent = f"{format_percent((after - before) / abs(before) * 100)}" if before else "–"
    title = f"{name}: {column.name}" if name else column.name
    return selection.say(
        key, column=title, start=start, end=end, before=format_cell(column, ends[0]),
        after=format_cell(column, ends[1]), value=format_result(abs(after - before), column), percent=percent,
    )  # fmt: skip


def group_rows(selection: Selection) -> dict[str, list[int]]:
    """Return the rows by label where several rows have the same time; else all rows under one empty name."""
    assert selection.time is not None
    points = [selection.time.times[row] for row in selection.rows]
    if len(set(points)) == len(points):
        return {"": list(selection.rows)}
    for column in selection.table.texts:
        groups: dict[str, list[int]] = {}
        for row in selection.rows:
            groups.setdefault(format_cell(column, row), []).append(row)
        if all(len({selection.time.times[row] for row in rows}) == len(rows) for rows in groups.values()):
            return groups
    return {}


def find_ends(selection: Selection, rows: Sequence[int]) -> tuple[int, int] | None:
    """Return the rows from which and to which a change is asked for."""
    time, ask = selection.time, selection.ask
    assert time is not None
    ordered = sorted((row for row in rows if time.times[row] is not None), key=lambda row: get_order(time, row))
    if len(ordered) < 2:
        return None
    points = sorted(ask.times, key=lambda point: point.order)
    matches = [[row for row in ordered if point.covers(time.times[row])] for point in points]  # type: ignore[arg-type]
    if len(points) >= 2:
        return (matches[0][0], matches[-1][-1]) if matches[0] and matches[-1] else None
    if ask.is_yearly:
        return find_year_apart(time, matches[0][-1:] if points else ordered[-1:], ordered)
    if len(points) == 1:
        if not matches[0]:
            return None
        if ask.is_since:
            return matches[0][0], ordered[-1]
        if len(matches[0]) > 1:
            return matches[0][0], matches[0][-1]
        place = ordered.index(matches[0][0])
        return (ordered[place - 1], ordered[place]) if place else None
    if ask.span:
        ordered = ordered[-ask.span :]
    elif "latest" in ask.operations or ask.is_sequential:
        ordered = ordered[-2:]
    return (ordered[0], ordered[-1]) if len(ordered) > 1 else None


def find_year_apart(time: RowColumn, last: Sequence[int], rows: Sequence[int]) -> tuple[int, int] | None:
    """Return the row of the same time a year before, and the row itself."""
    point = time.times[last[0]] if last else None
    if point is None or point.year is None:
        return None
    # Trading days of two years differ: the month or quarter decides, where it has one row.
    wanted = [replace(point, year=point.year - 1)]
    wanted += [replace(wanted[0], day=None)] if point.day is not None else []
    for asked in wanted:
        before = [row for row in rows if asked.covers(time.times[row])]  # type: ignore[arg-type]
        if len(before) == 1:
            return before[0], last[0]
    return None
