"""Recognizer of questions for price times quantity: what was taken, earned or spent in all, or by which row most."""

from __future__ import annotations

import re

from rightseat.tools.builtin.match_table_sql import quote, write_select
from rightseat.tools.builtin.match_table_value import TableQuestion, is_plain, write_filter
from rightseat.tools.builtin.table_text import TypedColumn
from rightseat.tools.builtin.table_words import OPERATIONS, has_han, split_stems

_PRICE_NAMES = re.compile(
    r"(?:unit |ticket |item )?(?:price|cost|fee)s?(?: (?:each|per \w+))?|(?:hourly |daily )?(?:rate|wage)|单价|价格|"
    r"价钱|时薪|日薪|票价|工价"
)
_RATE_NAMES = re.compile(r"(?:hourly |daily )?(?:rate|wage)|时薪|日薪|工价")
_QUANTITY_NAMES = re.compile(
    r"qty|quantity|quantities|count|amount|number|pieces|units|hours|days|nights|tickets|数量|件数|个数|小时|工时|"
    r"天数|张数|份数|重量"
)
_AMOUNT_WORDS = re.compile(
    r"\b(?:costs?|prices?|value|pay|spend|spent|worth|money|bill|order|owe|job|project)\b|多少钱|价|金额|花|费|工资|"
    r"薪水"
)
_WHOLE_WORDS = re.compile(
    r"\b(?:whole|entire|everything|total|altogether|in all|all|together)\b|一共|总共|全部|总|合计"
)


def find_product(question: TableQuestion) -> tuple[TypedColumn, TypedColumn] | None:
    """Return the columns of price and quantity where the question asks for what they make together."""
    numbers = [column for column in question.columns if column.is_number]
    prices = [column for column in numbers if _PRICE_NAMES.fullmatch(column.name.lower())]
    quantities = [column for column in numbers if _QUANTITY_NAMES.fullmatch(column.name.lower())]
    if len(prices) != 1 or len(quantities) != 1 or not _AMOUNT_WORDS.search(question.ask):
        return None
    named = split_stems(question.ask) & (split_stems(quantities[0].name) | split_stems(prices[0].name))
    is_rate = bool(_RATE_NAMES.fullmatch(prices[0].name.lower()))
    if quantities[0].name.lower() in question.ask or (is_rate and (named or prices[0].name.lower() in question.ask)):
        return None
    if any(OPERATIONS[name].search(question.words) for name in ("max", "min", "average", "sort", "difference")):
        return None
    return (prices[0], quantities[0]) if is_rate or _WHOLE_WORDS.search(question.words) else None


def is_price_by_unit(question: TableQuestion) -> bool:
    """Whether the column of the question is a price beside a quantity: its plain sum means nothing."""
    names = [column.name.lower() for column in question.columns if column.is_number]
    value = question.value
    return (
        value is not None
        and any(map(_QUANTITY_NAMES.fullmatch, names))
        and bool(_PRICE_NAMES.fullmatch(value.name.lower()))
    )


def query_product(question: TableQuestion) -> str | None:
    """Return the sum of price times quantity, of all rows or of the named ones."""
    columns = find_product(question)
    condition = write_filter(question)
    if columns is None or condition is None or not is_plain(question.ask, question.columns):
        return None
    title = "总金额" if has_han(question.ask) else "total cost"
    price, quantity = (quote(column.name) for column in columns)
    return write_select(f"SUM({price} * {quantity}) AS {quote(title)}", where=condition)
