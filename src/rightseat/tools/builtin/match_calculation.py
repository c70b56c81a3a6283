"""Recognizer of calculations: arguments for `calculate` where a person's whole question is one, in English or Chinese.

Every pattern matches the whole question, so a text that merely has numbers gets nothing. Relative dates stay
expressions, which the tool resolves when it runs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

from rightseat.tools.builtin.dates import FIXED_HOLIDAYS, LUNAR_HOLIDAYS, MONTHS, WEEKDAYS, ZONE_BY_CITY, split_date
from rightseat.tools.builtin.expression import SPELLINGS, CalculationError, UndefinedResult, compute
from rightseat.tools.builtin.numerals import replace_english_numerals
from rightseat.tools.builtin.units import find_unit

MAX_QUESTION = 160
_HAN = re.compile(r"[\u3400-\u9fff]")
_OPENINGS = re.compile(
    r"^(?:(?:please|hi|hello|hey|ok|okay|so|and|now|well|thanks|quick question|just)\b[\s,.!:]*|"
    r"(?:can|could|would|will) you (?:please )?|"
    r"(?:i (?:want|need|would like|'d like) (?:you )?to (?:know|calculate|compute|find out|find) )|"
    r"(?:do you know|tell me|give me|show me|help me(?: to)?|let me know)\b[\s,:]*|"
    r"(?:calculate|compute|work out|evaluate|solve|figure out|find)\b[\s,:]*(?:for me\b)?[\s,:]*)+"
)
_ENDINGS = re.compile(r"(?:[\s,]*(?:please|thanks|thank you|for me|exactly|roughly|approximately))*[\s?!.]*$")
_ASKS = r"(?:what(?:'s| is| are| does| do| would| will| was)|whats|how much(?:'s| is| are| does| do| would| will)|how many is)"
_ASK = re.compile(rf"^{_ASKS}(?: be)?\s+(?:the (?:result|answer|value|total|outcome)(?: of| to| for)\s+)?(?:the\s+)?")
_EQUALS = re.compile(r"\s*(?:=|equals?|equal to|make|makes|come to|comes to|be|give|gives)\s*(?:what|how much)?\s*$")
_N = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_LIST = rf"{_N}%?(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+){_N}%?)+"
# Pairs that people write for something else than a division.
_NAMES = frozenset(("9/11", "7/11", "24/7", "50/50", "20/20", "4x4", "360/365"))
_CURRENCY_WORDS = re.compile(r"(?<=\d)\s*(?:dollars?|euros?|bucks|usd|eur|gbp|quid|yuan|rmb|cents)\b")

# Word forms of operators, replaced in this order.
_OPERATORS = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\b(?:raised )?to the (\d+)(?:st|nd|rd|th) power\b", r"^\1"),
        (r"\b(?:raised )?to the power(?: of)?\b|\braised to\b", "^"),
        (r"\bmultiplied (?:by|with)\b|\btimes\b|(?<=[\d)])\s*x\s*(?=[\d(])", "*"),
        (r"\bdivided by\b|(?<=\d)\s+over\s+(?=\d)", "/"),
        (r"\bplus\b|\badded to\b", "+"),
        (r"\bminus\b|\btake away\b|(?<=\d)\s+less\s+(?=\d)", "-"),
        (r"\s*\bsquared\b", "^2"),
        (r"\s*\bcubed\b", "^3"),
        (r"\s*\bper ?cent\b", "%"),
        (r"\boff of\b", "off"),
        (r"\b(?:the )?(?:square root|sqrt|root) of\b", "√"),
        (rf"\b(?:the )?(?:cube|cubic|third) root of ({_N})", r"cbrt(\1)"),
        (rf"\b(?:the )?factorial of (\d+)|\b(\d+) factorial\b", lambda match: f"factorial({match[1] or match[2]})"),
        (r"\bhalf (?:of )?(?=[\d(√])", "0.5 * "),
        (r"\b(?:a|1) (?:quarter|fourth) of\b", "0.25 *"),
        (r"\b3 (?:quarters|fourths) of\b", "0.75 *"),
        (r"\b(?:a|1) third of\b", "(1/3) *"),
        (r"\b(?:a|1) fifth of\b", "0.2 *"),
        (r"\b(?:a|1) tenth of\b", "0.1 *"),
        (r"\b(?:double|twice)\b", "2 *"),
        (r"\b(?:triple|thrice)\b", "3 *"),
        (r"\bmodulo\b", "mod"),
        (rf"\b(sin|cos|tan|ln|log|sqrt)(?: of)? ({_N})( ?(?:degrees|°))?", r"\1(\2\3)"),
        (r" ?degrees\b", "°"),
    )
)  # fmt: skip
_VOCABULARY = re.compile(
    r"(?:[\d.,\s+*/%^()√°×÷−–-]|!|\b(?:of|off|mod|sqrt|cbrt|factorial|sin|cos|tan|ln|log|pi|abs|round|min|max|sum|avg)\b)+"
)
_OPERATION = re.compile(r"[+*/^√×÷!]|[\d)%]\s*[-−–]\s*[\d(]|%\s*(?:of|off)\b|\bmod\b|[a-z]\(|%\s*\d")


def match_calculation(question: str) -> dict[str, str] | None:
    """Return the arguments for `calculate` if the whole question is a calculation; else None."""
    text = unicodedata.normalize("NFKC", question.translate(SPELLINGS)).strip()
    if not text or len(text) > MAX_QUESTION or "\n" in text:
        return None
    if _HAN.search(text):
        from rightseat.tools.builtin.match_chinese import match_chinese_calculation

        expression = match_chinese_calculation(text)
    else:
        expression = match_english(text)
    return {"expression": expression} if expression else None


def match_english(text: str) -> str | None:
    core = _OPENINGS.sub("", " ".join(text.lower().replace("’", "'").split()))
    core = core.rstrip("? ") if re.search(r"\d!\??$", core) else _ENDINGS.sub("", core)
    core = re.sub(r"^what (\S.*\d.*) (?:is|makes|equals|are)$", r"what is \1", core)
    for rule in (match_time, match_dates):
        if expression := rule(core):
            return expression
    asks = bool(_ASK.match(core)) or core != text.lower().strip().rstrip("?. ")
    core = replace_english_numerals(_EQUALS.sub("", _ASK.sub("", core)))
    for convert in (match_conversion, match_phrases):
        if expression := convert(core):
            return expression
    return match_arithmetic(core, is_bare=not asks)


def is_expression(text: str) -> bool:
    """Whether `calculate` can read the expression; dividing by zero is an answer too."""
    try:
        compute(text, lambda: datetime(2024, 1, 1, tzinfo=UTC))
    except UndefinedResult:
        return True
    except CalculationError:
        return False
    return True


def match_arithmetic(core: str, *, is_bare: bool) -> str | None:
    """Return the expression that consists of numbers and operators, in signs or words."""
    core = _CURRENCY_WORDS.sub("", re.sub(r"[$€£¥](?=\d)", "", core)).strip()
    if core.replace(" ", "") in _NAMES:
        return None
    spelled = core
    for pattern, sign in _OPERATORS:
        spelled = pattern.sub(sign, spelled)
    spelled = " ".join(spelled.split())
    if not _VOCABULARY.fullmatch(spelled) or not re.search(r"\d|pi", spelled) or not _OPERATION.search(spelled):
        return None
    if is_bare and spelled == core and not is_plain_calculation(core):
        return None
    return spelled if is_expression(spelled) else None


def is_plain_calculation(core: str) -> bool:
    """Whether bare signs are a calculation, and not a phone number, a date, a range or a score."""
    if re.search(r"[+*^√×÷(=]|\s[-/−–]\s|%\s*of", core):
        return not re.fullmatch(r"\+[\d\s()-]+|\(\d+\)[\d\s-]*", core)
    return bool(re.fullmatch(r"\d{1,2}\s*[-/−–]\s*\d{1,2}|\d+\.\d+\s*[-/]\s*\d+(?:\.\d+)?", core))


_PHRASES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern.replace("N", _N)), sign)
    for pattern, sign in (
        (r"difference (?:between|of) (N) (?:and|to) (N)", r"abs(\1 - \2)"),
        (r"product of (N),? (?:and|by|with) (N)", r"\1 * \2"),
        (r"quotient of (N),? (?:and|by) (N)", r"\1 / \2"),
        (r"remainder (?:of|when|if)(?: you divide)? (N) (?:is )?(?:divided )?by (N)", r"\1 mod \2"),
        (r"remainder (?:of|when) (N) (?:/|÷) (N)", r"\1 mod \2"),
        (r"(?:subtract|take)(?: away)? (N) from (N)|(N) subtracted from (N)", lambda m: f"{m[2] or m[4]} - {m[1] or m[3]}"),
        (r"add (N) (?:and|to|with|plus) (N)", r"\1 + \2"),
        (r"multiply (N) (?:by|and|with|times) (N)", r"\1 * \2"),
        (r"divide (N) by (N)", r"\1 / \2"),
        (
            r"(?:(?:split|share|divide|distribute) (N) (?:equally |evenly )?(?:among|amongst|between|by|into|with)"
            r"|(N) (?:split|shared|divided)(?: equally| evenly)?(?: among| amongst| between| by| into)) (N)"
            r"(?: (?:people|persons|friends|ways|parts|kids|children|of us|guests|colleagues))?(?: equally| evenly)?",
            lambda m: f"{m[1] or m[2]} / {m[3]}",
        ),
        (r"(?:what )?(?:percentage|percent|%) of (N) is (N)", r"\2 / \1 * 100"),
        (r"(N) (?:is )?(?:as )?(?:what|a) (?:percentage|percent|%) of (N)", r"\1 / \2 * 100"),
        (r"(N) (?:is|as) (?:what )?(?:percentage|percent|%) of (N)", r"\1 / \2 * 100"),
        (r"(?:percentage|percent|%) (?:change|increase|decrease|difference) from (N) to (N)", r"percent_change(\1, \2)"),
        (r"(N) (?:increased|raised) by (N) ?(?:%|percent)|(?:increase|raise) (N) by (N) ?(?:%|percent)",
         lambda m: f"{m[1] or m[3]} + {m[2] or m[4]}%"),
        (r"(N) (?:decreased|reduced|lowered) by (N) ?(?:%|percent)|(?:decrease|reduce|lower) (N) by (N) ?(?:%|percent)",
         lambda m: f"{m[1] or m[3]} - {m[2] or m[4]}%"),
        (r"(?:a )?(N) ?(?:%|percent) (?:tip|tax|vat|discount|commission|interest) (?:on|for|of|off) (?:a )?(N)(?: bill| meal| order)?",
         r"\1% of \2"),
        (r"tip (?:on|for) (?:a )?(N)(?: bill| meal)? at (N) ?(?:%|percent)", r"\2% of \1"),
        (r"(N) with (?:a )?(N) ?(?:%|percent) (?:discount|off)", r"\1 - \2%"),
        (r"(N) (?:with|plus|including) (?:a )?(N) ?(?:%|percent) (?:tax|vat|tip)", r"\1 + \2%"),
        (r"how many times does (N) go into (N)", r"\2 / \1"),
        (r"(?:which|what)(?: number| one)? is (?:the )?(?:bigger|larger|greater|higher|more|largest|biggest)(?: number)?[,:]? ?(?:of )?(N) (?:or|and) (N)",
         r"max(\1, \2)"),
        (r"(?:which|what)(?: number| one)? is (?:the )?(?:smaller|less|lower|smallest|lowest)(?: number)?[,:]? ?(?:of )?(N) (?:or|and) (N)",
         r"min(\1, \2)"),
    )
)  # fmt: skip
_LIST_FUNCTIONS = {
    "sum": "sum", "total": "sum", "average": "avg", "mean": "avg", "median": "median", "largest": "max", "maximum": "max",
    "max": "max", "biggest": "max", "highest": "max", "smallest": "min", "minimum": "min", "min": "min", "lowest": "min",
    "product": "product", "standard deviation": "stdev", "greatest common divisor": "gcd", "gcd": "gcd", "lcm": "lcm",
    "greatest common factor": "gcd", "least common multiple": "lcm",
}  # fmt: skip
_LIST_PHRASE = re.compile(
    rf"(?:the )?({'|'.join(sorted(_LIST_FUNCTIONS, key=len, reverse=True))})(?: (?:number|value))?"
    rf"(?: of| from| among)?(?: the)?(?: (?:following )?numbers?)?:? ({_LIST})"
)
_ADD_UP = re.compile(rf"(?:add(?: up)?|sum(?: up)?|total)(?: the numbers)?:? ({_LIST})")


def match_phrases(core: str) -> str | None:
    """Return the expression of an operation that is named by a phrase: `split 84 among 4 people`."""
    core = _CURRENCY_WORDS.sub("", re.sub(r"[$€£¥](?=\d)", "", core)).removeprefix("the ").strip()
    for pattern, expression in _PHRASES:
        if match := pattern.fullmatch(core):
            return drop_separators(match.expand(expression) if isinstance(expression, str) else expression(match))
    if match := _LIST_PHRASE.fullmatch(core) or _ADD_UP.fullmatch(core):
        name = _LIST_FUNCTIONS[match[1]] if match.re is _LIST_PHRASE else "sum"
        numbers = re.findall(rf"{_N}%?", match[match.lastindex or 1])
        return f"{name}({', '.join(number.replace(',', '') for number in numbers)})"
    return None


def drop_separators(expression: str) -> str:
    """Return the expression without thousands separators."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression)


