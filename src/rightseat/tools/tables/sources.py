"""Ranking of data sources by a question, and whether it asks for data at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from rightseat.tools.tables.ask import TableAsk, find_tenors
from rightseat.tools.tables.concepts import DERIVED, RELATED
from rightseat.tools.tables.parameters import SourceParameter, list_words
from rightseat.tools.tables.rows import RowTable
from rightseat.tools.tables.select import NO_QUANTITIES, find_mentions
from rightseat.tools.tables.tickers import COIN_NAMES, list_aliases
from rightseat.tools.tables.words import TOPICS, Terms, find_terms

MIN_SCORE = 1.5
_GROUP_BONUS = {"primary": 0.75, "secondary": 0.25, "extra": 0.0, "added": 0.5}
_DEFINITION = re.compile(
    r"^\W*(?:what (?:is|are|does) (?:an? |the (?:meaning|definition) )|what does .{1,40} mean\b|define |explain what |"
    r"what's an? )|什么是|是什么意思|的?含义|什么叫",
    re.IGNORECASE,
)
_ASKS_DATA = re.compile(
    r"\bhow (?:much|many|high|low|large|big)\b|\bwhat(?:'s|s| is| was| were| are| did)\b|"
    r"\bwhich\b|\bwho\b|\bshow\b|\bgive\b|\bwhen\b|\bdid\b|"
    r"\btell me\b|\blist\b|多少|几|哪|是什么|谁|查|看看|何时|\?|？",
    re.IGNORECASE,
)
_NAMES_ADDED = re.compile(
    r"\b(?:i|we|i've|i just|just) (?:just |have )?(?:added|pasted|uploaded|attached|shared|sent|posted|dropped)\b|"
    r"\b(?:added|pasted|uploaded|attached) (?:table|sheet|data|file|list|csv|text|note|"
    r"document)\b|\bthe (?:sheet|attachment|file|document|note|csv)\b|"
    r"\b(?:this|my|these) (?:table|sheet|list|file|data|note|document|text)\b|\bin this\b|\bof these\b|"
    r"上传|粘贴|附件|附上|添加的|我给|我发|这[张个份]?表|表里|表格里|这份|这些|文件里|笔记",
    re.IGNORECASE,
)
CAPABILITY = re.compile(
    r"\bwhat (?:can|could|do) (?:you|u) (?:do|help|answer|know|offer)\b|\bhow can you help\b|"
    r"\bwhat are you able\b|\bwhat can i ask\b|"
    r"\bwhat (?:data|widgets?|tables?) (?:do (?:i|you|we) have|is there|are there|are on)\b|"
    r"(?:你|您)(?:能|可以|会)(?:帮我?|为我)?(?:做|干|回答|提供)?(?:些|点)?什么|能帮我(?:做|"
    r"干)?什么|有什么功能|怎么用|可以问(?:你)?什么|能做什么|有哪些(?:数据|组件)",
    re.IGNORECASE,
)
# Ordinary words that say nothing about a source.
_COMMON_WORDS = """
last date company value change high low period year quarter month week name actual previous
"""
_COMMON = frozenset(_COMMON_WORDS.split())


_GENERIC = frozenset(["rate", "value", "amount", "price", "return", "change", "quantity", "score"])


class DataSource(Struct, frozen=True, kw_only=True):
    """A widget or added data, as far as it is known before its rows are read."""

    key: str
    title: str
    description: str = ""
    columns: tuple[str, ...] = ()
    parameters: tuple[SourceParameter, ...] = ()
    group: str = "secondary"
    table: RowTable | None = None
    """Rows, where they are known already."""
    text: str = ""
    """Text of added data that is no table."""

    @property
    def lists_companies(self) -> bool:
        """Whether its rows are companies, so that a ticker names a row."""
        terms = find_terms(f"{self.title} . {self.description}").concepts
        columns = find_terms(" . ".join(name.replace("_", " ") for name in self.columns)).concepts
        names_rows = columns & {"symbol", "company", "name", "holding", "issuer", "institution"}
        return bool(names_rows) and bool(
            terms & {"holding", "index", "sector", "institution", "weight", "company"} or not self.has_ticker
        )

    @property
    def has_ticker(self) -> bool:
        return any(parameter.is_ticker for parameter in self.parameters)


class SourceTerms(Struct, frozen=True):
    """Concepts and words of a source, by where they stand."""

    named: tuple[Terms, ...]
    columns: Terms
    title: Terms
    description: Terms
    options: Terms

    @property
    def about(self) -> frozenset[str]:
        return self.columns.concepts | self.title.concepts | self.description.concepts

    def score(self, term: str, asked: frozenset[str]) -> float:
        """Return how strongly the source has a term of the question."""
        related = set(RELATED.get(term, ()))
        if term in self.columns.all:
            return 3.0 if any(term in one.all and one.all <= asked for one in self.named) else 2.4
        if term in self.title.all:
            return 2.5
        if term in self.description.all:
            return 2.0
        if term in self.options.all:
            return 1.5
        if TOPICS.get(term, frozenset()) & self.about:
            return 2.0
        if related & self.columns.concepts or (term in DERIVED and self.columns.concepts.issuperset(DERIVED[term])):
            return 1.2
        return 0.8 if related & self.about else 0.0


def find_source_terms(source: DataSource) -> SourceTerms:
    named = tuple(find_terms(name) for name in source.columns)
    return SourceTerms(
        named,
        merge_terms(named),
        find_terms(source.title, is_nested=True),
        find_terms(source.description, is_nested=True),
        find_terms(list_words(source.parameters)),
    )


def score_source(ask: TableAsk, source: DataSource) -> float:
    """Return how many words of the question a source has, weighted by where it has them."""
    terms = find_source_terms(source)
    quantities = ask.terms.concepts - NO_QUANTITIES
    offered = terms.about | terms.options.concepts
    is_known = bool(source.columns) and source.table is None
    if is_known and quantities and not any(offers_concept(concept, offered) for concept in quantities):
        return 0.0
    score = sum(weigh_term(term) * terms.score(term, ask.terms.all) for term in ask.terms.all)
    score += 2 if set(ask.compared) & terms.columns.concepts else 0
    score += score_names(ask, source)
    options = [f"{label} {value}" for parameter in source.parameters for label, value in parameter.options[:300]]
    if (ask.tenors and any(set(find_tenors(option)) & set(ask.tenors) for option in options)) or (
        ask.tenors and (terms.columns.concepts | terms.title.concepts) & {"maturity", "treasury", "yield"}
    ):
        score += 3
    return score + score_added(ask, source, terms)


def weigh_term(term: str) -> float:
    if term in _COMMON:
        return 0.4
    return 0.8 if term in NO_QUANTITIES or term in _GENERIC else 1.2


def score_added(ask: TableAsk, source: DataSource, terms: SourceTerms) -> float:
    """Return the score of data that is there already: of cells or words that the question names."""
    score = 0.0
    if source.table is not None:
        score += 2 * len(find_mentions(ask, source.table))
    elif source.text:
        words = find_terms(source.text[:20_000]).all
        score += 1.5 * len((ask.terms.all - terms.columns.all) & words)
    if source.group == "added" and _NAMES_ADDED.search(ask.question):
        score += 6
    return score


def offers_concept(concept: str, offered: frozenset[str]) -> bool:
    """Whether a source with these concepts may have what a question asks for."""
    if concept in DERIVED and offered.issuperset(DERIVED[concept]):
        return True
    return concept in offered or bool(
        TOPICS.get(concept, frozenset()) & offered or set(RELATED.get(concept, ())) & offered
    )


def score_names(ask: TableAsk, source: DataSource) -> float:
    """Return the score of companies that a question names: of the source that shows them, or that can."""
    score = 0.0
    text = f"{source.title} {source.description}".lower()
    values = {str(parameter.current).upper().partition("-")[0] for parameter in source.parameters}
    coins = find_terms(f"{source.title} . {source.description}").concepts & {"crypto"}
    for ticker in ask.tickers:
        if coins and ticker in COIN_NAMES.values():
            score += 2.5
        elif ticker in values or any(name in text for name in list_aliases(ticker)):
            score += 2
        elif source.has_ticker or source.lists_companies:
            score += 0.75
    for label, value in ((label, value) for parameter in source.parameters for label, value in parameter.options[:300]):
        if len(str(label)) > 3 and str(label).lower() in ask.text and str(value) != "":
            score += 0.5
            break
    return score


def merge_terms(parts: Iterable[Terms]) -> Terms:
    merged = Terms(frozenset(), frozenset())
    for part in parts:
        merged = Terms(merged.concepts | part.concepts, merged.stems | part.stems)
    return merged


def rank_sources(ask: TableAsk, sources: Sequence[DataSource]) -> list[tuple[float, DataSource]]:
    """Return the sources with their scores, the best first; a chosen widget is preferred among equals."""
    scored = [(score_source(ask, source), source) for source in sources]
    ranked = [(score + _GROUP_BONUS.get(source.group, 0.0) if score else 0.0, source) for score, source in scored]
    return sorted(ranked, key=lambda item: -item[0])


def is_definition(ask: TableAsk) -> bool:
    """Whether a question asks what a word means."""
    return _DEFINITION.search(ask.question) is not None and not ask.tickers and not ask.times


def asks_for_data(ask: TableAsk) -> bool:
    """Whether a question asks for figures or facts, and not for a definition or for a chat."""
    if is_definition(ask):
        return False
    has_subject = bool(
        ask.terms.concepts - {"date", "week", "year", "month", "name", "return"}
        or ask.tickers
        or ask.times
        or ask.tenors
    )
    is_question = bool(
        _ASKS_DATA.search(ask.text) or ask.operations & {"latest", "max", "min", "sum", "average", "count", "change"}
    )
    return has_subject and (is_question or len(ask.text.split()) <= 8)
