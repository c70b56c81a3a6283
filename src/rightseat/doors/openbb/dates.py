"""Dates of widget parameters: words for a day as ISO dates, seen from the user's present time.

OpenBB writes relative dates as `$currentDate`, plus or minus hours, days, weeks, months or years. Models write what
the user said: "yesterday", "last Friday", "昨天". What may mean several days is refused, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from rightseat.tools.builtin import dates, match_chinese
from rightseat.tools.builtin.expression import CalculationError, compute
from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals

MAX_DATE = 60
"""Characters of a text that may be a date."""
_CURRENT_DATE = re.compile(r"\$currentDate((?:[+-]\d{1,4}[hdwMy]){0,4})")
_STEP = re.compile(r"([+-]\d+)([hdwMy])")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NAMED_DAYS = {
    "today": 0, "now": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "day before yesterday": -2,
}  # fmt: skip
_WEEKDAY = "|".join(sorted(dates.WEEKDAYS, key=len, reverse=True))
_NEAR_WEEKDAY = re.compile(rf"(?P<which>last|past|previous|next|coming) (?P<day>{_WEEKDAY})")
_UNIT = r"(?P<unit>day|week|month|year)s?"
_AGO = re.compile(rf"(?P<n>\d{{1,4}}|an?) {_UNIT} (?P<way>ago|earlier|back|before today|from now|from today|later)")
_AHEAD = re.compile(rf"in (?P<n>\d{{1,4}}|an?) {_UNIT}")
_EDGE = re.compile(
    r"(?P<edge>start|beginning|first day|end|last day) of (?:the |this )?(?P<which>current |last |previous |next )?"
    r"(?P<unit>week|month|quarter|year)"
)
# Without a week or a year these may mean a day before today or one after it.
_UNCLEAR_HAN = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天末]|\d{1,2}月\d{1,2}[日号]?")


def parse_date(text: str, now: datetime) -> date | None:
    """Return the date that a text means, seen from `now`; None if it means none or may mean several."""
    text = " ".join(text.split())
    if not text or len(text) > MAX_DATE:
        return None
    try:
        return (
            _parse_iso(text)
            or _parse_current_date(text, now)
            or (_parse_chinese(text, now) if _HAN.search(text) else _parse_english(text.lower(), now.date()))
        )
    except (CalculationError, OverflowError, ValueError):
        return None


def _parse_iso(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _parse_current_date(text: str, now: datetime) -> date | None:
    match = _CURRENT_DATE.fullmatch(text)
    if match is None:
        return None
    for amount, unit in _STEP.findall(match[1]):
        now = _move(now, int(amount), unit)
    return now.date()


def _move(moment: datetime, amount: int, unit: str) -> datetime:
    if unit == "h":
        return moment + timedelta(hours=amount)
    if unit in "dw":
        return moment + timedelta(days=amount * (7 if unit == "w" else 1))
    day = dates.add_months(moment.date(), amount * (12 if unit == "y" else 1))
    return datetime.combine(day, moment.timetz())


def _parse_english(text: str, today: date) -> date | None:
    text = replace_english_numerals(text.removeprefix("on ").removeprefix("the "))
    if text in _NAMED_DAYS:
        return today + timedelta(days=_NAMED_DAYS[text])
    if match := _NEAR_WEEKDAY.fullmatch(text):
        find = dates.next_weekday if match["which"] in ("next", "coming") else dates.last_weekday
        return find(match["day"], _make_clock(today))
    if match := _AGO.fullmatch(text) or _AHEAD.fullmatch(text):
        amount = 1 if match["n"] in ("a", "an") else int(match["n"])
        way = match.groupdict().get("way") or "later"
        past = way in ("ago", "earlier", "back", "before today")
        moment = datetime.combine(today, time())
        return _move(moment, -amount if past else amount, {"month": "M"}.get(match["unit"], match["unit"][0])).date()
    if match := _EDGE.fullmatch(text):
        return _find_edge(match, today)
    fields = dates.split_date(text)
    # A day without a year may be the last one or the next one.
    return dates.build_date(*fields) if fields and fields[0] else None


def _find_edge(match: re.Match[str], today: date) -> date:
    """Return the first or last day of a week, month, quarter or year."""
    shift = {"last": -1, "previous": -1, "next": 1}.get((match["which"] or "").strip(), 0)
    if match["unit"] == "week":
        start = today - timedelta(days=today.weekday()) + timedelta(weeks=shift)
        following = start + timedelta(weeks=1)
    else:
        months = {"month": 1, "quarter": 3, "year": 12}[match["unit"]]
        start = date(today.year, (today.month - 1) // months * months + 1, 1)
        start = dates.add_months(start, months * shift)
        following = dates.add_months(start, months)
    return following - timedelta(days=1) if match["edge"] in ("end", "last day") else start


def _parse_chinese(text: str, now: datetime) -> date | None:
    text = text.replace(" ", "")
    in_digits = replace_chinese_numerals(text)
    if _UNCLEAR_HAN.fullmatch(text) or _UNCLEAR_HAN.fullmatch(in_digits):
        return None
    expression = match_chinese.read_day(text, future=False) or match_chinese.shift_day(in_digits)
    if expression is None or "holiday" in expression:
        return None
    value = compute(expression, _make_clock(now.date()))
    return value if isinstance(value, date) else None


def _make_clock(today: date) -> Callable[[], datetime]:
    """Return a clock for `tools.builtin`, whose days are those of UTC."""
    noon = datetime.combine(today, time(12), UTC)
    return lambda: noon
