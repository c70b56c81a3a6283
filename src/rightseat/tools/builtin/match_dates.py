"""Recognizer of questions about dates and times in English; `match_calculation` calls it."""

from __future__ import annotations

import re
from collections.abc import Callable

from rightseat.tools.builtin.dates import FIXED_HOLIDAYS, LUNAR_HOLIDAYS, MONTHS, WEEKDAYS, ZONE_BY_CITY, split_date
from rightseat.tools.builtin.expression import is_expression
from rightseat.tools.builtin.numerals import read_names

_NOW = r"(?: right now| now| currently| at the moment| at present)?"
_TIME = re.compile(
    rf"(?:what(?:'s| is)? (?:the )?(?:current |local |exact )?time(?: is it)?|(?:the )?current (?:local )?time|"
    rf"time now|what time do we have|(?:the )?time(?= in ))"
    rf"{_NOW}(?: is it)?(?: in| at)?(?: (?P<city>[^\d?]+?))?{_NOW}"
)


_TIME_UNTIL = re.compile(
    r"how (?:long|many (?:hours|minutes)|much time)(?: (?:is|are) (?:it|there|left))?(?: left| to go| remaining)? "
    r"(?:until|till|til|to|before) (?P<time>midnight|noon|midday|\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?| o'clock)?|"
    r"\d{1,2}:\d\d)(?: today| tonight)?(?:,? (?:in )?(?P<city>[^\d?]+?))?"
)
_TIME_OF_DAY = re.compile(r"(\d{1,2})(?::(\d\d))?(?: ?([ap])\.?m\.?)?(?: o'clock)?")
_COUNTRIES = "usa|us|uk|england|australia|canada|china|france|germany|india|italy|japan|spain|brazil|mexico|ny|ca"


def match_time(core: str) -> str | None:
    match = _TIME.fullmatch(core)
    if not match:
        return None
    city = (match["city"] or "").removeprefix("the ").replace(".", "").strip()
    city = re.sub(rf",?\s+(?:{_COUNTRIES})$", "", city.partition(",")[0])
    if not city or city in ("here", "today"):
        return "now()"
    return f'now("{city.title() if city.islower() else city}")' if city in ZONE_BY_CITY else None


def match_time_until(core: str) -> str | None:
    """Return the expression for the minutes until a time of day: `how long until 6 pm in Tokyo`."""
    match = _TIME_UNTIL.fullmatch(core)
    wanted = read_time_of_day(match["time"]) if match else None
    if not match or wanted is None:
        return None
    city = (match["city"] or "utc").removesuffix(" time").removesuffix(" now").strip()
    if city not in ZONE_BY_CITY:
        return None
    return f'minutes_until("{wanted}")' if city in ("utc", "gmt") else f'minutes_until("{wanted}", "{city.title()}")'


def read_time_of_day(text: str) -> str | None:
    """Return `HH:MM`; None for an hour that may be one of the morning or of the evening."""
    if text == "midnight":
        return "24:00"
    if text in ("noon", "midday"):
        return "12:00"
    match = _TIME_OF_DAY.fullmatch(text)
    if not match or not (match[2] or match[3]):
        return None
    hour, minute = int(match[1]), match[2] or "00"
    if match[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[3] == "p" else 0)
    return f"{hour:02}:{minute}" if hour < 24 and minute < "60" else None


