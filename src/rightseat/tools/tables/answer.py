"""Answer to a question from the rows of a table, by rules: computed where they are sure, said to be missing where the
table has no such row or column, else None."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rightseat.tools.tables.ask import TableAsk, name_concept
from rightseat.tools.tables.columns import (
    CHANGES,
    PLAIN_STEMS,
    WHEN,
    find_asked_label,
    find_columns,
    find_compared_columns,
    has_unknown_words,
)
from rightseat.tools.tables.derived import answer_derived
from rightseat.tools.tables.figures import (
    answer_aggregate,
    answer_by_date,
    answer_change,
    answer_count,
    answer_difference,
    answer_extreme,
    answer_limit,
    answer_sign,
)
from rightseat.tools.tables.rows import RowColumn, RowTable, is_blank, list_cell_words
from rightseat.tools.tables.select import (
    Mention,
    choose_time_column,
    filter_by_number,
    find_cell_concepts,
    find_mentions,
    get_order,
    list_missing_quantities,
    match_time,
    melt_periods,
    score_column,
)
from rightseat.tools.tables.tickers import list_aliases
from rightseat.tools.tables.times import TimePoint, read_time
from rightseat.tools.tables.wording import MAX_SHOWN_COLUMNS, Selection, TableSource, format_cell
from rightseat.tools.tables.words import (
    TOPICS,
    Terms,
    count_related,
    find_terms,
    list_phrases,
    load_lexicon,
    split_words,
    stem_word,
)
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence

MAX_LOOKED_UP = 8
STATES = frozenset(("upgrade", "downgrade", "reiterate", "overdue", "unpaid", "special", "regular", "pending"))
"""Concepts of cells by which a question limits its rows."""
_YEARLY_NAME = re.compile(r"yoy|y/y|year.?(?:over|on).?year|同比", re.IGNORECASE)
_STATISTIC = re.compile(r"\bvariance\b|方差")
ENTITY_TOPICS = ("country", "commodity", "sector")
_PROPER_NAME = re.compile(r"(?<=[a-z,;:] )([A-Z][a-z]{2,})\b(?!\s*\d)")
_HOW_MUCH = re.compile(r"\bhow much\b|多少钱")
_AFTER_COUNT = re.compile(r"\b(?:how many|number of)((?: [a-z-]+){1,3})|(?:多少|几)([\u4e00-\u9fff]{1,4})")
_VAGUE_TIME = re.compile(
    r"\b(?:last|this|past|previous|next) (?:week|month|year|quarter|decade)\b|\byesterday\b|"
    r"上[周个]|本[周月季年]|这[周个]月?|昨天|去年|今年"
)

GROUPED_OPERATIONS = {"max", "min", "sum", "average", "median", "count"}
"""Operations whose result for all rows is not the answer to a question about each group of rows."""


def answer_from_table(ask: TableAsk, table: RowTable, source: TableSource, language: Language) -> str | None:
    """Return the answer from a table; None where the rules are not sure."""
    if "unsure" in ask.operations or not table.size or not table.columns:
        return None
    if "group" in ask.operations and ask.operations & GROUPED_OPERATIONS:
        return None
    table = melt_periods(table)
    selection = select_rows(ask, table, source, language)
    if isinstance(selection, str):
        return selection
    if (figure := answer_derived(selection)) is not None:
        return figure
    if _STATISTIC.search(ask.text) or has_unknown_state(selection):
        return None
    selection = set_extras(selection)
    columns = find_columns(selection)
    if (missing := find_missing(selection, columns)) is not None:
        return missing
    if not selection.rows:
        return None
    answer = answer_operation(selection, columns)
    return answer if answer is not None else look_up(selection, columns)


def has_unknown_state(selection: Selection) -> bool:
    """Whether the question limits rows by a state, such as overdue, that neither a cell nor the source has."""
    states = selection.ask.terms.concepts & STATES
    if not states:
        return False
    known = selection.source.terms.concepts | find_terms(selection.source.parameter_words).concepts
    known = known.union(
        find_cell_concepts(selection.table), *(column.terms.concepts for column in selection.table.columns)
    )
    return bool(states - known)


def set_extras(selection: Selection) -> Selection:
    """Return the selection with the further columns that a picked row shows: its dates where the question asks when,
    and the number after `which`, such as a strike."""
    ask, table = selection.ask, selection.table
    if not ask.operations & {"max", "min"}:
        return selection
    if selection.number_label is None and (label := find_asked_label(ask, table.numbers)) is not None:
        selection = replace(selection, number_label=label)
    return replace(selection, extras=tuple(table.times[:3])) if WHEN.search(ask.text) else selection


def select_rows(ask: TableAsk, table: RowTable, source: TableSource, language: Language) -> Selection | str:
    """Return the rows that the question names, or the sentence that the table has none of them."""
    mentions = find_mentions(ask, table)
    rows = set(range(table.size))
    for mention in sorted(mentions, key=lambda mention: mention.is_partial):
        if rows & mention.rows:
            rows &= mention.rows
        else:
            mentions.remove(mention)
    numbered = filter_by_number(ask, table)
    if numbered is not None and rows & numbered[1]:
        rows &= numbered[1]
    time = choose_time_column(ask, table)
    plain = Selection(
        ask=ask, table=table, source=source, language=language, rows=tuple(sorted(rows)), time=time,
        mentions=tuple(mentions), number_label=numbered[0] if numbered else None,
    )  # fmt: skip
    ticker = find_unknown_ticker(ask, source, mentions)
    if ticker is not None and not any(ticker.lower() in split_words(column.name) for column in table.columns):
        return say_no_row(plain, ticker)
    if (name := find_unknown_name(plain)) is not None:
        return say_no_row(plain, name)
    return filter_by_times(plain)


def filter_by_times(selection: Selection) -> Selection | str:
    """Return rows of the question's times, or the sentence that there are none; all rows where times are compared."""
    ask, time = selection.ask, selection.time
    pairs = list(zip(ask.times, ask.time_texts, strict=True))
    points = [point for point, _ in pairs if not is_argument(point, selection.source, time)]
    if not points:
        return selection
    missing = [text for point, text in pairs if point in points and (time is None or not match_time(time, point))]
    if time is None or len(missing) == len(points):
        return say_no_row(selection, ", ".join(missing))
    if missing:
        return selection if ask.is_range or ask.is_since or ask.is_before else say_no_row(selection, missing[0])
    compares_times = "change" in ask.operations or ("difference" in ask.operations and len(points) > 1)
    if compares_times and not is_plain_column_change(selection):
        return selection
    chosen = tuple(row for row in selection.rows if is_in_time(ask, points, time.times[row]))
    if not chosen:
        return say_no_row(selection, ", ".join(ask.time_texts))
    return replace(selection, rows=chosen, has_time_filter=True)


