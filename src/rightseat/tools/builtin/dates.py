"""Dates of `calculate`: reading them, moving them, holidays, and the time in a city."""

from __future__ import annotations

import calendar
import re
import zoneinfo
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal

from rightseat.config.installation import format_install_command
from rightseat.tools.builtin.expression import CalculationError, Clock, Value, format_value, to_day, to_number, utc_now

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items()} | {"tues": 1, "thur": 3, "thurs": 3}
CHINESE_WEEKDAYS = "一二三四五六日"
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
        r"(?:(?P<y>\d{4})\s*年\s*)?(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]?",
        rf"(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m>{_MONTH})\.?(?:,?\s+(?P<y>\d{{4}}))?",
        rf"(?P<m>{_MONTH})\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?",
    )
)
# The Chinese lunar calendar follows the moon: its days are listed, not computed.
LUNAR_HOLIDAYS = {
    "chinese new year": "2025-01-29 2026-02-17 2027-02-06 2028-01-26 2029-02-13 2030-02-03 2031-01-23 2032-02-11 "
    "2033-01-31 2034-02-19 2035-02-08",
    "dragon boat festival": "2025-05-31 2026-06-19 2027-06-09 2028-05-28 2029-06-16 2030-06-05",
    "mid-autumn festival": "2025-10-06 2026-09-25 2027-09-15 2028-10-03 2029-09-22 2030-09-12",
}
FIXED_HOLIDAYS = {
    "new year": (1, 1),
    "new year's eve": (12, 31),
    "valentine's day": (2, 14),
    "women's day": (3, 8),
    "st patrick's day": (3, 17),
    "april fools' day": (4, 1),
    "labour day": (5, 1),
    "children's day": (6, 1),
    "independence day": (7, 4),
    "china's national day": (10, 1),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "boxing day": (12, 26),
}
CITY_ZONES = {
    "Africa/Cairo": "cairo 开罗",
    "Africa/Johannesburg": "johannesburg 约翰内斯堡",
    "Africa/Lagos": "lagos",
    "Africa/Nairobi": "nairobi 内罗毕",
    "America/Argentina/Buenos_Aires": "buenos_aires 布宜诺斯艾利斯",
    "America/Chicago": "chicago houston dallas austin 芝加哥 休斯敦",
    "America/Denver": "denver 丹佛",
    "America/Los_Angeles": "los_angeles la san_francisco sf seattle las_vegas california 洛杉矶 旧金山 西雅图",
    "America/Mexico_City": "mexico_city 墨西哥城",
    "America/New_York": "new_york nyc new_york_city boston washington washington_dc miami atlanta 纽约 波士顿 华盛顿",
    "America/Sao_Paulo": "sao_paulo são_paulo rio_de_janeiro 圣保罗",
    "America/Toronto": "toronto montreal ottawa 多伦多",
    "America/Vancouver": "vancouver 温哥华",
    "Asia/Bangkok": "bangkok 曼谷",
    "Asia/Dubai": "dubai abu_dhabi 迪拜",
    "Asia/Ho_Chi_Minh": "hanoi ho_chi_minh_city saigon 河内 胡志明市",
    "Asia/Hong_Kong": "hong_kong 香港",
    "Asia/Jakarta": "jakarta 雅加达",
    "Asia/Jerusalem": "jerusalem tel_aviv",
    "Asia/Kolkata": "mumbai delhi new_delhi india bangalore kolkata 孟买 新德里 印度",
    "Asia/Kuala_Lumpur": "kuala_lumpur 吉隆坡",
    "Asia/Manila": "manila 马尼拉",
    "Asia/Riyadh": "riyadh 利雅得",
    "Asia/Seoul": "seoul korea south_korea 首尔 韩国",
    "Asia/Shanghai": "beijing shanghai china shenzhen guangzhou hangzhou chengdu 北京 上海 中国 深圳 广州 杭州 成都",
    "Asia/Singapore": "singapore 新加坡",
    "Asia/Taipei": "taipei 台北",
    "Asia/Tehran": "tehran",
    "Asia/Tokyo": "tokyo japan osaka kyoto 东京 日本 大阪",
    "Asia/Urumqi": "urumqi",
    "Australia/Melbourne": "melbourne 墨尔本",
    "Australia/Perth": "perth",
    "Australia/Sydney": "sydney 悉尼",
    "Europe/Amsterdam": "amsterdam 阿姆斯特丹",
    "Europe/Athens": "athens 雅典",
    "Europe/Berlin": "berlin germany munich frankfurt hamburg 柏林 慕尼黑 德国",
    "Europe/Brussels": "brussels",
    "Europe/Copenhagen": "copenhagen",
    "Europe/Dublin": "dublin ireland",
    "Europe/Helsinki": "helsinki",
    "Europe/Istanbul": "istanbul 伊斯坦布尔",
    "Europe/Kyiv": "kyiv kiev",
    "Europe/Lisbon": "lisbon 里斯本",
    "Europe/London": "london uk england edinburgh 伦敦 英国",
    "Europe/Madrid": "madrid barcelona spain 马德里 巴塞罗那",
    "Europe/Moscow": "moscow 莫斯科",
    "Europe/Oslo": "oslo",
    "Europe/Paris": "paris france 巴黎 法国",
    "Europe/Prague": "prague",
    "Europe/Rome": "rome milan italy 罗马 意大利",
    "Europe/Stockholm": "stockholm 斯德哥尔摩",
    "Europe/Vienna": "vienna 维也纳",
    "Europe/Warsaw": "warsaw",
    "Europe/Zurich": "zurich geneva switzerland 苏黎世",
    "Pacific/Auckland": "auckland wellington new_zealand 奥克兰",
    "Pacific/Honolulu": "honolulu hawaii",
    "UTC": "utc gmt",
}
ZONE_BY_CITY = {city.replace("_", " "): zone for zone, cities in CITY_ZONES.items() for city in cities.split()}