_UNIT = r"(?:square |nautical |fluid |metric |degrees? )?[a-z°][a-z°/]*[23]?"
_CONVERSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:convert |change |turn )?(?P<n>{_N}|an?|1) ?(?P<from>{_UNIT}) (?:in|to|into|as|is|are|equals?) (?P<to>{_UNIT})",
        rf"(?:convert |change |turn )?(?P<n>{_N}|an?) ?(?P<from>{_UNIT}) (?:is|are|in|equals?) how many (?P<to>{_UNIT})",
        rf"how many (?P<to>{_UNIT}) (?:are |is )?(?:there )?(?:in|equals?|make|are|is) (?P<n>{_N}|an?) ?(?P<from>{_UNIT})",
        rf"(?P<n>{_N}|an?) ?(?P<from>{_UNIT}) converted (?:to|into) (?P<to>{_UNIT})",
    )
)


def match_conversion(core: str) -> str | None:
    for pattern in _CONVERSIONS:
        match = pattern.fullmatch(core)
        if match and (source := find_unit(match["from"])) and (target := find_unit(match["to"])):
            amount = "1" if match["n"] in ("a", "an") else match["n"].replace(",", "")
            return f'convert({amount}, "{source}", "{target}")'
    return None


_NOW = r"(?: right now| now| currently| at the moment| at present)?"
_TIME = re.compile(
    rf"(?:what(?:'s| is)? (?:the )?(?:current |local |exact )?time(?: is it)?|(?:the )?current (?:local )?time|time now|what time do we have|(?:the )?time(?= in ))"
    rf"{_NOW}(?: is it)?(?: in| at)?(?: (?P<city>[^\d?]+?))?{_NOW}"
)


