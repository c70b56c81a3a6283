"""Rows and columns of a table that a question is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct

from rightseat.tools.builtin.table_words import mentions_name
from rightseat.tools.tables.ask import TableAsk, read_tenor
from rightseat.tools.tables.concepts import RELATED
from rightseat.tools.tables.rows import RowColumn, RowTable, make_table
from rightseat.tools.tables.tickers import list_aliases
from rightseat.tools.tables.times import TimePoint, find_times
from rightseat.tools.tables.words import Terms, count_related, find_terms, load_lexicon, split_words, stem_word

MAX_DISTINCT = 5000
MAX_NAMED = 60
LONG_TEXT = 28
"""Characters from which on a text cell is a sentence, which is searched by its words."""
_WEAK_TERMS_WORDS = """
actual amount value total reported level index close adjusted
"""
_WEAK_TERMS = frozenset(_WEAK_TERMS_WORDS.split())
_QUALIFIERS_WORDS = """
estimate previous low high average core surprise growth change change_percent margin ytd forward_pe
"""
QUALIFIERS = frozenset(_QUALIFIERS_WORDS.split())
_MEASURES_WORDS = """
last date amount value price change open close high low
"""
_MEASURES = frozenset(_MEASURES_WORDS.split())
# Concepts that name rows, times and sources, and no quantity.
_NO_QUANTITIES_WORDS = """
company symbol name issuer date period year quarter month week day analyst holding news title source event calendar
insider transaction filing institution segment product category client option put call country region city currency
pair crypto bond treasury commodity index sector industry technology energy health_care financials utilities
industrials materials real_estate staples discretionary communication china usa japan germany france uk india brazil
canada korea italy spain australia russia mexico euro_area switzerland norway sweden usd eur gbp jpy cny aud cad chf
hkd gold silver copper oil brent natural_gas wheat corn ceo cfo meeting fed ecb boe boj snb pboc central_bank
profile metrics export import tariff curb merger lawsuit layoff chip ai
earnings statement balance_sheet executive importance medium buy_rating actual core previous last high low change
return growth value amount rank bought sold maturity expiry rating estimate surprise change_percent ytd one_year
gain weight spread upgrade downgrade reiterate overdue unpaid special regular pending
"""
NO_QUANTITIES = frozenset(_NO_QUANTITIES_WORDS.split())


class Mention(Struct, frozen=True):
    """Cells of a column that the question names."""

    column: RowColumn
    cells: tuple[str, ...]
    rows: frozenset[int]
    is_partial: bool = False


def score_column(ask: TableAsk, column: RowColumn) -> float:
    """Return how well a column's name fits the words of the question; 0 if nothing of it is asked for."""
    terms = column.terms
    shared = terms.concepts & ask.terms.concepts
    stems = terms.stems & ask.terms.stems
    score = 3.0 * len(shared) + 2.0 * len(stems) + score_chinese_name(ask, column)
    if score == 0:
        if ask.compared:
            places = [place for place, concept in enumerate(ask.compared) if concept in terms.concepts]
            return 2.0 - 0.1 * places[0] if places else 0.0
        return score_related(ask.terms.concepts, terms.concepts)
    if ask.compared and terms.concepts & set(ask.compared):
        score += 1
    missing = terms.all - shared - stems
    return score - sum(1.2 if term in QUALIFIERS else 0.1 if term in _WEAK_TERMS else 0.5 for term in missing)


def score_related(wanted: Iterable[str], offered: frozenset[str]) -> float:
    """Return the score of a column that only stands for what is asked for: the first one that may is the best."""
    places = [RELATED[concept].index(other) for concept in wanted for other in offered & {*RELATED.get(concept, ())}]
    return 1.0 - 0.1 * min(places) if places else 0.0


def score_chinese_name(ask: TableAsk, column: RowColumn) -> float:
    """Return the score of a Chinese name that stands in the question, whole or for the most part."""
    name = column.name.strip()
    if not name or name[0] < "\u2e80":
        return 0.0
    if name in ask.text:
        return 4.0
    return 2.0 if len(name) > 2 and (name[:2] in ask.text or name[-2:] in ask.text) else 0.0


def choose_columns(ask: TableAsk, columns: Sequence[RowColumn]) -> list[RowColumn]:
    """Return the columns that fit the question best; none if no column fits."""
    # `core inflation` is not the column of inflation where another one is core.
    qualifiers = ask.terms.concepts & QUALIFIERS & frozenset().union(*(column.terms.concepts for column in columns))
    scores = [
        (
            score_column(ask, column)
            - (0 if column.terms.all <= ask.terms.all else len(qualifiers - column.terms.concepts)),
            column,
        )
        for column in columns
    ]
    best = max((score for score, _ in scores), default=0.0)
    return [column for score, column in scores if score >= best - 0.05] if best > 0 else []


