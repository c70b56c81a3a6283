"""Recognizer of questions for price times quantity: what was taken, earned or spent in all, or by which row most."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rightseat.tools.builtin.match_table_sql import match_best, quote, write_select
from rightseat.tools.builtin.match_table_value import TableQuestion, is_plain, normalize_name, write_filter
from rightseat.tools.builtin.table_text import TypedColumn
from rightseat.tools.builtin.table_words import OPERATIONS, has_han, split_stems

_PRICE_NAMES = re.compile(
    r"(?:(?!total|whole|overall|full|sum|grand)\w+ )?(?:price|cost|fee|charge|fare)s?(?: (?:each|(?:per|a|an|"
    r"for one) \w+|"
    r"usd|eur|gbp))?|(?:price|cost|fee|charge|pay|rate|wage)s? ?(?:/|per) ?\w+|each|apiece|per (?:unit|item|"
    r"piece|box|"
    r"bag|kg|kilo|person|hour|night|day|ticket)|(?:hourly |daily )?(?:rate|wage|pay)|单价|价格|价钱|售价|时薪|"
    r"日薪|票价|"
    r"工价|每[件个张斤本盒箱瓶份]"
)
_RATE_NAMES = re.compile(
    r"(?:hourly |daily )?(?:rate|wage|pay)|(?:pay|rate|wage|price|cost|fee)s? ?(?:/|per) ?(?:hour|day|night|hr|"
    r"h)|时薪|日薪|工价"
)
# Columns of whole numbers that count nothing one pays for.
_NO_QUANTITIES = re.compile(
    r"\b(?:rating|score|stars?|year|age|weight|size|id|no|nr|number|rank|page|calorie|kcal|month|date|room|"
    r"floor|distance|"
    r"height|width|length|temperature|discount|tax|vat|stock|stocks|total|sum|budget|salary|revenue|sales|"
    r"profit|km|kg|"
    r"shipping|postage|delivery|capacity|watt|power|speed|review|vote|point|deposit|old|new)s?\b|评|分|年|龄|重|库存|"
    r"编号|排名|页|运费|税|总|合计|尺寸|功率|原价|折"
)
_QUANTITY_NAMES = re.compile(
    r"qty|quantity|quantities|count|amount|number|pieces|pcs|units|how many|people|persons|guests|hours|days|"
    r"nights|tickets|"
    r"(?:units |qty |number |tickets |items )?sold|(?:in )?stock|orders|"
    r"订单数?量?|数量|件数|个数|小时|工时|天数|张数|份数|重量|"
    r"销量|销售量|销售数量|售出|库存量?"
)
_AMOUNT_WORDS = re.compile(
    r"\b(?:costs?|prices?|value|pay|spend|spent|worth|money|bill|order|owe|job|project|"
    r"how much (?:is|are|was|were|does|do|did|would|will|for) (?:that|it|this|they|these|those|all|everything|"
    r"i|we|the (?:lot|whole))|"
    r"(?:grand|overall|final) total|what(?:'s|s| is) the total|come to|comes to|add up to|adds up to)\b|多少钱|"
    r"价|金额|花|费|工资|"
    r"薪水"
)
# Words for money that price and quantity make together; `how much` is needed where a thing may be made or taken too.
_MONEY_WORDS = re.compile(
    r"\b(?:revenue|turnover|income|earnings|money|earn(?:s|ed)?|takings)\b|"
    r"\bhow much (?:did|do|have|has|are|were|was) \b[^?]*\b(?:take|taken|took|make|made|earn|earned|bring|brought)\b|"
    r"\b(?:stock|inventory|all|everything|altogether|total)\b[^?]*\bworth\b|收入|营业额|销售额|赚|挣|"
    r"卖[了出得]?.{0,4}(?:多少)?钱"
)
# Who has sold the things has not paid for them.
_SOLD_NAMES = re.compile(r"sold|销|售")
_BUYER_WORDS = re.compile(r"\b(?:pay|paid|spend|spent|owe)\b|花|付")
_ONE_UNIT = re.compile(r"\b(?:per|each|apiece|a piece)\b|每")
_WHOLE_WORDS = re.compile(
    r"\b(?:whole|entire|bill|everything|total|altogether|in all|all|together|sum|lot|overall|grand total|"
    r"come to|comes to|up to)\b|一共|总共|全部|总|合计"
)


def find_quantity(columns: Sequence[TypedColumn]) -> TypedColumn | None:
    """Return the one column that says how many; None if there is none or more than one."""
    found = [column for column in columns if column.is_number and _QUANTITY_NAMES.fullmatch(normalize_name(column))]
    if not found and find_price(columns) is not None:
        # `boxes` beside `price per box`
        found = [column for column in columns if column.is_number and is_count_beside_price(column, columns)]
    return found[0] if len(found) == 1 else None


def is_count_beside_price(column: TypedColumn, columns: Sequence[TypedColumn]) -> bool:
    """Whether a column of whole numbers says how many of each are bought: it is the only one beside the price."""
    name = normalize_name(column)
    if _PRICE_NAMES.fullmatch(name) or _NO_QUANTITIES.search(name) or column.kind != "INTEGER" or column.unit:
        return False
    return sum(other.is_number for other in columns) == 2 and column is not columns[0]


def find_price(columns: Sequence[TypedColumn]) -> TypedColumn | None:
    """Return the one column of prices by unit; None if there is none or more than one."""
    found = [column for column in columns if column.is_number and _PRICE_NAMES.fullmatch(normalize_name(column))]
    return found[0] if len(found) == 1 else None


def find_product(question: TableQuestion) -> tuple[TypedColumn, TypedColumn] | None:
    """Return the columns of price and quantity where the question asks for what they make together."""
    price, quantity = find_price(question.columns), find_quantity(question.columns)
    if price is None or quantity is None or has_amount_column(question, price, quantity):
        return None
    if "how many" in question.ask:
        return None
    if _ONE_UNIT.search(question.words) and not _WHOLE_WORDS.search(question.words):
        return None
    if any(OPERATIONS[name].search(question.words) for name in ("average", "sort", "difference")):
        return None
    extreme = find_extreme(question)
    is_money = bool(_MONEY_WORDS.search(question.ask))
    is_rate = bool(_RATE_NAMES.fullmatch(price.name.lower()))
    if is_money and not is_rate:
        return price, quantity
    if _SOLD_NAMES.search(normalize_name(quantity)) and _BUYER_WORDS.search(question.ask):
        return None
    if extreme or not _AMOUNT_WORDS.search(question.ask):
        return None
    named = split_stems(question.ask) & (split_stems(quantity.name) | split_stems(price.name))
    if quantity.name.lower() in question.ask or (is_rate and (named or price.name.lower() in question.ask)):
        return None
    return (price, quantity) if is_rate or _WHOLE_WORDS.search(question.words) else None


_TRADED = re.compile(r"\b(?:sell|sold|buy|bought|purchased?|order(?:ed)?)\b|买|卖|售出")
_KINDS = re.compile(r"\b(?:different|distinct|unique|kinds?|types?|sorts?)\b|[种款类]")
_MONEY_ASKED = re.compile(r"\bhow much\b|\bmoney\b|钱|元")


def asks_for_quantity(question: TableQuestion) -> bool:
    """Whether `how many fruits did we buy` asks for the sum of the quantities, and not for the number of rows."""
    ask = question.words
    others = any(OPERATIONS[name].search(ask) for name in ("max", "min", "average", "sort", "difference"))
    asks = re.search(r"\bhow many\b|多少|几", ask)
    if others or not asks or not _TRADED.search(ask) or _KINDS.search(ask) or _MONEY_ASKED.search(ask):
        return False
    quantity = find_quantity(question.columns)
    if quantity is None or question.value not in (None, quantity) or question.mentions or re.search(r"\d", ask):
        return False
    return is_plain(question.ask, question.columns)


def query_quantity(question: TableQuestion) -> str | None:
    """Return the sum of the quantities, of all rows or of the named ones."""
    quantity, condition = find_quantity(question.columns), write_filter(question)
    if quantity is None or condition is None:
        return None
    title = f"{quantity.name}合计" if has_han(question.ask) else f"total {quantity.name}"
    return write_select(f"SUM({quote(quantity.name)}) AS {quote(title)}", where=condition)


def has_amount_column(question: TableQuestion, price: TypedColumn, quantity: TypedColumn) -> bool:
    """Whether the table has the money itself, as a column that the question names."""
    return question.value is not None and question.value not in (price, quantity)


def find_extreme(question: TableQuestion) -> str:
    """Return MAX or MIN where the question asks for one of them; empty for neither and for both."""
    names = [name for name in ("max", "min") if OPERATIONS[name].search(question.words)]
    return names[0].upper() if len(names) == 1 else ""


def is_price_by_unit(question: TableQuestion) -> bool:
    """Whether the column of the question is a price beside a quantity: its plain sum means nothing."""
    value = question.value
    return (
        value is not None
        and find_quantity(question.columns) is not None
        and bool(_PRICE_NAMES.fullmatch(normalize_name(value)))
    )


def query_product(question: TableQuestion) -> str | None:
    """Return the sum of price times quantity, of all rows or of the named ones, or the row where it is most."""
    columns = find_product(question)
    condition = write_filter(question)
    if columns is None or condition is None or not is_plain(question.ask, question.columns):
        return None
    money = bool(_MONEY_WORDS.search(question.ask))
    title = "总金额" if has_han(question.ask) else "total amount" if money else "total cost"
    price, quantity = (quote(column.name) for column in columns)
    product = f"{price} * {quantity}"
    if any(OPERATIONS[name].search(question.words) for name in ("max", "min")):
        extreme = find_extreme(question)
        label = question.label
        if not extreme or len(set(label.cells)) != len(label.cells) or question.mentions:
            return None
        amount = f"ROUND({product}, 2)"
        return write_select(quote(label.name), f"{amount} AS {quote(title)}", where=match_best(amount, extreme, ""))
    return write_select(f"ROUND(SUM({product}), 2) AS {quote(title)}", where=condition)