def find_zone(place: str) -> tzinfo:
    """Return the time zone of a city or an IANA name; raises CalculationError."""
    key = ZONE_BY_CITY.get(" ".join(place.lower().replace("_", " ").replace(".", "").split()), place.strip())
    if key == "UTC":
        return UTC
    if not re.fullmatch(r"[A-Za-z]\w*(?:[/_+-]\w+){0,3}", key.replace(" ", "_"), re.ASCII):
        raise CalculationError(f"There is no time zone {place[:40]!r}. Write one such as America/New_York.")
    names = zoneinfo.available_timezones()
    if not names:
        command = format_install_command("tzdata")
        raise CalculationError(f"This machine has no time zone data. now() gives UTC. Install it: {command}")
    wanted = key.replace(" ", "_").lower()
    matches = sorted(name for name in names if wanted in (name.lower(), name.lower().rpartition("/")[2]))
    if not matches:
        raise CalculationError(f"There is no time zone {place[:40]!r}. Write one such as America/New_York.")
    return zoneinfo.ZoneInfo(max(matches, key=len))


def now(place: Value = "UTC", *, clock: Clock = utc_now) -> datetime:
    return clock().astimezone(find_zone(str(place)))


def today(place: Value = "UTC", *, clock: Clock = utc_now) -> date:
    return now(place, clock=clock).date()


def to_date(value: Value, clock: Clock) -> date:
    if isinstance(value, date):
        return to_day(value)
    if isinstance(value, str):
        return read_date(value, clock)
    raise CalculationError(f'{format_value(value)[:40]} is not a date. Write it as date("2024-02-29").')


def read_date(text: str, clock: Clock) -> date:
    """Return the date of a text in a usual English, Chinese or ISO form; without a year, this year's."""
    fields = split_date(text)
    if fields is None:
        raise CalculationError(f'{text[:40]!r} is not a date. Write it as date("2024-02-29").')
    year, month, day = fields
    return build_date(year or today(clock=clock).year, month, day)


