"""Dates and periods in questions and cells: `2024-10-15`, `15 Oct`, `2024Q2`, `Q2 2024`, `3月14日`, `FY2023`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from rightseat.tools.builtin.dates import MONTHS

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_HAN_DIGITS = {"一": 1, "二": 2, "三": 3, "四": 4}
_HAN_MONTHS_WORDS = """
一 二 三 四 五 六 七 八 九 十 十一 十二
"""
_HAN_MONTHS = {name: number for number, name in enumerate(_HAN_MONTHS_WORDS.split(), 1)}
MAX_CELL = 40
_PERIOD_PREFIX = re.compile(
    r"^(?:(?:ttm|ltm|as of|week of|week ending|(?:period|year|quarter|month) end(?:ed|ing))\s+|截至\s*)", re.IGNORECASE
)
"""What may stand before the time of a cell: `TTM 2025-03`."""


class TimePoint(Struct, frozen=True):
    """A day, month, quarter or year; parts that are not said are None."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def known_quarter(self) -> int | None:
        return self.quarter or ((self.month + 2) // 3 if self.month else None)

    @property
    def order(self) -> tuple[int, int, int]:
        """Key by which points are sorted."""
        month = self.month or (self.quarter * 3 if self.quarter else 12 if self.year and not self.day else 0)
        return (self.year or 0, month, self.day or (0 if self.month else 31))

    def covers(self, other: TimePoint) -> bool:
        """Whether another point lies within this one: 2024 covers 2024-10-15, and Q4 does."""
        if self.year is not None and self.year != other.year:
            return False
        if self.quarter is not None and self.quarter != other.known_quarter:
            return False
        if self.month is not None and self.month != other.month:
            return False
        return self.day is None or self.day == other.day

    @property
    def is_day(self) -> bool:
        return self.day is not None

    def __str__(self) -> str:
        if self.day is not None:
            return "-".join(f"{part:02}" for part in (self.year, self.month, self.day) if part is not None)
        if self.month is not None:
            return f"{self.year}-{self.month:02}" if self.year else f"{self.month:02}"
        if self.quarter is not None:
            return f"{self.year}Q{self.quarter}" if self.year else f"Q{self.quarter}"
        return str(self.year)


class FoundTime(Struct, frozen=True):
    point: TimePoint
    start: int
    end: int


def _read_year(text: str | None) -> int | None:
    if not text:
        return None
    number = int(text)
    return number + 2000 if number < 100 else number


def _make_day(match: re.Match[str]) -> TimePoint | None:
    parts = match.groupdict()
    month_text = parts["m"].lower()
    month = MONTHS.get(month_text) or _HAN_MONTHS.get(month_text) or (int(month_text) if month_text.isdigit() else 0)
    day = int(parts["d"])
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    return TimePoint(_read_year(parts.get("y")), None, month, day)


def _make_slash_day(match: re.Match[str]) -> TimePoint | None:
    first, second, year = int(match[1]), int(match[2]), _read_year(match[3])
    month, day = (second, first) if first > 12 else (first, second)
    return TimePoint(year, None, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def _make_quarter(match: re.Match[str]) -> TimePoint:
    parts = match.groupdict()
    text = parts["q"].lower()
    quarter = _ORDINALS.get(text) or _HAN_DIGITS.get(text) or int(text)
    return TimePoint(_read_year(parts.get("y") or parts.get("y2")), quarter)


def _make_month(match: re.Match[str]) -> TimePoint | None:
    parts = match.groupdict()
    text = (parts["m"] or parts["m2"]).lower()
    month = MONTHS.get(text) or _HAN_MONTHS.get(text) or (int(text) if text.isdigit() else 0)
    return TimePoint(_read_year(parts.get("y")), None, month) if 1 <= month <= 12 else None


def _make_year(match: re.Match[str]) -> TimePoint:
    return TimePoint(_read_year(match["y"]))


_YEAR = r"(?:19|20)\d\d"
_SLASH_DAY = r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)"
_QUARTER = r"(?:quarter|qtr)"
_HAN_MONTH = "十[一二]?|[一二三四五六七八九]"
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], TimePoint | None]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), make)
    for pattern, make in (
        (rf"(?<!\d)(?P<y>{_YEAR})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})(?!\d)(?:[T ]\d\d:\d\d\S*)?", _make_day),
        (
            rf"(?:(?P<y>{_YEAR})\s*年\s*)?(?<!\d)(?P<m>\d{{1,2}}|{_HAN_MONTH})\s*月\s*(?P<d>\d{{1,2}})\s*[日号]?",
            _make_day,
        ),
        (
            rf"(?<![A-Za-z0-9_.])(?P<d>\d{{1,2}})(?:st|nd|rd|"
            rf"th)?(?:\s+of)?[\s-]+(?P<m>{_MONTH})\b\.?(?:,?[\s-]+(?P<y>{_YEAR}))?(?!\d)",
            _make_day,
        ),
        (
            rf"\b(?P<m>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|"
            rf"th)?(?!\d)(?:,?\s+(?P<y>{_YEAR}))?(?!\d)",
            _make_day,
        ),
        (_SLASH_DAY, _make_slash_day),
        (rf"(?<![A-Za-z0-9_])(?:FY\s*)?(?P<y>{_YEAR})\s*[-/ ]?\s*Q(?P<q>[1-4])(?!\d)", _make_quarter),
        (
            rf"(?<![A-Za-z0-9_])Q(?P<q>[1-4])\s*(?:of\s+)?(?:fiscal\s+|FY\s*)?[-/,']?\s*(?P<y>{_YEAR}|\d\d(?!\d|[.%]))",
            _make_quarter,
        ),
        (rf"(?<![A-Za-z0-9_])(?P<q>[1-4])Q\s*'?(?P<y>{_YEAR}|\d\d)(?!\d)", _make_quarter),
        (
            rf"\b(?P<q>first|second|third|fourth|1st|2nd|3rd|"
            rf"4th)\s+(?:fiscal\s+)?{_QUARTER}(?:\s+(?:of\s+)?(?:fiscal\s+|FY\s*)?"
            rf"(?P<y>{_YEAR}))?",
            _make_quarter,
        ),
        (rf"(?:(?P<y>{_YEAR})\s*年?\s*)?第?(?P<q>[一二三四1-4])季度?", _make_quarter),
        (r"(?<![A-Za-z0-9_])Q(?P<q>[1-4])(?![A-Za-z0-9_])", _make_quarter),
        (rf"(?<!\d)(?P<y>{_YEAR})\s*年\s*(?P<m>\d{{1,2}}|{_HAN_MONTH})\s*月", _make_month),
        (rf"(?<![\d.-])(?P<y>{_YEAR})[-/](?P<m>0[1-9]|1[0-2])(?![\d-])", _make_month),
        (rf"\b(?P<m>{_MONTH})\b\.?,?\s+(?:of\s+)?(?P<y>{_YEAR})(?!\d)", _make_month),
        (rf"(?<![\d个])(?P<m>1[0-2]|[1-9]|{_HAN_MONTH})月(?!期)", _make_month),
        (rf"\b(?P<m>(?!(?:may|mar|march|sun|sat)\b)(?:{_MONTH}))\b", _make_month),
        (
            r"\b(?:in|of|for|from|between|through|until|vs\.?|versus|than|since|during|after|before|by|and|to)\s+"
            r"(?P<m>may|mar|march)\b|\b(?P<m2>may|mar|march)\b(?=\s+(?:vs\.?|versus|compared)\s)",
            _make_month,
        ),
        (
            rf"(?<![A-Za-z0-9_.,$-])(?:FY\s*|fiscal\s+(?:year\s+)?|"
            rf"CY\s*)?(?P<y>{_YEAR})(?![\d.,]\d|\d|[kKmMbB%]|[A-Za-z])(?:\s*(?:财年|年))?",
            _make_year,
        ),
        (r"(?<![A-Za-z0-9_])FY\s*'?(?P<y>\d\d)(?!\d)", _make_year),
    )
)
_MONTH_CELL = re.compile(rf"(?P<m>{_MONTH})\.?", re.IGNORECASE)