def is_plain_column_change(selection: Selection) -> bool:
    """Whether the table itself has a column of changes, which the question asks for at one time."""
    ask = selection.ask
    return len(ask.times) == 1 and any(column.terms.concepts & CHANGES for column in selection.table.numbers)


def is_argument(point: TimePoint, source: TableSource, time: RowColumn | None) -> bool:
    """Whether a time of the question is one by which the widget was asked, and no row's."""
    if time is not None and match_time(time, point):
        return False
    stated = [read_time(value) for value in source.arguments.values()]
    return any(other is not None and point.covers(other) for other in stated)


def is_in_time(ask: TableAsk, points: Sequence[TimePoint], point: TimePoint | None) -> bool:
    if point is None:
        return False
    if any(asked.covers(point) for asked in points):
        return not ask.is_before
    if ask.is_range and len(points) == 2:
        first, last = sorted(points, key=lambda asked: asked.order)
        return first.order < point.order < last.order
    if ask.is_since:
        return point.order > points[0].order
    return ask.is_before and point.order < points[0].order


def find_unknown_ticker(ask: TableAsk, source: TableSource, mentions: Sequence[Mention]) -> str | None:
    """Return a ticker of the question that neither the widget's arguments nor a cell has."""
    arguments = " ".join(str(value).upper() for value in source.arguments.values())
    text = f"{source.title} {source.description}".lower()
    cells = {cell.upper() for mention in mentions for cell in mention.cells}
    parts = {part for cell in cells for part in cell.split()}
    for ticker in ask.tickers:
        words = set(split_words(text)) | set(split_words(arguments.lower()))
        if ticker.lower() in words or ticker in arguments or ticker in cells or ticker in parts:
            continue
        names = list_aliases(ticker)
        if any(
            name in text or name in arguments.lower() or any(name in cell.lower() for cell in cells) for name in names
        ):
            continue
        return ticker
    return None