def split_date(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day of a text that is a date, the year 0 if it has none; else None."""
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(text.strip()):
            month = match["m"].lower()
            return int(match["y"] or 0), MONTHS.get(month) or int(month), int(match["d"])
    return None


def build_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise CalculationError(f"There is no date {year:04}-{month:02}-{day:02}.") from None


def make_date(first: Value, month: Value | None = None, day: Value | None = None, *, clock: Clock) -> date:
    """Return the date of a text, or of year, month and day."""
    if month is None or day is None:
        return to_date(first, clock)
    year, month_number, day_number = (to_number(value) for value in (first, month, day))
    if not all(
        number == number.to_integral_value() and 0 < number < 10_000 for number in (year, month_number, day_number)
    ):
        raise CalculationError("A date needs a year from 1 to 9999, a month and a day.")
    return build_date(int(year), int(month_number), int(day_number))


def add_months(day: date, months: int) -> date:
    """Return the same day some months later, or the last day of a shorter month."""
    years, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= years <= 9999:
        raise CalculationError("The date is outside the years 1 to 9999.")
    return date(years, month + 1, min(day.day, calendar.monthrange(years, month + 1)[1]))


def count_years(start: date, end: date) -> int:
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))


def next_date(month: int, day: int, clock: Clock) -> date:
    """Return the next date with this month and day; today counts."""
    start = today(clock=clock)
    for year in range(start.year, start.year + 9):
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) >= start:
            return date(year, month, day)
    raise CalculationError(f"There is no day {day} in month {month}.")


def last_date(month: int, day: int, clock: Clock) -> date:
    """Return the last date with this month and day; today counts."""
    end = today(clock=clock)
    for year in range(end.year, end.year - 9, -1):
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) <= end:
            return date(year, month, day)
    raise CalculationError(f"There is no day {day} in month {month}.")


def find_weekday(name: str) -> int:
    key = name.strip().lower()
    if key not in WEEKDAYS:
        raise CalculationError(f"{name[:40]!r} is not a weekday. Write one such as friday.")
    return WEEKDAYS[key]


def find_day_kind(day: date) -> str:
    """Return the name of a day and whether it is one of the weekend: `Monday, a weekday`."""
    return f"{day:%A}, {'at the weekend' if day.weekday() >= 5 else 'a weekday'}"


def next_weekday(name: str, clock: Clock) -> date:
    """Return the next date with this weekday; today does not count."""
    start = today(clock=clock)
    return start + timedelta(days=(find_weekday(name) - start.weekday() - 1) % 7 + 1)


def last_weekday(name: str, clock: Clock) -> date:
    """Return the last date with this weekday; today does not count."""
    start = today(clock=clock)
    return start - timedelta(days=(start.weekday() - find_weekday(name) - 1) % 7 + 1)


def next_holiday(name: str, clock: Clock) -> date:
    """Return the next date of a holiday; today counts."""
    start = today(clock=clock)
    this_year = find_holiday(name, start.year)
    return this_year if this_year >= start else find_holiday(name, start.year + 1)


def find_holiday(name: str, year: int) -> date:
    """Return the date of a holiday in a year; raises CalculationError for one that is not known."""
    key = " ".join(name.lower().split())
    if key in FIXED_HOLIDAYS:
        return date(year, *FIXED_HOLIDAYS[key])
    if key in ("easter", "thanksgiving"):
        return find_easter(year) if key == "easter" else find_thanksgiving(year)
    if key not in LUNAR_HOLIDAYS:
        known = ", ".join((*FIXED_HOLIDAYS, *LUNAR_HOLIDAYS, "easter", "thanksgiving"))
        raise CalculationError(f"The holiday {name[:40]!r} is not known. There are: {known}.")
    for text in LUNAR_HOLIDAYS[key].split():
        if text.startswith(f"{year:04}-"):
            return date.fromisoformat(text)
    raise CalculationError(f"The date of {key} in {year} is not known here.")


def count_minutes_until(time_of_day: Value, place: Value = "UTC", *, clock: Clock) -> Decimal:
    """Return the minutes until a time of day, the seconds left out; 24:00 is the coming midnight."""
    match = re.fullmatch(r"([01]?\d|2[0-4]):([0-5]\d)", str(time_of_day).strip())
    if not match:
        raise CalculationError(f'{str(time_of_day)[:40]!r} is not a time of day. Write it as "18:30".')
    start = now(place, clock=clock)
    wanted = int(match[1]) % 24 * 60 + int(match[2])
    minutes = (wanted - start.hour * 60 - start.minute) % (24 * 60)
    return Decimal(minutes or 24 * 60)


def find_easter(year: int) -> date:
    """Return Easter Sunday by the Gregorian computus of Meeus, Jones and Butcher."""
    a, b, c = year % 19, year // 100, year % 100
    epact = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    shift = (32 + 2 * (b % 4) + 2 * (c // 4) - epact - c % 4) % 7
    month, day = divmod(epact + shift - 7 * ((a + 11 * epact + 22 * shift) // 451) + 114, 31)
    return date(year, month, day + 1)


def find_thanksgiving(year: int) -> date:
    """Return the fourth Thursday of November."""
    return date(year, 11, 22 + (3 - date(year, 11, 22).weekday()) % 7)