# Each line is a holiday and its names in questions.
_OTHER_NAMES = """
christmas: xmas, christmas day
new year: new years, new year's, new years day, new year's day, the new year, next year
new year's eve: new years eve
valentine's day: valentines day, valentine's
st patrick's day: st. patrick's day
independence day: the fourth of july
chinese new year: lunar new year, spring festival
easter: easter sunday, easter
thanksgiving: thanksgiving day, thanksgiving
april fools' day: april fools, april fool's day
mid-autumn festival: the mid-autumn festival
"""
_HOLIDAY_NAMES = {name: name for name in (*FIXED_HOLIDAYS, *LUNAR_HOLIDAYS)} | read_names(_OTHER_NAMES)
YEARS = {"this year": "year(today())", "next year": "year(today()) + 1", "last year": "year(today()) - 1"}
_RELATIVE_DAYS = {
    "today": "today()", "now": "today()", "tomorrow": "add_days(today(), 1)", "yesterday": "add_days(today(), -1)",
    "the day after tomorrow": "add_days(today(), 2)", "the day before yesterday": "add_days(today(), -2)",
}  # fmt: skip
_COUNT = (
    r"(?:how many (?P<unit>days|weeks)(?: (?:are|is|there|left|it|remaining|to go|still|more|from (?:today|now)))*|"
    r"how long(?: is it| is there)?|(?:number of )?days(?: left| remaining)?)"
)
_UNTIL = re.compile(rf"{_COUNT} (?:until|till|til|to|before) (?P<day>.+?)(?: this year| next)?")
_SINCE = re.compile(
    rf"{_COUNT.replace('is it', 'is it|has it been')}(?: have passed| has it been| have gone by)? since (?P<day>.+)"
)
_BETWEEN = re.compile(
    rf"{_COUNT}(?: (?:are|is) there)? (?:(?:in )?between|from) (?P<a>.+?) (?:and|to|until|till) (?P<b>.+)"
)
_IN_MONTH = re.compile(
    rf"(?:how many|number of) days (?:(?:are |were |will be )?(?:there )?in|does) (?:the month of "
    rf")?(?P<month>{'|'.join(MONTHS)})"
    r"(?: have)?(?:,? (?:of |in )?(?P<year>\d{4}|this year|next year|last year))?(?: have)?"
)
_SHIFT = re.compile(
    r"(?:(?:what|which)(?:'s| is| was| will be| will)? (?:the )?(?:date|day|weekday)(?: of the week)?(?: is| "
    r"was| will be| will it be| be)?(?: it)? |when is |what's |what is )"
    r"(?:in )?(?P<n>\d+|a|an|one|two|three) (?P<unit>days?|weeks?|months?|years?)(?P<way> from (?:now|today)| "
    r"ago| later| after (?P<after>.+)| before (?P<before>.+)| from (?P<from>.+))?"
)


def match_dates(core: str) -> str | None:
    """Return the expression of a question about dates."""
    core = core.replace("todays", "today's")
    return (
        match_day_kind(core)
        or match_day_names(core)
        or match_counted_days(core)
        or match_shift(core)
        or match_calendar(core)
    )


_KIND = (
    r"(?:(?:an?|the|our|on an?|on the|at the|in the|during the) )?"
    r"(?:weekday|week day|weekend|week-end|work ?day|working day|business day)(?: day| time)?"
)
_ALREADY = r"(?: (?:already|still|yet|now|right now|today|just|finally|currently|then))*"
_OR_KIND = rf",? or(?: (?:is it|is today|are we|was it|will it be|not|does it fall))?{_ALREADY}(?: {_KIND})?"
_DAY_KIND = (
    re.compile(
        rf"(?:is|isn't|was|will|does|do|did|are|would)(?: (?P<day>[\w', ]{{1,40}}?))??(?: (?:be|fall|have))?{_ALREADY}"
        rf" {_KIND}(?P<or>{_OR_KIND})?(?: this year)?{_ALREADY}(?: (?P<end>tomorrow|yesterday))?"
    ),
    re.compile(rf"(?P<day>today|tomorrow|yesterday|it)(?:'s| is| was){_ALREADY} {_KIND}(?P<or>{_OR_KIND}){_ALREADY}"),
    re.compile(
        rf"(?:(?:what|which)(?:'s| is| (?:kind|sort|type) of day is) (?P<day>today|tomorrow|it(?: today| now)?),? )?"
        rf"{_KIND}(?P<or>,? or {_KIND})(?: is it| is today| are we in)?{_ALREADY}(?: (?P<end>tomorrow))?"
    ),
)