def find_mentions(ask: TableAsk, table: RowTable) -> list[Mention]:
    """Return the text cells that the question names, by column; partial names count only where none is whole."""
    named = (find_column_mention(ask, column, table) for column in table.texts)
    return [mention for mention in named if mention is not None]


def find_column_mention(ask: TableAsk, column: RowColumn, table: RowTable) -> Mention | None:
    places: dict[str, list[int]] = {}
    for row, cell in enumerate(column.cells):
        if isinstance(cell, str) and cell and (len(places) < MAX_DISTINCT or cell in places):
            places.setdefault(cell, []).append(row)
    if not places or sum(map(len, places)) > LONG_TEXT * len(places):
        return search_sentences(ask, column, places)
    whole = [cell for cell in places if names_cell(ask, cell)]
    named = [find_terms(cell).concepts for cell in whole]
    whole += [cell for cell in places if shares_concepts(ask, cell) and find_terms(cell).concepts not in named]
    # `apple pie` names one row, although there is a row `apple` too.
    whole = [cell for cell in whole if not any(cell != other and cell.lower() in other.lower() for other in whole)]
    chosen = whole or find_partial(ask, list(places), table)
    if not chosen or len(chosen) > MAX_NAMED:
        return None
    rows = frozenset(row for cell in chosen for row in places[cell])
    return Mention(column, tuple(chosen), rows, is_partial=not whole)


def names_cell(ask: TableAsk, cell: str) -> bool:
    """Whether the question names a cell: as it is, by its concept, ticker, company or maturity."""
    if cell.upper() in ask.tickers or any(cell.lower() in list_aliases(ticker) for ticker in ask.tickers):
        return True
    if ask.tenors and (tenor := read_tenor(cell)):
        return tenor in ask.tenors
    if len(cell) <= 2 and cell.isascii():
        return cell.isupper() and cell in split_original(ask.question) and find_terms(cell).concepts != {"usa"}
    return mentions_name(ask.text, cell) >= 0


def shares_concepts(ask: TableAsk, cell: str) -> bool:
    """Whether a cell is made of concepts that the question has: Technology, for 科技 or tech."""
    if any(char.isdigit() for char in cell):
        return False
    terms = find_terms(cell)
    return bool(terms.concepts) and not terms.stems and terms.concepts <= ask.terms.concepts - _MEASURES


def split_original(question: str) -> set[str]:
    return set("".join(char if char.isalnum() else " " for char in question).split())


def find_partial(ask: TableAsk, cells: list[str], table: RowTable) -> list[str]:
    """Return the cells of which the question has a word that no other cell has, such as a company's first name."""
    lexicon = load_lexicon()
    names = {word for column in table.columns for word in split_words(column.name)}
    asked = [
        word
        for word in split_words(ask.text)
        if len(word) >= 4 and word not in names and (word,) not in lexicon.english
    ]
    chosen: dict[str, None] = {}
    for word in dict.fromkeys(asked):
        having = [cell for cell in cells if any(starts_alike(word, part) for part in split_words(cell))]
        if len(having) == 1:
            chosen[having[0]] = None
    chosen |= dict.fromkeys(find_chinese_partial(ask, cells, {column.name for column in table.columns}))
    return list(chosen)


def find_chinese_partial(ask: TableAsk, cells: list[str], columns: set[str]) -> list[str]:
    """Return the cells whose first or last two characters stand in the question, such as 平安 of 中国平安."""
    chinese = load_lexicon().chinese
    found = []
    for cell in cells:
        parts = [part for part in (cell[:2], cell[-2:]) if len(cell) > 2 and part[0] > "\u2e7f" and part[1] > "\u2e7f"]
        unique = [part for part in parts if part in ask.text and sum(part in other for other in cells) == 1]
        if any(part not in chinese and not any(part in column for column in columns) for part in unique):
            found.append(cell)
    return found


def starts_alike(word: str, part: str) -> bool:
    """Whether two words are one, its plural, its short form or its past tense."""
    return (
        word == part
        or word.removesuffix("s") == part.removesuffix("s")
        or (len(word) >= 4 and part.startswith(word))
        or word.removesuffix("ern") == part
        or (len(word) >= 5 and stem_word(word) == stem_word(part))
    )