def find_unknown_name(selection: Selection) -> str | None:
    """Return a country, a commodity or a proper name of the question that neither the table nor its source has, where
    the rows are of other ones."""
    ask, table, source = selection.ask, selection.table, selection.source
    texts = [
        source.title,
        source.description,
        *map(str, source.arguments.values()),
        *(column.name for column in table.columns),
    ]
    words = list_cell_words(table.texts, 2000) | {word for text in texts for word in split_words(text)}
    if selection.mentions:
        return None
    entities = find_cell_concepts(table)
    for kind in ENTITY_TOPICS:
        rows = {concept for concept in entities if kind in TOPICS.get(concept, ())}
        named = {concept for concept in ask.terms.concepts if kind in TOPICS.get(concept, ())}
        if len(rows) > 1 and named and not named & rows:
            return ", ".join(name_concept(concept, selection.language) for concept in sorted(named))
    known = words | {word for ticker in ask.tickers for name in list_aliases(ticker) for word in split_words(name)}
    known |= {word for phrase in load_lexicon().english for word in phrase}
    names = [match[1] for match in _PROPER_NAME.finditer(ask.masked)]
    unknown = [name for name in names if not {name.lower(), stem_word(name.lower())} & (known | PLAIN_STEMS)]
    return unknown[0] if unknown and not ask.question.istitle() else None


def say_no_row(selection: Selection, name: str) -> str:
    """Say that the table has no row of that name, and what it covers."""
    time = selection.time
    points = [(point, row) for row, point in enumerate(time.times) if point is not None] if time else []
    if time is None or not points:
        return selection.say("table_no_row", name=name)
    first = min(points, key=lambda item: item[0].order)[1]
    last = max(points, key=lambda item: item[0].order)[1]
    return selection.say("table_no_row_in", name=name, first=format_cell(time, first), last=format_cell(time, last))


def find_missing(selection: Selection, columns: Sequence[RowColumn]) -> str | None:
    """Return the sentence that the table has not what is asked for; None if it has, or that is not certain."""
    if columns and score_column(selection.ask, columns[0]) > 1:
        return None
    missing = list_missing_quantities(selection.ask, selection.table, Terms(frozenset(), frozenset()))
    if not missing or (columns and score_column(selection.ask, columns[0]) > 0):
        return None
    if set(missing) <= selection.source.terms.concepts:
        return None
    names = ", ".join(name_as_asked(selection, concept) for concept in missing)
    shown = ", ".join(column.name for column in selection.table.columns[: MAX_SHOWN_COLUMNS * 2])
    return selection.say("table_no_column", name=names, columns=shown)


def name_as_asked(selection: Selection, concept: str) -> str:
    """Return a concept in the question's words."""
    phrases = [phrase for phrase in list_phrases(frozenset((concept,))) if phrase in selection.ask.text]
    return max(phrases, key=len, default=name_concept(concept, selection.language))


