"""Recognizer of questions about a table with one column of numbers, and of questions for the row of one name.

It is asked where the words of the question are not all known. With one column of numbers there is no doubt which of
them is meant, unless the question names another quantity or a condition.
"""

from __future__ import annotations

import itertools
import re

from rightseat.tools.builtin.match_table_groups import can_sum, has_repeats
from rightseat.tools.builtin.match_table_sql import literal, match_best, quote, write_select
from rightseat.tools.builtin.match_table_value import TableQuestion, normalize_name
from rightseat.tools.builtin.table_text import TypedColumn
from rightseat.tools.builtin.table_words import (
    HAN_CONDITIONS,
    ID_NAMES,
    OPERATIONS,
    PREPOSITIONS,
    find_families,
    has_han,
    split_stems,
)

_AVERAGE = re.compile(r"\b(?:average|mean|avg)\b|平均")
_SUM = re.compile(
    r"\b(?:total|sum|altogether|in all|all together|combined|add (?:\w+ ){0,3}up|add up)\b|一共|总共|总计|合计|加起来"
)
_BUSIEST = re.compile(r"\b(?:busiest|(?:which|what) (?:day|month|week|year|one) (?:was|is) (?:the )?best)\b")
_QUIETEST = re.compile(r"\b(?:quietest|calmest|slowest (?:day|month|week))\b")
# Words of a family that stand for any people, and words that limit the question to some rows.
_PEOPLE = re.compile(
    r"\b(?:people|persons|take|takes|long|longer|makes|paid|left|go|goes|work|works|read)\b|多少人|人数"
)
_LIMITS = re.compile(
    r"\d|\b(?:more|less|fewer|than|over|under|above|below|only|just|first|last|before|after|without|each other|"
    r"weighted|"
    r"growth|per)\b|超过|以上|以下|大于|小于|不到|之前|之后|前|后|比"
)
_GENERIC_HAN = frozenset("数量额的人个次")


def query_simple(question: TableQuestion) -> str | None:
    """Return the query of a question for a sum, an average or the row of a name; None if it is not certain."""
    numbers = [column for column in question.columns if is_counted(column, question.label)]
    if question.mentions:
        return query_row(question)
    if len(numbers) != 1 or _LIMITS.search(question.ask) or HAN_CONDITIONS.search(question.ask):
        return None
    value = numbers[0]
    if not is_about(question, value):
        return None
    ask = question.words
    if _AVERAGE.search(ask) and not _SUM.search(ask):
        title = f"平均{value.name}" if has_han(ask) else f"average {value.name}"
        return write_select(f"ROUND(AVG({quote(value.name)}), 2) AS {quote(title)}")
    if _SUM.search(ask) and can_sum(value) and not _AVERAGE.search(ask):
        title = f"{value.name}合计" if has_han(ask) else f"total {value.name}"
        return write_select(f"SUM({quote(value.name)}) AS {quote(title)}")
    for pattern, function in ((_BUSIEST, "MAX"), (_QUIETEST, "MIN")):
        if pattern.search(ask) and not has_repeats(question.label):
            best = match_best(quote(value.name), function, "")
            return write_select(quote(question.label.name), quote(value.name), where=best)
    return None


def is_counted(column: TypedColumn, label: TypedColumn) -> bool:
    return column.is_number and column is not label and not ID_NAMES.fullmatch(column.name.lower())


def is_about(question: TableQuestion, value: TypedColumn) -> bool:
    """Whether the question may be about the column: it names no other quantity, and in Chinese a part of its name."""
    name = normalize_name(value)
    ask = question.words
    if has_han(ask):
        shared = set(re.findall(r"[\u3400-\u9fff]", name)) & set(ask) - _GENERIC_HAN
        return bool(shared) and not find_families(ask.partition("多少")[2]) - find_families(name)
    asked = find_families(_PEOPLE.sub(" ", ask)) - find_families(f"{name} {value.unit.lower()}")
    words = re.findall(r"[a-z]+", ask)
    limits = any(
        word in PREPOSITIONS and after not in ("average", "total", "all", "the", "me", "us", "each", "every")
        for word, after in itertools.pairwise([*words, ""])
    )
    known = split_stems(f"{name} {question.label.name.lower()}")
    named = re.search(r"\b(?:average|mean|total)(?: number of| amount of)? ([a-z]+)", ask)
    is_other = named is not None and bool(split_stems(named[1]) - known) and not _PEOPLE.search(named[1])
    return not asked and not limits and not is_other


_ASKS_ROW = re.compile(r"^(?:so |and |ok )*(?:what|which|who|whose|where|when|tell me|show me)\b|什么|哪|谁|几|多少")
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much)\b|多少|几")


def query_row(question: TableQuestion) -> str | None:
    """Return the query for a text cell of the row of one name: `which team does Lena play for?`."""
    (column, cell), *others = question.mentions
    if others or column is not question.label or column.cells.count(cell) != 1 or not _ASKS_ROW.search(question.ask):
        return None
    if any(OPERATIONS[name].search(question.words) for name in ("max", "min", "sum", "average", "difference", "sort")):
        return None
    texts = [other for other in question.columns if other.kind in ("TEXT", "DATE") and other is not column]
    stems = split_stems(question.words)
    named = [
        other
        for other in texts
        if (has_han(other.name) and other.name in question.ask) or stems & split_stems(other.name)
    ]
    if not named and len(texts) == 1 and re.match(r"(?:so |and |ok )*(?:who|where)\b", question.ask):
        named = texts
    if len(named) != 1 or _ASKS_NUMBER.search(question.ask) or _LIMITS.search(question.words):
        return None
    return write_select(quote(column.name), quote(named[0].name), where=f"{quote(column.name)} = {literal(cell)}")