def search_sentences(ask: TableAsk, column: RowColumn, places: dict[str, list[int]]) -> Mention | None:
    """Return the sentences of a column that have the most words of the question."""
    generic = {"news", "title", "source", "company", "date", "event"}
    wanted = Terms(ask.terms.concepts - generic, ask.terms.stems)
    tickers = {ticker.lower() for ticker in ask.tickers} | {
        name for ticker in ask.tickers for name in list_aliases(ticker)
    }
    stems = {stem for stem in wanted.stems if stem not in tickers}
    scores: dict[str, int] = {}
    for cell in places:
        terms = find_terms(cell)
        scores[cell] = 2 * len(terms.concepts & wanted.concepts) + 2 * len(terms.stems & stems)
    best = max(scores.values(), default=0)
    if best < 2:
        return None
    chosen = [cell for cell, score in scores.items() if score == best]
    if len(chosen) > max(1, len(places) // 2):
        return None
    return Mention(column, tuple(chosen), frozenset(row for cell in chosen for row in places[cell]), is_partial=True)


def filter_by_number(ask: TableAsk, table: RowTable) -> tuple[RowColumn, frozenset[int]] | None:
    """Return the rows of a number that names them, such as a strike price."""
    for column in table.columns:
        if not column.is_number or not (column is table.label or score_column(ask, column) >= 2):
            continue
        values = [number for number in column.numbers if number is not None]
        if len(set(values)) * 2 < len(values):
            continue
        rows = frozenset(
            row for row, number in enumerate(column.numbers) if number is not None and number in ask.numbers
        )
        if rows:
            return column, rows
    return None


def filter_by_limit(ask: TableAsk, column: RowColumn, rows: Iterable[int]) -> list[int]:
    limit = ask.limit
    if limit is None:
        return list(rows)

    def passes(number: Decimal | None) -> bool:
        if number is None:
            return False
        if number == limit.number:
            return limit.includes
        return (number < limit.number) == limit.is_upper

    return [row for row in rows if passes(column.numbers[row])]


def choose_time_column(ask: TableAsk, table: RowTable) -> RowColumn | None:
    """Return the column of times that a question is about: the one that it names, else one with its times, else the
    first."""
    columns = table.times
    named = [column for column in columns if score_column(ask, column) >= 2.4]
    if len(named) == 1 and not ask.times:
        return named[0]
    for column in columns:
        if ask.times and all(match_time(column, point) for point in ask.times):
            return column
    return columns[0] if columns else None


def match_time(column: RowColumn, asked: TimePoint) -> list[int]:
    return [row for row, point in enumerate(column.times) if point is not None and asked.covers(point)]


def get_order(time: RowColumn, row: int) -> tuple[int, int, int]:
    point = time.times[row]
    return point.order if point is not None else (0, 0, 0)


def melt_periods(table: RowTable) -> RowTable:
    """Return a table whose columns are periods (`revenue_2023`, `2024`) with a row for each period instead; other
    tables unchanged."""
    if table.times:
        return table
    periods: dict[str, TimePoint] = {}
    bases: dict[str, str] = {}
    for column in table.columns:
        spaced = column.name.replace("_", " ")
        times = find_times(spaced)
        if column.is_number and len(times) == 1:
            periods[column.name] = times[0].point
            bases[column.name] = (
                " ".join((spaced[: times[0].start] + spaced[times[0].end :]).split()).replace(" ", "_") or "value"
            )
    if len(set(periods.values())) < 2:
        return table
    kept = [column for column in table.columns if column.name not in periods]
    points = sorted(set(periods.values()), key=lambda point: point.order)
    names = list(dict.fromkeys(bases.values()))
    size = table.size
    columns = [
        RowColumn(
            column.name,
            column.kind,
            column.cells * len(points),
            column.numbers * len(points),
            column.times,
            column.terms,
        )
        for column in kept
    ]
    stamps = tuple(point for point in points for _ in range(size))
    columns.append(RowColumn("period", "time", tuple(map(str, stamps)), times=stamps, terms=find_terms("period")))
    by_place = {(bases[name], point): name for name, point in periods.items()}
    originals = {column.name: column for column in table.columns}
    for name in names:
        sources = [originals[by_place[name, point]] if (name, point) in by_place else None for point in points]
        cells = tuple(cell for source in sources for cell in (source.cells if source else (None,) * size))
        numbers = tuple(number for source in sources for number in (source.numbers if source else (None,) * size))
        columns.append(RowColumn(name, "number", cells, numbers, terms=find_terms(name), is_melted=True))
    return make_table(columns, size * len(points))


def find_cell_concepts(table: RowTable, most: int = 500) -> frozenset[str]:
    """Return the concepts of the first text cells."""
    cells = {cell for column in table.texts for cell in column.cells[:most] if isinstance(cell, str)}
    return frozenset().union(*(find_terms(cell).concepts for cell in cells))


def list_missing_quantities(ask: TableAsk, table: RowTable, known: Terms) -> list[str]:
    """Return the quantities of a question that neither a column nor the source's description has."""
    have = known.concepts.union(*(column.terms.concepts for column in table.columns))
    cells = find_cell_concepts(table)
    missing = ask.terms.concepts - NO_QUANTITIES - have - cells
    return sorted(concept for concept in missing if not count_related([concept], have))