def match_day_kind(core: str) -> str | None:
    """Return the expression for whether a day is one of the weekend: `is today a weekday or the weekend already`."""
    for pattern in _DAY_KIND:
        if match := pattern.fullmatch(core):
            name = re.sub(r"^(?:it|we|this|that)\b *", "", (match["day"] or "").strip(" ,")).removesuffix(" on")
            day = read_day(name or match.groupdict().get("end") or "today")
            return f"day_kind({day})" if day else None
    return None


def read_day(text: str, *, future: bool = True, year: int = 0) -> str | None:
    """Return the expression of a day: relative, a holiday, a weekday or a date."""
    name = text.strip().rstrip(",.").removeprefix("on ")
    if name in _RELATIVE_DAYS:
        return _RELATIVE_DAYS[name]
    if name in _HOLIDAY_NAMES:
        return f'next_holiday("{_HOLIDAY_NAMES[name]}")'
    # `next friday` is one of two days, depending on who says it.
    weekday = name.removeprefix("this ").removeprefix("last ")
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
        r"(?:what(?:'s|s| is)? )?(?:today's date|(?:date|day) it is(?: today| now)?|the date(?: of)?(?: today| now)?|"
        r"(?:date|day) is (?:it|today)(?: "
        r"today| now)?|today|the (?:current )?date|the day today|today's day|current date)",
        core,
    ):
        return "today()"
    if re.fullmatch(
        r"(?:what|which) (?:day of the week|weekday|week day) is (?:it|today)(?: today| now)?|what(?:'s| is) "
        r"(?:today's (?:weekday|day of the week)|the weekday today)",
        core,
    ):
        return "weekday(today())"
    if re.fullmatch(
        r"(?:what|which) (?:year|month|month and year|year and month) (?:is (?:it|this)|are we in|do we have|is it now)"
        r"(?: right now| now| currently| today| at the moment)?|what(?:'s| is) the (?:current )?(?:year|month)",
        core,
    ):
        # A month is told with its date: `It is 11.` says little.
        return "today()" if "month" in core else "year(today())"
    if match := re.fullmatch(
        r"what(?:'s| is| was| will be)? (?:the )?(?:date|day)(?: of)?(?: is| was| will(?: it)? be| will| it "
        r"is)?(?: it)? (?P<day>tomorrow|yesterday|the day (?:after tomorrow|before yesterday))(?: be)?",
        core,
    ):
        return _RELATIVE_DAYS[match["day"]]
    if match := re.fullmatch(
        r"(?:what|which)(?:'s| is)? (?:the )?(?:day of the week|weekday|week day|day)(?: (?:is|was|will(?: it)? "
        r"be|does|did|falls?))?(?: it)?(?: of| for)? (?:on )?(?P<day>.+?)(?: (?:on|fall on|be|this year|fall))?",
        core,
    ):
        return (day := read_day(match["day"])) and f"weekday({day})"
    if match := re.fullmatch(
        r"(?:when|what (?:date|day)) (?:is|was|will be) (?P<day>.+?)(?: (?:in )?(?P<year>this year|next year|"
        r"last year|\d{4}))?",
        core,
    ):
        return read_holiday(match["day"], match["year"])
    return None


def read_holiday(name: str, year: str | None) -> str | None:
    """Return the expression of a holiday, in a year if one is named."""
    if name not in _HOLIDAY_NAMES:
        return None
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
    if re.fullmatch(
        r"how many days (?:are |does )?(?:there )?(?:in )?(?:this month|the current month)(?: have)?", core
    ):
        return "days_in_month(year(today()), month(today()))"
    if match := re.fullmatch(r"(?:is|was|will) (?:the year )?(\d{4}|this year)(?: be)? a leap year", core):
        return f"is_leap_year({YEARS.get(match[1], match[1])})"
    if match := re.fullmatch(
        r"how old (?:is|am|would|are)(?: someone| somebody| a person| i| you)?(?: be)?(?: if)?(?: i was| you "
        r"were| they were)? ?(?:who (?:was|is) )?born on (.+)",
        core,
    ):
        fields = split_date(match[1])
        return f'age("{fields[0]:04}-{fields[1]:02}-{fields[2]:02}")' if fields and fields[0] else None
    return None