def answer_operation(selection: Selection, columns: Sequence[RowColumn]) -> str | None:
    """Return the answer of the operation that the question names; None if it names none that fits."""
    ask = selection.ask
    operations = ask.operations
    numbers = [column for column in columns if column.is_number]
    column = numbers[0] if numbers else None
    if "count" in operations and counts_rows(selection):
        return answer_filtered_count(selection, column)
    if (text := answer_by_date(selection, [one for one in numbers if score_column(ask, one) >= 2])) is not None:
        return text
    compared = find_compared_columns(selection) if "difference" in operations else []
    if "difference" in operations and (text := answer_difference(selection, column, compared or numbers)) is not None:
        return text
    if column is None:
        return None
    if "share" in operations and selection.is_filtered and "weight" not in column.terms.concepts:
        return answer_aggregate(selection, column, "share")
    is_change = bool(column.terms.concepts & {"change", "change_percent", "growth"}) or is_yearly_column(column)
    if "change" in operations and not (is_change and (ask.is_yearly or not is_yearly_column(column))):
        text = answer_change(selection, column)
        if text is not None or len(ask.times) > 1 or ask.is_yearly:
            return text
    return answer_over_rows(selection, column)


def is_yearly_column(column: RowColumn) -> bool:
    """Whether the numbers of a column are changes from a year before."""
    return _YEARLY_NAME.search(column.name) is not None


def answer_over_rows(selection: Selection, column: RowColumn) -> str | None:
    """Return what the question asks for over many rows: those beyond a limit, the extremes, a sum or a mean."""
    operations = selection.ask.operations
    picks = {"max", "min"} & operations
    if (
        {"rises", "falls"} & operations
        and {"label", "list"} & operations
        and column.terms.concepts & CHANGES
        and not picks
    ):
        return answer_sign(selection, column, rises="falls" not in operations)
    narrowed = narrow_to_span(selection)
    if selection.ask.limit is not None and not {"sum", "average", "median", "max", "min"} & operations:
        return answer_limit(narrowed, column)
    # A column of averages is looked up.
    if {"averag", "avg"} & column.terms.stems or "cost_basis" in column.terms.concepts:
        operations = operations - {"average"}
    mean = next((name for name in ("average", "median") if name in operations), None)
    if mean is not None:
        return None if is_uncertain(selection) else answer_aggregate(narrowed, column, mean)
    if picks and len(narrowed.rows) > 1:
        texts = [answer_extreme(narrowed, column, highest=name == "max") for name in sorted(picks)]
        return "\n".join(filter(None, texts)) or None
    if "sum" in operations and len(narrowed.rows) > 1 and not is_uncertain(selection):
        return answer_aggregate(narrowed, column, "sum")
    return None


def is_uncertain(selection: Selection) -> bool:
    """Whether an aggregate is asked for over a time that only the calendar tells, such as last week, or over rows that
    the question names and the table does not explain."""
    if _VAGUE_TIME.search(selection.ask.text):
        return True
    return not selection.is_filtered and has_unknown_words(selection)


def answer_filtered_count(selection: Selection, column: RowColumn | None) -> str | None:
    ask = selection.ask
    if ask.limit is not None:
        limited = column or (selection.table.numbers[0] if len(selection.table.numbers) == 1 else None)
        return None if limited is None else answer_limit(selection, limited)
    if not selection.is_filtered and has_unknown_words(selection):
        return None
    return answer_count(selection)


def counts_rows(selection: Selection) -> bool:
    """Whether `how many` counts rows, and not what a column of numbers holds."""
    match = _AFTER_COUNT.search(selection.ask.text)
    if match is None:
        return True
    terms = find_terms(match[1] or match[2])
    numbers = selection.table.numbers
    if any(column.terms.all & terms.all for column in numbers):
        return False
    is_related = any(count_related(terms.concepts, column.terms.concepts) for column in numbers)
    return not is_related or any(find_terms(cell).all & terms.all for cell in list_named_cells(selection))


def list_named_cells(selection: Selection) -> list[str]:
    return [cell for mention in selection.mentions for cell in mention.cells]


def narrow_to_span(selection: Selection) -> Selection:
    """Return the newest rows where the question names a number of them."""
    time, span = selection.time, selection.ask.span
    if time is None or not span or span >= len(selection.rows):
        return selection
    ordered = sorted(selection.rows, key=lambda row: get_order(time, row))
    return replace(selection, rows=tuple(sorted(ordered[-span:])), has_time_filter=True)


