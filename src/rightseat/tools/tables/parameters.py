"""Values of a data source's parameters that a question names; what it does not name keeps its current value.

A value is taken only if it is plausible: one of the options, a ticker, a date, a period, a number beside its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from rightseat.tools.builtin.table_words import mentions_name
from rightseat.tools.tables.ask import TableAsk, find_tenors
from rightseat.tools.tables.tickers import COIN_NAMES, find_tickers, list_aliases, looks_like_ticker
from rightseat.tools.tables.times import TimePoint, read_time
from rightseat.tools.tables.words import Terms, find_terms, list_phrases, load_lexicon, split_words

MAX_OPTIONS = 300
_TICKER_NAMES = re.compile(r"symbols?|tickers?|stocks?|company|coins?|securit(?:y|ies)|asset|instrument", re.IGNORECASE)
_START_NAMES = re.compile(r"start|from|begin|since|first", re.IGNORECASE)
_END_NAMES = re.compile(r"end|to|until|till|last", re.IGNORECASE)
_LIMIT_NAMES = re.compile(
    r"limit|count|top|max|num\w*|n|rows|periods|size|lookback|results|quarters|years|days|months", re.IGNORECASE
)
_UNIT_AFTER = re.compile(
    r"(?<![\w.])(\d{1,4}|two|three|four|five|six|seven|eight|nine|ten|"
    r"twelve)[\s-]+(?:\w+ )?(?:days?|sessions?|weeks?|months?|quarters?|"
    r"years?|periods?|rows?|results?|entries|items|headlines?|articles?|news|reports?|stocks?|"
    r"companies|names|holdings?|positions?)\b|"
    r"\btop (\d{1,4})\b|\bgo back (\d{1,4})\b|(?<!\d)(\d{1,4})\s*(?:个?交易日|天|周|个月|"
    r"个?季度|年(?!期)|期|条|行|只|家)|前(\d{1,4})"
)
_WORD_NUMBERS_WORDS = """
two three four five six seven eight nine ten
"""
_WORD_NUMBERS = {word: number for number, word in enumerate(_WORD_NUMBERS_WORDS.split(), 2)} | {"twelve": 12}
_INCLUDES = re.compile(
    r"\b(?:includ\w*|incl|with|also|plus|add|show|too|as well)\b|"
    r"包括|包含|含|加上|算上|显示|连同|计入|算进|也算|加进|纳入|一并|带上"
)
_EXCLUDES = re.compile(
    r"\b(?:exclud\w*|without|no|not|except|ignor\w*|leave out|don't|hide)\b|"
    r"不含|不包括|不要|除去|排除|不算|不计|剔除|去掉|扣除"
)
_VERB_NAMES_WORDS = """
include includes including show with use is has only also add display
"""
_VERB_NAMES = frozenset(_VERB_NAMES_WORDS.split())
_REJECTED = re.compile(
    r"\b(?:instead of|rather than|not)\s+((?:the |an? )?[\w/-]+)|(?:而不是|不要|不是)([\u4e00-\u9fffA-Za-z]{1,4})"
)
_INTERVALS = {
    "1d": "daily", "1w": "weekly", "1wk": "weekly", "1mo": "monthly", "1q": "quarterly", "d": "daily", "w": "weekly",
    "1day": "daily", "1week": "weekly", "1month": "monthly", "1h": "hourly", "1y": "annual", "fy": "annual",
}  # fmt: skip
_CADENCES = {
    "daily": re.compile(r"\b(?:daily|day by day|per day|each day)\b|每日|每天|日线|日度"),
    "weekly": re.compile(r"\b(?:weekly|by week|per week|each week)\b|每周|周线|周度"),
    "monthly": re.compile(r"\b(?:monthly|by month|per month|each month)\b|每月|月线|月度"),
    "hourly": re.compile(r"\b(?:hourly|by hour)\b|每小时|小时线"),
    "quarterly": re.compile(r"\b(?:quarterly|by quarter|per quarter|each quarter|quarters?)\b|季度|每季|季报|单季"),
    "annual": re.compile(
        r"\b(?:annual(?:ly)?|yearly|by year|per year|each year|full[- ]year)\b|年度|每年|年报|按年|全年"
    ),
}
_COUNTRIES_WORDS = """
china usa japan germany france uk india brazil canada korea italy spain australia russia mexico euro_area
switzerland norway sweden
"""
_COUNTRIES = frozenset(_COUNTRIES_WORDS.split())
_CURRENCIES = ("usd", "eur", "gbp", "jpy", "cny", "aud", "cad", "chf", "hkd")


MIN_CODE = 5
"""Characters of a code; a shorter one may be a year or a quantity."""


class SourceParameter(Struct, frozen=True, kw_only=True):
    """Parameter of a data source."""

    name: str
    kind: str = ""
    """Type as the client names it: ticker, date, number, boolean, text …"""
    description: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    """Labels and values."""
    current: Any = None
    takes_several: bool = False

    @property
    def is_ticker(self) -> bool:
        if self.kind == "ticker":
            return True
        return not self.options and _TICKER_NAMES.fullmatch(self.name) is not None

    @property
    def is_date(self) -> bool:
        point = read_time(self.current)
        return self.kind == "date" or (not self.options and point is not None and point.is_day)


class ChosenValues(Struct, frozen=True):
    values: dict[str, Any]
    """Values that differ from the current ones."""
    used_words: tuple[str, ...] = ()
    """Words of the question that only name a parameter."""


def choose_values(ask: TableAsk, parameters: Sequence[SourceParameter], *, lists_tickers: bool = False) -> ChosenValues:
    """Return the values that the question names. `lists_tickers`: the rows are companies, so that a ticker in the
    question names a row and no parameter."""
    values: dict[str, Any] = {}
    used: list[str] = []
    dates = [parameter for parameter in parameters if parameter.is_date]
    for parameter in parameters:
        value: Any = None
        if parameter.is_date:
            value = choose_date(ask, parameter, dates)
        elif parameter.is_ticker:
            value = None if lists_tickers else choose_ticker(ask, parameter)
        elif parameter.kind == "boolean" or isinstance(parameter.current, bool):
            value = choose_flag(ask, parameter)
            used += list_flag_words(ask, parameter) if value is not None else []
        elif parameter.options:
            value = choose_option(ask, parameter)
        elif parameter.kind in ("number", "integer") or isinstance(parameter.current, int | float):
            value = choose_number(ask, parameter)
        else:
            value = choose_text(ask, parameter)
        if value is not None and value != parameter.current:
            values[parameter.name] = value
    return ChosenValues(values, tuple(used))


def choose_ticker(ask: TableAsk, parameter: SourceParameter) -> Any:
    """Return the ticker that a question names in place of the current one."""
    current = str(parameter.current or "")
    suffix = current[current.index("-") :] if re.fullmatch(r"[A-Z0-9]+-[A-Z]{3,4}", current) else ""
    named = [add_suffix(ticker, suffix) for ticker in ask.tickers]
    shown = {part.strip().upper() for part in current.split(",")} if current else set()
    others = [ticker for ticker in named if ticker.upper() not in shown]
    if not others or len(others) < len(named):
        return None
    if parameter.options and others[0] not in [value for _, value in parameter.options]:
        return None
    if len(others) > 1:
        return ",".join(others) if parameter.takes_several else None
    return others[0] if looks_like_ticker(others[0]) else None


def add_suffix(ticker: str, suffix: str) -> str:
    """Return a coin with the currency of the current pair: ETH beside BTC-USD is ETH-USD."""
    return ticker + suffix if suffix and "-" not in ticker and ticker in COIN_NAMES.values() else ticker


def choose_date(ask: TableAsk, parameter: SourceParameter, dates: Sequence[SourceParameter]) -> str | None:
    """Return the day that a question names for the only date, or the ends of a range that it names."""
    current = read_time(parameter.current)
    days = [point for point in ask.times if point.month is not None and point.is_day]
    year = current.year if current is not None else None
    full = [TimePoint(point.year or year, None, point.month, point.day) for point in days]
    if not full or any(point.year is None for point in full):
        return None
    if len(dates) == 1 and len(full) == 1:
        return str(full[0])
    if len(dates) == 2 and len(full) == 2 and ask.is_range:
        first, last = sorted(full, key=lambda point: point.order)
        limits = [read_time(other.current) for other in dates]
        if all(limits) and all(limits[0].order <= point.order <= limits[1].order for point in full):  # type: ignore[union-attr]
            return None
        if _START_NAMES.search(parameter.name):
            return str(first)
        return str(last) if _END_NAMES.search(parameter.name) else None
    return None


def choose_number(ask: TableAsk, parameter: SourceParameter) -> Any:
    """Return a number that the question has beside its unit: a limit only if more is asked for than is shown."""
    match = _UNIT_AFTER.search(ask.text)
    if match is None:
        return None
    text = next(filter(None, match.groups()))
    number = int(text) if text.isdigit() else _WORD_NUMBERS.get(text, 0)
    current = parameter.current
    if not number:
        return None
    if _LIMIT_NAMES.fullmatch(parameter.name.rpartition("_")[2]) or _LIMIT_NAMES.fullmatch(parameter.name):
        return number if not isinstance(current, int | float) or number > current else None
    words = find_terms(f"{parameter.name} {parameter.description}")
    return number if words.all & ask.terms.all else None


def choose_flag(ask: TableAsk, parameter: SourceParameter) -> bool | None:
    """Return whether a question switches a parameter such as `include_cash` on or off."""
    words = split_words(parameter.name)
    content = " ".join(word for word in words if word not in _VERB_NAMES)
    terms = find_terms(content)
    if not terms.all or not terms.all <= ask.terms.all:
        return None
    if _EXCLUDES.search(ask.text):
        return False
    has_verb = len(content.split()) < len(words)
    return True if not has_verb or _INCLUDES.search(ask.text) else None


def list_flag_words(ask: TableAsk, parameter: SourceParameter) -> list[str]:
    """Return the words that name a flag, with their Chinese phrases, and the one that switches it."""
    words = split_words(parameter.name)
    switches = [match[0] for pattern in (_EXCLUDES, _INCLUDES) if (match := pattern.search(ask.text))]
    return [
        *words,
        *switches,
        *(phrase for phrase in list_phrases(find_terms(" ".join(words)).concepts) if phrase[0] > "\u2e7f"),
    ]


def choose_option(ask: TableAsk, parameter: SourceParameter) -> Any:
    """Return the option that a question names; None if it names the current one, none or several."""
    rejected = [match[1] or match[2] for match in _REJECTED.finditer(ask.text)]
    text = _REJECTED.sub(" ", ask.text)
    terms = find_terms(_REJECTED.sub(" ", ask.question))
    options = parameter.options[:MAX_OPTIONS]
    matches = [
        (count, value)
        for label, value in options
        if (count := match_option(ask, text, terms, str(label), str(value))) > 0
    ]
    if not matches:
        matches = [(1, value) for label, value in options if has_distinctive_terms(terms, str(label), options)]
    best = max((count for count, _ in matches), default=0)
    values = [value for count, value in matches if count == best]
    if len(values) != 1 or parameter.current in values:
        return choose_period_option(ask, parameter) if not values else None
    return [values[0]] if parameter.takes_several and not rejected else values[0]


def match_option(ask: TableAsk, text: str, terms: Terms, label: str, value: str) -> int:
    """Return how many words of an option the question has; 0 if one is missing."""
    cadence = _INTERVALS.get(value.lower()) or _INTERVALS.get(label.lower())
    for name, pattern in _CADENCES.items():
        if (
            name == cadence
            or name in (label.lower(), value.lower())
            or (value.lower() == "quarter" and name == "quarterly")
        ):
            return 1 if pattern.search(text) else 0
    counts = [2 if value.upper() in ask.tickers or set(find_tenors(f"{label} {value}")) & set(ask.tenors) else 0]
    aliases = {alias for ticker in ask.tickers for alias in list_aliases(ticker)}
    if aliases & {label.lower(), value.lower()}:
        counts.append(2)
    for name in (label, value):
        if len(name) > 2 and mentions_name(text, name.replace("_", " ")) >= 0:
            counts.append(1 + len(name.split()))
        option = find_terms(name)
        # Short codes are no terms: `A or better` is not `AA or better`.
        codes = [word for word in name.split() if len(word) <= 2 and word.isupper()]
        if option.all and option.all <= terms.all and all(code in ask.question.split() for code in codes):
            counts.append(1 + len(option.all))
    return max(counts)


def has_distinctive_terms(terms: Terms, label: str, options: Sequence[tuple[str, Any]]) -> bool:
    """Whether the question has what one option alone is called: Brent, of `Brent crude` and `WTI crude`."""
    others = frozenset().union(*(find_terms(str(other)).all for other, _ in options if str(other) != label))
    own = find_terms(label).all - others
    return bool(own) and own <= terms.all


def choose_period_option(ask: TableAsk, parameter: SourceParameter) -> Any:
    """Return the quarterly or annual option where the question names a quarter or a year and the other is shown."""
    if not ask.times:
        return None
    kinds = {classify_cadence(f"{label} {value}"): value for label, value in parameter.options}
    current = next((kind for kind, value in kinds.items() if value == parameter.current), "")
    if all(point.quarter for point in ask.times) and current == "annual":
        return kinds.get("quarterly")
    is_year = all(not point.quarter and not point.month for point in ask.times)
    return kinds.get("annual") if is_year and current == "quarterly" else None


def classify_cadence(text: str) -> str:
    return next((name for name, pattern in _CADENCES.items() if pattern.search(text.lower())), "")


def choose_text(ask: TableAsk, parameter: SourceParameter) -> str | None:
    """Return a value of the same kind as the current one: a code, a period, a country, a currency pair, or the name
    beside the parameter's own."""
    current = str(parameter.current or "")
    if code := choose_code(ask, current):
        return code
    if looks_like_ticker(current) and "-" in current and ask.tickers:
        value = choose_ticker(ask, parameter)
        return value if isinstance(value, str) else None
    point = read_time(current)
    if point is not None and len(ask.times) == 1:
        return format_like(current, point, ask.times[0])
    concepts = find_terms(current).concepts
    if countries := concepts & _COUNTRIES:
        named = sorted(ask.terms.concepts & _COUNTRIES - countries)
        return name_like(current, named[0]) if len(named) == 1 else None
    if re.fullmatch(r"[A-Za-z]{3}[/-]?[A-Za-z]{3}", current) and {current[:3].lower(), current[-3:].lower()} <= set(
        _CURRENCIES
    ):
        return choose_pair(ask, current)
    match = re.search(
        rf"\b{re.escape(parameter.name.replace('_', ' '))}\s+(?:is |= ?|: ?)?[\"“]?([A-Z]\w+)", ask.question
    )
    match = match or re.search(rf"\b([A-Z]\w+)\s+{re.escape(parameter.name.replace('_', ' '))}\b", ask.question)
    return match[1] if match and current and find_tickers(match[1]) == [] and match.start() > 0 else None


