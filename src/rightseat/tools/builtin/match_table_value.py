"""Question about a table: the rows that it names and the column of numbers that it is about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from msgspec import Struct

from rightseat.tools.builtin.dates import MONTHS
from rightseat.tools.builtin.match_table_sql import literal, quote
from rightseat.tools.builtin.table_text import TypedColumn
from rightseat.tools.builtin.table_words import (
    ARTICLES,
    ASKS_PRICE,
    AUXILIARIES,
    BEFORE_QUANTITIES,
    BY_SPEED,
    CONDITION_STEMS,
    GENERIC_NAMES,
    HAN_CONDITIONS,
    HAN_MEASURE,
    HAN_UNITS,
    HAN_VERBS,
    ID_NAMES,
    MONEY_NAMES,
    PLAIN_HAN,
    PLAIN_STEMS,
    PREPOSITIONS,
    RESULT_NAMES,
    SPEED_NAMES,
    SUBJECTS,
    TIME_NAMES,
    WINS,
    find_families,
    has_han,
    remove_family_words,
    split_stems,
    stem,
)

_HAN = re.compile(r"[\u3400-\u9fff]")


class TableQuestion(Struct, frozen=True):
    """Question about a table, with what its words name."""

    ask: str
    columns: list[TypedColumn]
    label: TypedColumn
    value: TypedColumn | None
    """The column of numbers that the question is about; None if that is not certain."""
    mentions: list[tuple[TypedColumn, str]]
    """Text cells that the question names, in its order."""

    @property
    def words(self) -> str:
        """The question without the cells that it names: a person may be called Max."""
        text = self.ask
        for _, cell in self.mentions:
            for name in sorted(list_names(cell), key=len, reverse=True):
                text = text.replace(name.lower(), " ~ ")
        return text


def normalize_name(column: TypedColumn) -> str:
    """Return the name of a column in lower case, without underscores and units in brackets."""
    return re.sub(r"[(（\[][^)）\]]*[)）\]]", "", column.name.lower()).replace("_", " ").strip()


def list_names(cell: str) -> list[str]:
    """Return the names of a cell: `Mar` is also called March."""
    number = MONTHS.get(cell.lower())
    return [cell, *(name for name, month in MONTHS.items() if month == number and name != "may")] if number else [cell]


def find_label(columns: Sequence[TypedColumn]) -> TypedColumn:
    """Return the column that names the rows: the first text, else the first date, else the first column."""
    for kind in ("TEXT", "DATE"):
        for column in columns:
            if column.kind == kind and len(set(column.cells)) > len(column.cells) // 2:
                return column
    return next((column for column in columns if column.kind == "TEXT"), columns[0])


def find_value(ask: str, columns: Sequence[TypedColumn], label: TypedColumn) -> TypedColumn | None:
    """Return the column of numbers that the question is about; None if that is not certain."""
    numbers = [column for column in columns if column.is_number and column is not label]
    useful = [column for column in numbers if not ID_NAMES.fullmatch(column.name.lower())] or numbers
    if not useful:
        return None
    if WINS.search(ask):
        return find_result_column(useful)
    if BY_SPEED.search(ask):
        return find_speed_column(useful)
    families = find_families(ask)
    scores = [score_column(ask, families, column) for column in useful]
    best = max(scores)
    if best == 0 and "最好" in ask:
        return None
    if best > 0:
        return useful[scores.index(best)] if scores.count(best) == 1 else None
    prices = [column for column in useful if find_families(column.name.lower()) & find_families("price")]
    if ASKS_PRICE.search(ask) and prices:
        return prices[0] if len(prices) == 1 else None
    if len(useful) > 1:
        return None
    only = useful[0]
    if only.name.lower() in GENERIC_NAMES:
        return only
    return only if not families and (is_plain(ask, columns) or has_only_verbs(ask, columns, only)) else None


def find_result_column(columns: Sequence[TypedColumn]) -> TypedColumn | None:
    """Return the column that decides who has won: points, else the only score, time or number of votes."""
    named = [[column for column in columns if names.fullmatch(normalize_name(column))] for names in RESULT_NAMES]
    found = next(filter(None, named), [])
    return found[0] if len(found) == 1 else None


def find_speed_column(columns: Sequence[TypedColumn]) -> TypedColumn | None:
    """Return the only column of speeds or times; None beside a distance, as the speed is their ratio."""
    if any(find_families(column.name.lower()) & find_families("distance") for column in columns):
        return None
    measured = [column for column in columns if SPEED_NAMES.search(normalize_name(column))]
    return measured[0] if len(measured) == 1 else None


def is_by_speed(question: TableQuestion) -> bool:
    """Whether the one who is first has the lowest number: the fastest runner has the shortest time."""
    is_time = question.value is not None and TIME_NAMES.search(normalize_name(question.value))
    return bool(is_time) and bool(BY_SPEED.search(question.words) or WINS.search(question.words))


def has_only_verbs(ask: str, columns: Sequence[TypedColumn], value: TypedColumn) -> bool:
    """Whether the words that nothing explains are verbs, which say what a column such as `laps` counts. A column of
    ages or prices counts nothing that is done."""
    if find_families(f"{value.name.lower()} {value.unit.lower()}"):
        return False
    if has_han(ask):
        return is_plain(HAN_VERBS.sub("", ask), columns)
    known = list_known_stems(columns)
    # The name of a person is a subject too: `did Kane swim` has two unknown words, and only one is a verb.
    subjects = SUBJECTS | split_stems(" ".join(column.name for column in columns)) | list_cell_stems(columns)
    words = re.findall(r"[a-z]+", ask)
    unknown = [
        (before, word) for before, word in itertools.pairwise(["", *words]) if len(word) > 1 and is_unknown(word, known)
    ]
    return all(before in SUBJECTS or bool(split_stems(before) & subjects) for before, word in unknown) and not any(
        word.endswith("est") for _, word in unknown
    )


def list_known_stems(columns: Sequence[TypedColumn]) -> frozenset[str]:
    words = re.findall(r"[a-z]+", " ".join(column.name.lower() for column in columns))
    # `days` is known by a column `day`, which carries no meaning elsewhere.
    names = frozenset(stem(word) for word in words) | split_stems(" ".join(words))
    return names | PLAIN_STEMS | list_cell_stems(columns)


def is_unknown(word: str, known: frozenset[str]) -> bool:
    return bool(split_stems(word) - known)


def holds_money(column: TypedColumn) -> bool:
    """Whether a column of numbers may hold prices or other amounts of money."""
    if not column.is_number or normalize_name(column) in GENERIC_NAMES:
        return column.is_number
    name = f"{column.name.lower()} {column.unit.lower()}"
    money = find_families("price spent revenue profit salary sales")
    return bool(find_families(name) & money or MONEY_NAMES.search(name))


def list_han_parts(name: str) -> list[str]:
    """Return a Chinese name and its first word; empty for other names and short ones."""
    return [name, name[:2]] if len(name) > 2 and len(_HAN.findall(name[:3])) == 3 else []


def has_unknown_han(question: TableQuestion) -> bool:
    """Whether a Chinese question has a person, a time or a quantity that the table lacks: 小王, 上午, 多少利润."""
    value, ask = question.value, question.words
    texts = [column.name for column in question.columns]
    texts += [str(cell) for column in question.columns if column.kind == "TEXT" for cell in column.cells if cell]
    if value is None or not has_han(ask):
        return False
    texts += list_han_parts(value.name.lower())
    for text in sorted(texts, key=len, reverse=True):
        ask = ask.replace(text.lower(), "~")
    if HAN_CONDITIONS.search(ask):
        return True
    name = f"{value.name.lower()} {value.unit.lower()}"
    if any(unit.search(ask) and not names.search(name) for unit, names in HAN_UNITS):
        return True
    asked = ask.partition("多少")[2].replace("多少", "").replace("钱", "")
    families = find_families(asked)
    if families and not families & find_families(name):
        return True
    if value.name.lower() in question.ask:
        return False
    rest = PLAIN_HAN.sub(" ", HAN_VERBS.sub(" ", remove_family_words(ask)))
    return any(len(run) > 1 for run in rest.replace("~", " ").split())


def has_unknown_condition(ask: str, columns: Sequence[TypedColumn]) -> bool:
    """Whether the question has a condition or a quantity that no cell and no column explains: `in May` or `the most
    assists`, over a table of players and goals; also a ratio of two columns, `goals per game`."""
    if re.search(r"\bcosts?\b|多少钱", ask) and not any(map(holds_money, columns)):
        return True
    known = list_known_stems(columns) | CONDITION_STEMS
    label = find_label(columns)
    numbers = split_stems(" ".join(column.name for column in columns if column.is_number and column is not label))
    words = [word for word in re.findall(r"[a-z]+", ask) if word not in ARTICLES]
    for before, word in itertools.pairwise(words):
        if before == "per" and split_stems(word) & numbers:
            return True
        is_stated = before in PREPOSITIONS | BEFORE_QUANTITIES | AUXILIARIES and word not in SUBJECTS
        if is_stated and is_unknown(word, known) and not find_families(word):
            return True
    return False


def is_plain(ask: str, columns: Sequence[TypedColumn]) -> bool:
    """Whether the question has no word that neither the table nor the operations explain."""
    if has_han(ask):
        texts = [column.name for column in columns]
        texts += [str(cell) for column in columns if column.kind == "TEXT" for cell in column.cells if cell]
        for text in sorted(texts, key=len, reverse=True):
            ask = ask.replace(text.lower(), "")
        return len(PLAIN_HAN.sub("", ask)) < 2
    return not any(len(stem) > 1 for stem in split_stems(ask) - list_known_stems(columns))


def list_cell_stems(columns: Sequence[TypedColumn]) -> frozenset[str]:
    texts = [str(cell) for column in columns if column.kind == "TEXT" for cell in column.cells]
    return split_stems(" ".join(name for text in texts for name in list_names(text)))


def score_column(ask: str, families: frozenset[str], column: TypedColumn) -> int:
    name = column.name.lower()
    shared = split_stems(name) & split_stems(ask)
    direct = 3 * len(shared) + (4 if has_han(name) and name in ask else 0)
    # 多少页 asks for 页数.
    measure = HAN_MEASURE.search(ask)
    direct += 2 if measure and re.match(rf"{measure[1]}[数量]", name) else 0
    # 加班 means 加班小时.
    direct += 2 if name not in ask and list_han_parts(name) and name[:2] in ask else 0
    related = 2 * len(families & find_families(f"{name} {column.unit.lower()}"))
    # `units` is meant by `how many units`, although there is a `unit price`.
    whole = 1 if shared and shared == split_stems(name) else 0
    return direct + related + whole


def write_filter(question: TableQuestion, *, other_than: TypedColumn | None = None) -> str | None:
    """Return the condition of the named cells, one for each column; None if the names contradict it."""
    columns = [column for column, _ in question.mentions]
    if len({column.name for column in columns}) != len(columns) or (other_than is not None and other_than in columns):
        return None
    return " AND ".join(f"{quote(column.name)} = {literal(cell)}" for column, cell in question.mentions)
