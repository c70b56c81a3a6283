"""Recognizer of questions about a table in the message: arguments for `table_query`, in English or Chinese.

The operation, the column and the rows are found by the words of the question. Where one of them is not certain, nothing
is returned: a wrong figure is worse than none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from rightseat.tools.builtin.match_table_groups import (
    asks_for_range,
    can_sum,
    has_repeats,
    list_rows,
    query_best,
    query_count,
    query_range,
    write_count,
)
from rightseat.tools.builtin.match_table_product import (
    asks_for_quantity,
    find_product,
    is_price_by_unit,
    query_product,
    query_quantity,
)
from rightseat.tools.builtin.match_table_simple import query_simple
from rightseat.tools.builtin.match_table_sql import (
    find_time_order,
    format_table,
    literal,
    match_best,
    quote,
    write_select,
)
from rightseat.tools.builtin.match_table_value import (
    TableQuestion,
    find_label,
    find_value,
    has_only_verbs,
    has_unknown_condition,
    has_unknown_han,
    is_by_speed,
    is_plain,
    list_cell_stems,
    list_names,
    write_filter,
)
from rightseat.tools.builtin.numerals import CHINESE_DIGITS, replace_chinese_numerals
from rightseat.tools.builtin.table_text import TableUnreadable, TextTable, TypedColumn, find_table, infer_columns
from rightseat.tools.builtin.table_words import (
    ASKS_PERSON,
    KINDS_OF_DATES,
    KINDS_OF_PERSONS,
    LOOSE_LABELS,
    MODIFIER_STEMS,
    NAMED_KIND,
    NAMES_THINGS,
    NO_KINDS,
    OLDEST,
    OPERATIONS,
    PERSON_LABELS,
    TOTAL_CELLS,
    UNSURE,
    find_families,
    has_han,
    mentions_name,
    split_stems,
)

MAX_ASK = 240
MAX_ROWS = 500
# Recognizers run in the event loop: a longer table is left to the model.
MAX_MESSAGE = 20_000
MAX_CELLS = 2000
MAX_MENTIONS = 50
_FENCE = re.compile(r"^[^\S\n]*+```.*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?。？！\n]*(?:\.(?=\d)[^.!?。？！\n]*)*[.!?。？！\n]?")
_TOP = re.compile(
    r"\btop (\d+|two|three|five|ten)\b|\b(two|three|four|five|\d+) (?:\w+ )?(?=\w*est\b|best|most|least)|前(\d+|"
    r"[一二两三四五六七八九十])[名个大位]?"
)
_WORD_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10, "十": 10} | CHINESE_DIGITS
_LIMIT = re.compile(
    r"(?:(?P<more>(?:more(?: expensive)?|greater|higher|older|longer|taller|heavier|bigger|larger|faster|warmer|"
    r"hotter) than|"
    r"over|above|at least|exceed(?:s|ing)?|超过|大于|高于|多于|不少于|不低于)|"
    r"(?P<less>(?:less|lower|fewer|younger|shorter|smaller|lighter|slower|colder|cooler|cheaper) than|under|below|"
    r"at most|"
    r"低于|小于|少于|不到|不超过|不高于))\s*[$€£¥]?(?P<n>\d[\d,]*(?:\.\d+)?)|"
    r"(?P<n2>\d+(?:\.\d+)?)[分元块岁人个度]?(?:(?P<from>以上)|(?P<to>以下|以内))"
)


def match_table_question(question: str) -> dict[str, str] | None:
    """Return the arguments for `table_query` if the message is a table and a question that it answers; else None."""
    try:
        table = find_table(question) if len(question) <= MAX_MESSAGE else None
    except TableUnreadable:
        return None
    if table is None or not 1 <= len(table.rows) <= MAX_ROWS or len(table.rows) * len(table.columns) > MAX_CELLS:
        return None
    table = drop_totals(table)
    ask = find_ask(table.rest)
    if not ask or UNSURE.search(ask):
        return None
    parsed = parse_question(ask, infer_columns(table))
    if len(parsed.mentions) > MAX_MENTIONS or asks_for_another_kind(parsed):
        return None
    sql = None if is_uncertain(parsed) else query_operation(parsed)
    sql = sql or query_simple(parsed)
    return {"table": format_table(table), "sql": sql} if sql else None


def is_uncertain(question: TableQuestion) -> bool:
    """Whether the question has words that neither the table nor the operations explain."""
    return (
        has_unknown_han(question)
        or has_unused_number(question)
        or has_unknown_modifier(question)
        or has_unknown_condition(question.ask, question.columns)
    )


def query_operation(question: TableQuestion) -> str | None:
    operation = find_operation(question)
    return QUERIES[operation](question) if operation else None


def asks_for_another_kind(question: TableQuestion) -> bool:
    """Whether the question asks for something that the table has no column of: `which region`, over quarters."""
    label = question.label.name.lower()
    if ASKS_PERSON.search(question.ask) and NAMES_THINGS.fullmatch(label):
        return True
    match = NAMED_KIND.search(question.ask)
    if match is None or match[1] in NO_KINDS or match[1] == label or label in LOOSE_LABELS or has_han(label):
        return False
    if match[1] in KINDS_OF_PERSONS and label in PERSON_LABELS:
        return False
    if match[1] in KINDS_OF_DATES and find_time_order(question.columns) is not None:
        return False
    names = " ".join(column.name for column in question.columns if not column.is_number or column is question.label)
    return not split_stems(match[1]) & split_stems(names)


_QUESTION_NUMBER = re.compile(r"\d+(?:[.,]\d+)*|[二两三四五六七八九十]+(?=[个件斤只张本家位名座种])")


def has_unused_number(question: TableQuestion) -> bool:
    """Whether the question has a number that no query uses: `what do 5 pens cost`."""
    text = question.words
    if re.search(r"\d ?[个件斤只张本份杯]? ?~", text):
        return True
    for pattern in (_LIMIT, _TOP):
        text = pattern.sub(" ", text)
    for column in question.columns:
        text = text.replace(column.name.lower(), " ")
    rows = len(question.label.cells)
    return any(replace_chinese_numerals(number) != str(rows) for number in _QUESTION_NUMBER.findall(text))


def drop_totals(table: TextTable) -> TextTable:
    """Return the table without its rows of totals, which would be counted twice."""
    rows = tuple(row for row in table.rows if not any(TOTAL_CELLS.fullmatch(cell.lower()) for cell in row))
    return TextTable(table.columns, rows or table.rows, table.rest)


def find_ask(rest: str) -> str:
    """Return the sentence that asks; empty if there is none or more than one."""
    text = _FENCE.sub("", rest)
    sentences = [match.strip() for match in _SENTENCE.findall(text) if match.strip().strip(":：-` \t")]
    asking = [sentence for sentence in sentences if sentence[-1] in "?？"]
    chosen = asking or (sentences if len(sentences) == 1 else [])
    if len(chosen) != 1:
        # Without a question mark the last line asks, if what is before it only announces the table.
        others = sentences[:-1]
        if asking or not sentences or not all(sentence[-1] in ":：.。" and len(sentence) < 120 for sentence in others):
            return ""
        chosen = sentences[-1:]
    return chosen[0].lower() if len(chosen[0]) <= MAX_ASK else ""


def parse_question(ask: str, columns: list[TypedColumn]) -> TableQuestion:
    label = find_label(columns)
    texts = [column for column in columns if column.kind in ("TEXT", "DATE") or column is label]
    found: list[tuple[int, TypedColumn, str]] = []
    for column in texts:
        for cell in dict.fromkeys(str(cell) for cell in column.cells if cell is not None):
            at = max(mentions_name(ask, name) for name in list_names(cell))
            if at >= 0:
                found.append((at, column, cell))
    # `apple pie` names one row, although there is a row `apple` too.
    longest = found
    if len(found) <= MAX_MENTIONS:
        longest = [
            one
            for one in found
            if not any(one[2].lower() in two[2].lower() and one is not two and one[2] != two[2] for two in found)
        ]
    mentions = [(column, cell) for _, column, cell in sorted(longest, key=lambda item: item[0])]
    return TableQuestion(ask, columns, label, find_value(ask, columns, label), mentions)


def has_unknown_modifier(question: TableQuestion) -> bool:
    """Whether a word before the column's name makes it another quantity: `the water bill`, over a column of bills."""
    value = question.value
    if value is None or has_han(question.ask):
        return False
    words = re.findall(r"[a-z]{2,}", question.ask)
    stems = split_stems(value.name)
    known = split_stems(" ".join(column.name for column in question.columns)) | MODIFIER_STEMS
    known |= list_cell_stems(question.columns)
    for before, word in itertools.pairwise(words):
        if split_stems(word) & stems and split_stems(before) - known and not find_families(before):
            return True
    return False