def match_time(core: str) -> str | None:
    match = _TIME.fullmatch(core)
    if not match:
        return None
    city = (match["city"] or "").removeprefix("the ").replace(".", "").strip()
    city = city.partition(",")[0]
    if not city or city in ("here", "today"):
        return "now()"
    return f'now("{city.title() if city.islower() else city}")' if city in ZONE_BY_CITY else None


_HOLIDAY_NAMES = {
    **{name: name for name in (*FIXED_HOLIDAYS, *LUNAR_HOLIDAYS, "easter", "thanksgiving")},
    "xmas": "christmas", "christmas day": "christmas", "new years": "new year", "new year's": "new year",
    "new years day": "new year", "new year's day": "new year", "the new year": "new year", "next year": "new year",
    "new years eve": "new year's eve", "valentines day": "valentine's day", "valentine's": "valentine's day",
    "st. patrick's day": "st patrick's day", "the fourth of july": "independence day", "lunar new year": "chinese new year",
    "spring festival": "chinese new year", "easter sunday": "easter", "thanksgiving day": "thanksgiving",
    "april fools": "april fools' day", "april fool's day": "april fools' day", "the mid-autumn festival": "mid-autumn festival",
}  # fmt: skip
YEARS = {"this year": "year(today())", "next year": "year(today()) + 1", "last year": "year(today()) - 1"}
_RELATIVE_DAYS = {
    "today": "today()", "now": "today()", "tomorrow": "add_days(today(), 1)", "yesterday": "add_days(today(), -1)",
    "the day after tomorrow": "add_days(today(), 2)", "the day before yesterday": "add_days(today(), -2)",
}  # fmt: skip
_COUNT = r"(?:how many (?P<unit>days|weeks)(?: (?:are|is) (?:there|left|it|remaining))?(?: left| to go| remaining)?|how long(?: is it| is there)?|(?:number of )?days(?: left| remaining)?)"
_DAY_WORDS = r"(?:day|weekday|week ?day|day of the week|date)"
_UNTIL = re.compile(rf"{_COUNT} (?:until|till|til|to|before) (?P<day>.+?)(?: this year| next)?")
_SINCE = re.compile(
    rf"{_COUNT.replace('is it', 'is it|has it been')}(?: have passed| has it been| have gone by)? since (?P<day>.+)"
)
_BETWEEN = re.compile(
    rf"{_COUNT}(?: (?:are|is) there)? (?:(?:in )?between|from) (?P<a>.+?) (?:and|to|until|till) (?P<b>.+)"
)
_IN_MONTH = re.compile(
    rf"(?:how many|number of) days (?:(?:are |were |will be )?(?:there )?in|does) (?:the month of )?(?P<month>{'|'.join(MONTHS)})"
    r"(?: have)?(?:,? (?:of |in )?(?P<year>\d{4}|this year|next year|last year))?(?: have)?"
)
_SHIFT = re.compile(
    r"(?:(?:what|which)(?:'s| is| was| will be| will)? (?:the )?(?:date|day|weekday)(?: of the week)?(?: is| was| will be| will it be| be)?(?: it)? |when is |what's |what is )"
    r"(?:in )?(?P<n>\d+|a|an|one|two|three) (?P<unit>days?|weeks?|months?|years?)(?P<way> from (?:now|today)| ago| later| after (?P<after>.+)| before (?P<before>.+)| from (?P<from>.+))?"
)