def choose_code(ask: TableAsk, current: str) -> str | None:
    """Return the only other code of the question with the shape of the current one, such as 005827 beside 110022."""
    if len(current) < MIN_CODE or not current.isascii() or not current.isalnum() or not any(map(str.isdigit, current)):
        return None
    words = re.findall(rf"(?<![A-Za-z0-9.])[A-Za-z0-9]{{{len(current)}}}(?![A-Za-z0-9]|\.[0-9])", ask.question)
    codes = {word for word in words if find_shape(word) == find_shape(current)} - {current}
    return codes.pop() if len(codes) == 1 else None


def find_shape(code: str) -> str:
    return "".join("9" if char.isdigit() else "A" for char in code)


def format_like(current: str, point: TimePoint, asked: TimePoint) -> str | None:
    """Return a time in the form of the current value; None where it lacks what the form has."""
    if point.quarter and asked.quarter and asked.year:
        return re.sub(r"\d{4}", str(asked.year), re.sub(r"(?<=[Qq])\d", str(asked.quarter), current))
    if point.quarter is None and point.month is None and asked.year and not asked.month and not asked.quarter:
        return re.sub(r"\d{4}", str(asked.year), current)
    if point.month and not point.day and asked.month and asked.year and not asked.day:
        return f"{asked.year}-{asked.month:02}" if re.fullmatch(r"\d{4}-\d\d", current) else None
    return None