def find_operation(question: TableQuestion) -> str | None:
    """Return the one operation that the words ask for; None if there is none or more than one."""
    ask = question.words
    if find_product(question) is not None:
        return "product"
    if asks_for_quantity(question):
        return "quantity"
    if is_price_by_unit(question) and OPERATIONS["sum"].search(ask):
        return None
    if asks_for_range(question):
        return "range"
    if OPERATIONS["difference"].search(ask) and len(question.mentions) == 2:
        return "difference"
    if _LIMIT.search(ask):
        return "limit"
    for name in ("latest", "earliest"):
        if OPERATIONS[name].search(ask) and find_time_order(question.columns) is not None:
            return name
    if OLDEST.search(ask) and find_time_order(question.columns) is not None and not names_age(question):
        return "earliest"
    found = [name for name in ("max", "min", "average", "sum", "sort") if OPERATIONS[name].search(ask)]
    return choose_operation(question, ask, found)


def names_age(question: TableQuestion) -> bool:
    return any(find_families(column.name.lower()) & find_families("age") for column in question.columns)


def choose_operation(question: TableQuestion, ask: str, found: list[str]) -> str | None:
    """Return the operation where the words name one of these, or none of them."""
    if found in (["max", "sum"], ["min", "sum"]):
        # `who worked the most overall`
        found = found[:1]
    if is_by_speed(question):
        found = [{"max": "min", "min": "max"}.get(name, name) for name in found]
    counts = bool(OPERATIONS["count"].search(ask)) and asks_for_rows(question)
    if found == ["sum"] and counts and not find_families(ask):
        return "count"
    if len(found) == 1:
        return found[0]
    if found:
        return "sort" if found in (["max", "sort"], ["min", "sort"]) else None
    if counts:
        return "count"
    if question.mentions and OPERATIONS["lookup"].search(ask):
        return "lookup"
    return "sum" if asks_for_amount(question) else None