def match_dates(core: str) -> str | None:
    """Return the expression of a question about dates."""
    core = replace_days(core)
    return match_day_names(core) or match_counted_days(core) or match_shift(core) or match_calendar(core)


def replace_days(core: str) -> str:
    return core.removeprefix("exactly ").replace("todays", "today's")


def read_day(text: str, *, future: bool = True, year: int = 0) -> str | None:
    """Return the expression of a day: relative, a holiday, a weekday or a date."""
    name = text.strip().rstrip(",.").removeprefix("on ")
    if name in _RELATIVE_DAYS:
        return _RELATIVE_DAYS[name]
    if name in _HOLIDAY_NAMES:
        return f'next_holiday("{_HOLIDAY_NAMES[name]}")'
    weekday = name.removeprefix("next ").removeprefix("this ").removeprefix("last ")
    if weekday in WEEKDAYS and len(weekday) > 3:
        return f'{"next" if future else "last"}_weekday("{weekday}")'
    fields = split_date(name)
    if fields is None:
        return None
    known_year, month, day = fields
    known_year = known_year or year
    if known_year:
        expression = f'date("{known_year:04}-{month:02}-{day:02}")'
        return expression if is_expression(expression) else None
    return f"{'next' if future else 'last'}_date({month}, {day})" if 1 <= month <= 12 and 1 <= day <= 31 else None