def name_like(current: str, concept: str) -> str | None:
    """Return a country's name in the style of the current value; codes are left alone."""
    if len(current) <= 3:
        return None
    phrase = next(
        (words for words, name in load_lexicon().english.items() if name == concept and len(words[0]) > 3), None
    )
    if phrase is None:
        return None
    return "_".join(phrase) if "_" in current or current.islower() else " ".join(phrase).title()


def choose_pair(ask: TableAsk, current: str) -> str | None:
    """Return the currency pair of a question in its order, in the form of the current one."""
    lexicon = load_lexicon()
    places = {}
    for code in _CURRENCIES:
        names = [code, *(" ".join(words) for words, name in lexicon.english.items() if name == code)]
        names += [han for han, name in lexicon.chinese.items() if name == code]
        found = [place for name in names if (place := ask.text.find(name)) >= 0]
        if found and code in ask.terms.concepts:
            places[code] = min(found)
    named = sorted(places, key=lambda code: places[code])
    separator = current[3:-3]
    first, second = current[:3].lower(), current[-3:].lower()
    if len(named) == 1 and named[0] not in (first, second):
        named = [named[0], second]
    if len(named) != 2:
        return None
    pair = f"{named[0]}{separator}{named[1]}"
    return pair if current.islower() else pair.upper()


def list_words(parameters: Iterable[SourceParameter]) -> str:
    """Return the names and options of parameters as a text, by which sources are ranked."""
    parts = []
    for parameter in parameters:
        parts += [parameter.name.replace("_", " "), parameter.description]
        parts += [str(label) for label, _ in parameter.options[:MAX_OPTIONS]]
    return " . ".join(parts)