def asks_for_amount(question: TableQuestion) -> bool:
    """Whether `how many fruits were sold` asks for the sum of a column, and for nothing that the table lacks."""
    asks = OPERATIONS["amount"].search(question.ask)
    if not asks or question.mentions or question.value is None or has_han(question.ask):
        return False
    if has_only_verbs(question.ask, question.columns, question.value):
        # `how many coffees did I drink`
        return bool(split_stems(asks[0].partition(" did ")[0]) & split_stems(question.value.name))
    related = find_families(question.value.name.lower())
    others = [word for word in re.findall(r"[a-z]+", question.ask) if not find_families(word) & related]
    return bool(find_families(question.ask)) and is_plain(" ".join(others), question.columns)


def asks_for_rows(question: TableQuestion) -> bool:
    """Whether `how many` counts rows, and not what a column of numbers holds."""
    if re.search(r"\b(?:left|remaining|available)\b|剩", question.ask):
        return False
    if question.mentions:
        return counts_group(question)
    if re.search(r"\b(?:rows?|entries|records?|lines?|items?)\b|多少行|几行|多少条|几条|多少项|几项", question.ask):
        return True
    name = question.label.name.lower()
    names_label = name in question.ask if has_han(name) else bool(split_stems(name) & split_stems(question.ask))
    counted = [column for column in question.columns if column.is_number]
    return names_label and not any(
        find_families(question.ask) & find_families(column.name.lower()) for column in counted
    )


def counts_group(question: TableQuestion) -> bool:
    """Whether `how many people work in sales` counts the rows of one group."""
    (column, _), *others = question.mentions
    numbers = [other for other in question.columns if other.is_number]
    names_number = any(find_families(question.words) & find_families(other.name.lower()) for other in numbers)
    names_other = any(split_stems(question.words) & split_stems(other.name) for other in numbers)
    return not others and column is not question.label and not names_number and not names_other


def query_extreme(function: str) -> Callable[[TableQuestion], str | None]:
    """Make the query for the rows with the highest or lowest number."""

    def write(question: TableQuestion) -> str | None:
        if question.value is None:
            return None
        if match := _TOP.search(question.ask):
            text = match[1] or match[2] or match[3]
            count = _WORD_NUMBERS.get(text) or int(text)
            return query_sorted(question, "DESC" if function == "MAX" else "ASC", count)
        return query_best(question, function)

    return write


def query_sorted(question: TableQuestion, order: str, count: int = 0) -> str | None:
    if question.value is None or question.mentions:
        return None
    column = quote(question.value.name)
    return write_select(quote(question.label.name), column, order=f"{column} {order}", limit=count)


def query_sort(question: TableQuestion) -> str | None:
    rising = re.search(
        r"ascending|lowest to highest|smallest to largest|low to high|cheapest first|升序|从低到高|从小到大|从少到多",
        question.ask,
    )
    return query_sorted(question, "ASC" if rising else "DESC")


def query_aggregate(function: str, english: str, chinese: str) -> Callable[[TableQuestion], str | None]:
    """Make the query for a sum or an average, of all rows, of the named ones or for each group."""

    def write(question: TableQuestion) -> str | None:
        if question.value is None:
            return None
        name = question.value.name
        title = chinese.format(name) if has_han(question.ask) else f"{english} {name}"
        columns = {column.name for column, _ in question.mentions}
        if len(question.mentions) > 1 and len(columns) == 1:
            # `the total of apples and pears`
            cells = ", ".join(literal(cell) for _, cell in question.mentions)
            condition: str | None = f"{quote(next(iter(columns)))} IN ({cells})"
        else:
            condition = write_filter(question)
        if condition is None:
            return None
        figure = f"{function}({quote(name)})"
        if function == "AVG":
            large = any(isinstance(cell, (int, float)) and abs(cell) >= 10 for cell in question.value.cells)
            figure = f"ROUND({figure}, {2 if large else 4})"
        group = find_group(question)
        if group:
            column = quote(group.name)
            return write_select(column, f"{figure} AS {quote(title)}", where=condition, group=column)
        return write_select(f"{figure} AS {quote(title)}", where=condition)

    return write