def look_up(selection: Selection, columns: Sequence[RowColumn]) -> str | None:
    """Return the asked columns of the selected rows: of the newest where no row is named."""
    ask, time = selection.ask, selection.time
    rows = list(selection.rows)
    if ask.is_yearly and not any(is_yearly_column(column) or column.terms.concepts & CHANGES for column in columns):
        return None
    if ask.operations & {"max", "min", "average", "median", "difference", "sum"} and len(rows) > 1:
        return None
    newest = time is not None and len(rows) > 1 and wants_newest(selection)
    if newest:
        if not columns and not selection.mentions:
            return None
        rows = pick_newest(selection, rows)
    if not rows or (len(rows) > MAX_LOOKED_UP and not selection.is_filtered):
        return None
    if len(rows) > 1 and (total := sum_amount(selection, columns, rows)) is not None:
        return total
    shown = list(columns) or list_row_columns(selection)
    if not columns and not selection.is_filtered and has_unknown_words(selection):
        return None
    if len(rows) == 1 and len(columns) == 1:
        key = "table_value" if not newest else "table_earliest" if "earliest" in ask.operations else "table_latest"
        row = selection.describe_row(rows[0], without=columns)
        value = format_cell(columns[0], rows[0])
        return selection.say(key if row else "table_only", column=columns[0].name, value=value, row=row)
    return selection.say("table_rows", rows=selection.list_rows(rows, shown))


def wants_newest(selection: Selection) -> bool:
    """Whether only the newest or the oldest of the rows is asked for."""
    operations = selection.ask.operations
    if selection.has_time_filter or "list" in operations:
        return False
    return not selection.mentions or bool({"latest", "earliest"} & operations) or len(selection.rows) > MAX_LOOKED_UP


def sum_amount(selection: Selection, columns: Sequence[RowColumn], rows: Sequence[int]) -> str | None:
    """Return the total of an amount that `how much` asks for over the rows that the question names."""
    numbers = [column for column in columns or selection.table.numbers if column.is_number]
    if not _HOW_MUCH.search(selection.ask.text) or not selection.mentions or len(numbers) != 1:
        return None
    if not numbers[0].terms.concepts & {
        "amount",
        "value",
        "market_value",
        "quantity",
        "shares",
        "revenue",
        "budget",
        "weight",
    }:
        return None
    return answer_aggregate(selection, numbers[0], "sum") if tuple(rows) == selection.rows else None


def pick_newest(selection: Selection, rows: Sequence[int]) -> list[int]:
    """Return the rows of the newest time, or of the oldest where that is asked for."""
    time = selection.time
    assert time is not None
    dated = [row for row in rows if time.times[row] is not None]
    if not dated:
        return []
    choose = min if "earliest" in selection.ask.operations else max
    best = choose(get_order(time, row) for row in dated)
    return [row for row in dated if get_order(time, row) == best]


def list_row_columns(selection: Selection) -> list[RowColumn]:
    """Return the columns by which a whole row is shown."""
    table = selection.table
    named = {id(table.label), id(selection.time), id(selection.number_label)}
    return [column for column in table.columns if id(column) not in named][:MAX_SHOWN_COLUMNS]


def format_table(table: RowTable, source: TableSource, language: Language, most: int = 10) -> str:
    """Return the first rows of a table as an answer, for questions that no rule answers."""
    columns = table.columns[:MAX_SHOWN_COLUMNS]
    lines = []
    for row in range(min(table.size, most)):
        cells = (f"{column.name} {format_cell(column, row)}" for column in columns if not is_blank(column.cells[row]))
        lines.append("- " + ", ".join(cells))
    if table.size > most:
        lines.append(get_sentence("result_more", language, count=table.size - most))
    return get_sentence("table_rows", language, source=source.format(language), rows="\n".join(lines))