def match_day_names(core: str) -> str | None:
    """Return the expression for the date or weekday of a day: `what weekday is it today`."""
    if re.fullmatch(
        r"(?:what(?:'s| is)? )?(?:today's date|the date(?: of)?(?: today| now)?|(?:date|day) is (?:it|today)(?: today| now)?|today|the (?:current )?date|the day today|today's day|current date)",
        core,
    ):  # noqa: E501
        return "today()"
    if re.fullmatch(
        r"(?:what|which) (?:day of the week|weekday|week day) is (?:it|today)(?: today| now)?|what is (?:today's weekday|the weekday today)",
        core,
    ):
        return "weekday(today())"
    if re.fullmatch(
        r"what (?:year|month) is (?:it|this)(?: now)?|what(?:'s| is) the (?:current )?(?:year|month)", core
    ):
        return f"{'year' if 'year' in core else 'month'}(today())"
    if match := re.fullmatch(
        r"what(?:'s| is| was| will be)? (?:the )?(?:date|day)(?: of)?(?: is| was| will(?: it)? be| will| it is)?(?: it)? (?P<day>tomorrow|yesterday|the day (?:after tomorrow|before yesterday))(?: be)?",
        core,
    ):
        return _RELATIVE_DAYS[match["day"]]
    if match := re.fullmatch(
        r"(?:what|which)(?:'s| is)? (?:the )?(?:day of the week|weekday|week day|day)(?: (?:is|was|will(?: it)? be|does|did|falls?))?(?: it)?(?: of| for)? (?:on )?(?P<day>.+?)(?: (?:on|fall on|be|this year|fall))?",
        core,
    ):
        return (day := read_day(match["day"])) and f"weekday({day})"
    if match := re.fullmatch(
        r"(?:when|what (?:date|day)) (?:is|was|will be) (?P<day>.+?)(?: (?:in )?(?P<year>this year|next year|last year|\d{4}))?",
        core,
    ):
        return read_holiday(match["day"], match["year"])
    return None