def find_group(question: TableQuestion) -> TypedColumn | None:
    """Return the text column of `per region`, `by region`, `for each region` or 每个地区."""
    match = re.search(
        r"\b(?:per|by|for each|for every|each|of each|in each) (\w+)|每个?(\w+?)的|各个?(\w+?)的", question.ask
    )
    if not match:
        return None
    word = next(filter(None, match.groups()))
    for column in question.columns:
        name = column.name.lower()
        if column.kind == "TEXT" and has_repeats(column) and (name == word or split_stems(name) & split_stems(word)):
            return column
    return None


def query_limit(question: TableQuestion) -> str | None:
    """Return the query for the rows above or below a number, or for their count."""
    match = _LIMIT.search(question.ask)
    value = question.value
    others = [
        name for name in ("max", "min", "sum", "average") if OPERATIONS[name].search(_LIMIT.sub("", question.ask))
    ]
    if match is None or value is None or question.mentions or others or len(_LIMIT.findall(question.ask)) > 1:
        return None
    column = quote(value.name)
    inclusive = "=" if re.match(r"at |不", match[0].replace("不到", "")) or match["n2"] else ""
    number = (match["n"] or match["n2"]).replace(",", "")
    condition = f"{column} {'>' if match['more'] or match['from'] else '<'}{inclusive} {number}"
    if re.search(r"how many|多少|几[个种人位名家款项]", question.ask):
        return write_count(question.ask, condition)
    return write_select(quote(question.label.name), column, where=condition)


def query_difference(question: TableQuestion) -> str | None:
    """Return the query for the difference of two named rows; positive as the question says it."""
    (first_column, first), (second_column, second) = question.mentions
    value = question.value
    if value is None or first_column is not second_column or first_column.cells.count(first) != 1:
        return None
    if first_column.cells.count(second) != 1:
        return None
    key, column = quote(first_column.name), quote(value.name)
    cells = [f"({write_select(column, where=f'{key} = {literal(cell)}')})" for cell in (first, second)]
    title = quote("相差" if has_han(question.ask) else "difference")
    if OPERATIONS["apart"].search(question.ask):
        return write_select(f"ABS({cells[0]} - {cells[1]}) AS {title}", limit=1)
    if bool(OPERATIONS["below"].search(re.sub("多少|小时", "", question.words))) != is_by_speed(question):
        cells.reverse()
    return write_select(f"{cells[0]} - {cells[1]} AS {title}", limit=1)


def query_lookup(question: TableQuestion) -> str | None:
    """Return the query for one cell, or for the sum of the rows that the named cells leave; None if there is no row."""
    condition = write_filter(question)
    if question.value is None or not condition:
        return None
    rows = list_rows(question)
    column, _ = question.mentions[0]
    if len(rows) == 1:
        return write_select(quote(column.name), quote(question.value.name), where=condition)
    return QUERIES["sum"](question) if rows and can_sum(question.value) else None


def query_time(function: str) -> Callable[[TableQuestion], str | None]:
    """Make the query for the row with the latest or earliest time."""

    def write(question: TableQuestion) -> str | None:
        time = find_time_order(question.columns)
        condition = write_filter(question)
        if time is None or condition is None:
            return None
        column, expression = time
        asked = question.value
        numbers = [other for other in question.columns if other.is_number and other is not column]
        if asked is None and numbers and find_families(question.ask):
            return None
        shown = [column] + (
            [asked] if asked and asked is not column else [other for other in question.columns if other is not column]
        )
        if question.label is not column and question.label not in shown:
            shown.insert(1, question.label)
        names = [quote(other.name) for other in shown]
        return write_select(*names, where=match_best(expression, function, condition))

    return write


QUERIES: dict[str, Callable[[TableQuestion], str | None]] = {
    "max": query_extreme("MAX"),
    "min": query_extreme("MIN"),
    "sum": query_aggregate("SUM", "total", "{}合计"),
    "product": query_product,
    "quantity": query_quantity,
    "range": query_range,
    "average": query_aggregate("AVG", "average", "平均{}"),
    "sort": query_sort,
    "count": query_count,
    "limit": query_limit,
    "difference": query_difference,
    "lookup": query_lookup,
    "latest": query_time("MAX"),
    "earliest": query_time("MIN"),
}
