"""Columns that a question asks for, and its words that neither the table nor its source explains."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rightseat.tools.tables.ask import TableAsk, name_concept
from rightseat.tools.tables.rows import RowColumn, list_cell_words
from rightseat.tools.tables.select import choose_columns, list_missing_quantities, score_column
from rightseat.tools.tables.tickers import list_aliases
from rightseat.tools.tables.wording import Selection, is_percent
from rightseat.tools.tables.words import Terms, list_phrases, split_words, stem_word

CHANGES = frozenset(("change", "change_percent", "growth", "return", "gain", "ytd", "inflow"))
"""Concepts of columns whose sign says whether something rose or fell."""
MAIN_CONCEPTS = ("close", "last", "price", "nav", "rate", "value", "yield")
GENERIC_MEASURES = frozenset(("score", "rate", "value", "amount", "quantity", "rank", "return", "price"))
SHARED = ("weight", "market_value", "value", "amount", "revenue", "market_cap", "shares")
"""Concepts of columns that `what share` is about, where the question names none."""
_BIGGEST = re.compile(r"\b(?:biggest|largest|smallest)\b|最[大小]")
WHEN = re.compile(r"\bwhen\b|什么时候|何时|哪[一]?天|什么日期")
PLAIN_STEMS_WORDS = """
avg daily weekly monthly quarterly yearly annual one two three four five six seven eight nine ten last still
highest lowest largest biggest smallest latest recent oldest earliest newest total sum average mean median count
many much difference spread gap minus change changed grow grew rise rose fall fell increase decrease drop percent
table sheet data list added pasted uploaded attached widget dashboard number value figure price go back oldest too
everything include including cheapest best worst most least top bottom second third same instead currently today now
please compare compared against what's each every ones entry entries row rows column between there tell give hold
have got did does day happen happened time do doing did fare perform trade traded trading stand sit level come
report reported post posted see overall combined altogether still against higher lower more less bigger smaller
above below than over under all any whole entire make made pay pays paid across shown show displayed listed among
within
together aggregate cumulative summed add adding amongst versus exceed exceeds remaining left nearest portion slice
proportion fraction share available included far period throughout according record exactly roughly actually thanks
hi hey hello quick question figures numbers term terms way main overview currently file text note biggest single
"""
PLAIN_STEMS = frozenset(map(stem_word, PLAIN_STEMS_WORDS.split()))


def find_asked_label(ask: TableAsk, numbers: Sequence[RowColumn]) -> RowColumn | None:
    """Return a column of numbers that `which` asks for, where another one is the measure: which strike has the most
    volume."""
    for column in numbers:
        phrases = [column.name.replace("_", " ").lower(), *list_phrases(column.terms.concepts)]
        names = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
        is_asked = re.search(
            rf"\b(?:which|what) (?:{names})\b(?! (?:is|was) the (?:high|low|larg|small|bigg))|"
            rf"哪(?:一?个)?(?:{names})|(?:{names})是(?:哪|多少|什么|几)",
            ask.text,
        )
        if is_asked:
            others = [other for other in numbers if other is not column and score_column(ask, other) >= 2]
            return column if others else None
    return None


def find_columns(selection: Selection) -> list[RowColumn]:
    """Return the columns that the question asks for, without those that only name its rows."""
    table, ask = selection.table, selection.ask
    used = {id(mention.column) for mention in selection.mentions if not mention.is_partial} | {
        id(selection.number_label)
    }
    numbers = choose_columns(ask, [column for column in table.numbers if id(column) not in used])
    others = [column for column in table.columns if not column.is_number and id(column) not in used]
    if asked := find_dates_or_shares(selection, numbers, used):
        return asked
    if not numbers or score_column(ask, numbers[0]) < 2:
        changes = [column for column in table.numbers if column.terms.concepts & CHANGES]
        if changes and ask.operations & {"rises", "falls", "change"} and len(ask.times) < 2:
            return changes[:1]
    if numbers:
        return numbers
    if sized := find_size_columns(selection):
        return sized
    texts = [column for column in others if score_column(ask, column) >= 2.4]
    if texts and not {"max", "min", "sum", "average", "median", "change"} & ask.operations:
        return texts
    if {"change", "rises", "falls", "difference"} & ask.operations and (
        main := find_main_column(selection)
    ) is not None:
        return [main]
    only = [column for column in table.numbers if id(column) not in used]
    labels = [column for column in only if column is not table.label] or only
    names_pair = "difference" in ask.operations and any(len(mention.cells) == 2 for mention in selection.mentions)
    return labels if len(labels) == 1 and (names_pair or not has_unknown_words(selection)) else []


def find_dates_or_shares(selection: Selection, numbers: Sequence[RowColumn], used: set[int]) -> list[RowColumn]:
    """Return the date that `when` asks for with the named numbers, or the column whose share is asked for."""
    table, ask = selection.table, selection.ask
    if WHEN.search(ask.text) and not ask.operations & {"max", "min"}:
        days = choose_columns(ask, [column for column in table.times if id(column) not in used])
        if days:
            return [*days[:1], *(column for column in numbers if score_column(ask, column) >= 2)]
    if "share" in ask.operations and not numbers:
        shares = [column for concept in SHARED for column in table.numbers if concept in column.terms.concepts]
        if shares:
            return shares[:1]
    return []


def find_size_columns(selection: Selection) -> list[RowColumn]:
    """Return the column of percentages, or of sizes, that a question means without its name."""
    table, ask = selection.table, selection.ask
    if "percent" in ask.operations and not ask.operations & {"change", "share", "difference"}:
        percents = [column for column in table.numbers if is_percent(column) or column.unit == "%"]
        if len(percents) == 1:
            return percents
    if _BIGGEST.search(ask.text) and ask.operations & {"max", "min"}:
        sizes = [column for concept in SHARED for column in table.numbers if concept in column.terms.concepts]
        if sizes and not has_unknown_words(selection):
            return sizes[:1]
    return []


def find_main_column(selection: Selection) -> RowColumn | None:
    """Return the column whose change is meant where a question names none: of prices, or the only one by period."""
    numbers = selection.table.numbers
    melted = [column for column in numbers if column.is_melted]
    if len(melted) == 1:
        return melted[0]
    if selection.time is None and "difference" not in selection.ask.operations:
        return None
    for concept in MAIN_CONCEPTS:
        named = [column for column in numbers if column.terms.concepts == {concept} and not column.terms.stems]
        if named:
            return named[0]
    return None


def has_unknown_words(selection: Selection) -> bool:
    """Whether the question has quantities or other words that the table and its source do not explain."""
    return bool(list_unknown(selection))


def list_unknown(selection: Selection) -> list[str]:
    """Return quantities, then other words, that neither the table nor its source explains."""
    table, ask, source = selection.table, selection.ask, selection.source
    is_named = any(score_column(ask, column) >= 1.5 for column in table.numbers)
    known = source.terms if is_named or len(table.numbers) == 1 else Terms(frozenset(), frozenset())
    missing = [concept for concept in list_missing_quantities(ask, table, known) if concept not in GENERIC_MEASURES]
    quantities = [name_concept(concept, selection.language) for concept in missing]
    words = {stem_word(word) for word in list_cell_words(table.texts, 500)} | source.terms.stems | PLAIN_STEMS
    words = words.union(*(column.terms.stems for column in table.columns))
    stated = (*map(str, source.arguments.values()), source.parameter_words)
    words |= {stem_word(word) for text in stated for word in split_words(text)}
    tickers = {stem_word(ticker.lower()) for ticker in ask.tickers}
    named = {stem_word(word) for ticker in ask.tickers for alias in list_aliases(ticker) for word in split_words(alias)}
    return quantities + sorted(ask.terms.stems - words - tickers - named)


def find_compared_columns(selection: Selection) -> list[RowColumn]:
    """Return the two columns of numbers that the question names, in its order; none if it names more or fewer."""
    ask = selection.ask
    named = [column for column in selection.table.numbers if score_column(ask, column) >= 2]
    own = [column.terms.all - frozenset().union(*(o.terms.all for o in named if o is not column)) for column in named]
    if len(named) != 2 or not all(terms & ask.terms.all for terms in own):
        return []
    return sorted(named, key=lambda column: find_first_place(ask, column.terms.all - own[1 - named.index(column)]))


def find_first_place(ask: TableAsk, terms: frozenset[str]) -> int:
    """Return where the question first has one of the terms."""
    places = [place for phrase in (*list_phrases(terms), *terms) if (place := ask.text.find(phrase)) >= 0]
    return min(places, default=len(ask.text))