def read_holiday(name: str, year: str | None) -> str | None:
    """Return the expression of a holiday, in a year if one is named."""
    if name not in _HOLIDAY_NAMES:
        return read_day(name) if name.startswith("next ") else None
    if not year:
        return read_day(name)
    return f'holiday("{_HOLIDAY_NAMES[name]}", {YEARS.get(year, year)})'


def match_counted_days(core: str) -> str | None:
    """Return the expression for the days until, since or between days."""
    if match := _BETWEEN.fullmatch(core):
        days = read_days(match["a"], match["b"], read_day)
        return divide_weeks(f"days_between({days})", match) if days else None
    if (match := _UNTIL.fullmatch(core)) and (day := read_day(match["day"])):
        return divide_weeks(f"days_between(today(), {day})", match)
    if (match := _SINCE.fullmatch(core)) and (day := read_day(match["day"], future=False)):
        return divide_weeks(f"days_between({day}, today())", match)
    if (
        re.fullmatch(rf"{_COUNT.removesuffix(')')}) (?:in|of|until the end of) (?:the|this) year", core)
        and "left" in core
    ):
        return "days_between(today(), date(year(today()), 12, 31))"
    return None


def read_days(first: str, last: str, read: Callable[..., str | None]) -> str | None:
    """Return the expressions of two days; a day without a year is in the year of the other one, or in this year."""
    start_fields, end_fields = split_date(first), split_date(last)
    if start_fields and end_fields and not start_fields[0] and not end_fields[0]:
        later = " + 1" if end_fields[1:] < start_fields[1:] else ""
        month_days = (f"date(year(today()), {start_fields[1]}, {start_fields[2]})",
                      f"date(year(today()){later}, {end_fields[1]}, {end_fields[2]})")  # fmt: skip
        return ", ".join(month_days) if all(map(is_expression, month_days)) else None
    start = read(first, year=end_fields[0] if end_fields else 0)
    end = read(last, year=start_fields[0] if start_fields else 0)
    return f"{start}, {end}" if start and end else None


def divide_weeks(expression: str, match: re.Match[str]) -> str:
    return f"round({expression} / 7, 1)" if match["unit"] == "weeks" else expression


def match_shift(core: str) -> str | None:
    """Return the expression for a day some days, weeks, months or years away."""
    match = _SHIFT.fullmatch(core)
    if not match or not (match["way"] or re.search(r"\bin (?:\d|an? |one |two |three )", core)):
        return None
    amount = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}.get(match["n"]) or int(match["n"])
    day: str | None = "today()"
    if text := match["after"] or match["before"] or match["from"]:
        day = read_day(text)
    backwards = match["before"] is not None or match["way"] == " ago"
    expression = f"add_{match['unit'].rstrip('s')}s({day}, {-amount if backwards else amount})" if day else None
    asks_weekday = re.match(r"(?:what|which)(?:'s| is)? (?:the )?(?:weekday|day of the week)", core)
    return f"weekday({expression})" if expression and asks_weekday else expression


def match_calendar(core: str) -> str | None:
    """Return the expression for the length of a month or a year."""
    if match := _IN_MONTH.fullmatch(core):
        year = match["year"] or "this year"
        return f"days_in_month({YEARS.get(year, year)}, {MONTHS[match['month']]})"
    if match := re.fullmatch(
        r"how many days (?:are |were |will be )?(?:there )?(?:in|does) (?:the year )?(\d{4}|this year)(?: have)?", core
    ):
        return f"days_in_year({YEARS.get(match[1], match[1])})"
    if match := re.fullmatch(r"(?:is|was|will) (?:the year )?(\d{4}|this year)(?: be)? a leap year", core):
        return f"is_leap_year({YEARS.get(match[1], match[1])})"
    if match := re.fullmatch(
        r"how old (?:is|am|would|are)(?: someone| somebody| a person| i| you)?(?: be)?(?: if)?(?: i was| you were| they were)? ?(?:who (?:was|is) )?born on (.+)",
        core,
    ):
        fields = split_date(match[1])
        return f'age("{fields[0]:04}-{fields[1]:02}-{fields[2]:02}")' if fields and fields[0] else None
    return None