def find_times(text: str) -> list[FoundTime]:
    """Return the dates and periods of a text in its order; a day is not counted again as a month."""
    found: list[FoundTime] = []
    taken: list[tuple[int, int]] = []
    for pattern, make in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            point = make(match)
            if point is not None:
                found.append(FoundTime(point, match.start(), match.end()))
                taken.append((match.start(), match.end()))
    return sorted(found, key=lambda time: time.start)


def find_day_order(cells: Iterable[object]) -> bool | None:
    """Whether dates with slashes have the day first: true if one of them can be read only so; None if another can be
    read only with the month first."""
    matches = [match for cell in cells if isinstance(cell, str) and (match := re.fullmatch(_SLASH_DAY, cell.strip()))]
    day_first = any(int(match[1]) > 12 for match in matches)
    month_first = any(int(match[2]) > 12 for match in matches)
    return None if day_first and month_first else day_first


def read_time(cell: object, *, day_first: bool = False) -> TimePoint | None:
    """Return the date or period that a whole cell is; None if it is none. `day_first`: whether a date with slashes
    begins with its day."""
    if isinstance(cell, bool) or not isinstance(cell, str | int):
        return None
    text = str(cell).strip()
    if not text or len(text) > MAX_CELL:
        return None
    text = _PERIOD_PREFIX.sub("", text)
    if match := _MONTH_CELL.fullmatch(text):
        return _make_month(match)
    if day_first:
        text = re.sub(_SLASH_DAY, r"\2/\1/\3", text)
    for pattern, make in _PATTERNS:
        if match := pattern.fullmatch(text):
            return make(match)
    return None


def fill_years(points: list[TimePoint]) -> list[TimePoint]:
    """Return the points with the year of a neighbour where one is not said: `from Q1 to Q3 2024`."""
    years = [point.year for point in points if point.year]
    if len(set(years)) != 1 or all(point.year for point in points):
        return points
    return [TimePoint(years[0], point.quarter, point.month, point.day) for point in points]
