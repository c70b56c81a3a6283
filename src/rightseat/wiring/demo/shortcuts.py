"""Shortcuts of the demo tools: the embedded model calls them for questions that rules recognize."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from rightseat.models.llamacpp.embedded.shortcuts import Shortcut
from rightseat.types.language import Language
from rightseat.wiring.demo import BOOKING_TOOL, CLOCK_TOOL, DESCRIPTIONS, SALES_TOOL

# Questions that the rules may have missed: then the weights see the tool.
_ABOUT_TIME = re.compile(
    r"^(?!.*\b(?:in|did|do|does|should|if|when|close|open|start|end|was|will)\b)"
    r".{0,60}\b(?:time is it|the time|clock)\b.{0,20}$|^.{0,6}现在.{0,4}(?:几点|时间).{0,4}$",
    re.IGNORECASE,
)
_ABOUT_TABLES = re.compile(
    r"^(?=.{0,160}$)(?!.*\b(?:recommend|suggest|summar|translate|write)\w*)"
    r"(?=.*\b(?:book|booking|reserve|reservation)\b)(?=.*\b(?:table|dinner|lunch|restaurant|seats)\b)|"
    r"^(?!.*(?:推荐|翻译|总结|写)).{0,30}(?:订|预约).{0,20}(?:桌|位|餐)",
    re.IGNORECASE,
)
_SALES = re.compile(r"\bsales\b|销售|卖得|卖了", re.IGNORECASE)
_SALES_VIEW = re.compile(
    r"\b(?:chart|plot|graph|diagram|draw|visuali[sz]e|month|months|monthly|year|numbers|figures|best|worst)\b|图|月|"
    r"年|最",
    re.IGNORECASE,
)
_OTHER_TASK = re.compile(
    r"\b(?:write|draft|email|job|tax|manager|tips?|how (?:do|can|to))\b|写|翻译|怎么(?!样)|如何", re.IGNORECASE
)
MAX_SALES_QUESTION = 100
MAX_BOOKING = 140
MAX_FRIENDS = 20
_WANTS_TABLE = re.compile(
    r"\b(?:get|book|reserve|find|need|want|like)\b[^.?!]{0,30}\b(?:table|reservation)\b|\b(?:reservation|table) for\b"
)
_PARTY_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_PARTY = re.compile(
    r"\b(?:me|myself|i)(?:,)? (?:and|with|plus) (?:my )?(a|one|two|three|four|five|six|seven|eight|\d{1,2}) "
    r"(?:other )?(?:friends?|colleagues?|kids|children|guests?|people|others|coworkers)\b"
)


# The recognizers are imported with the first question: start-up does not pay for their rules.


def match_clock(question: str) -> dict[str, Any] | None:
    from rightseat.wiring.demo import recognize

    return recognize.match_clock(question)


def match_booking(question: str) -> dict[str, Any] | None:
    from rightseat.wiring.demo import recognize

    return recognize.match_booking(question) or match_party(question)


def match_party(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_book for a request for a table that says who comes."""
    text = question.lower()
    party = _PARTY.findall(text)
    if len(question) > MAX_BOOKING or len(party) != 1 or not _WANTS_TABLE.search(text) or _OTHER_TASK.search(text):
        return None
    number = _PARTY_NUMBERS.get(party[0]) or int(party[0])
    return {"people": number + 1} if number <= MAX_FRIENDS else None


def match_sales(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_sales for a question about sales: the demo has no others."""
    is_loose = (
        len(question) <= MAX_SALES_QUESTION
        and _SALES.search(question)
        and _SALES_VIEW.search(question)
        and not _OTHER_TASK.search(question)
    )
    if is_loose:
        return {}
    from rightseat.wiring.demo import recognize

    return recognize.match_sales_chart(question)


def describe_time(_question: str, _arguments: dict[str, Any], result: str, language: Language) -> str | None:
    try:
        moment = datetime.strptime(result, "%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return None
    if language == "zh":
        weekday = "一二三四五六日"[moment.weekday()]
        return f"现在是 UTC 时间 {moment:%H:%M:%S}，{moment.year} 年 {moment.month} 月 {moment.day} 日，星期{weekday}。"
    return f"It is {moment:%H:%M:%S} UTC on {moment:%A}, {moment.day} {moment:%B %Y}."


def describe_booking(_question: str, arguments: dict[str, Any], result: str, language: Language) -> str:
    return f"已为您预订 {arguments.get('people', '')} 人的餐桌。" if language == "zh" else result


def describe_sales(_question: str, _arguments: dict[str, Any], result: str, _language: Language) -> str:
    return result


_MISSING_PEOPLE: dict[Language, str] = {"en": "For how many people?", "zh": "请问一共几位？"}
SHORTCUTS = (
    Shortcut(CLOCK_TOOL, match_clock, frozenset(), describe_time, _ABOUT_TIME, DESCRIPTIONS[CLOCK_TOOL]),
    Shortcut(
        BOOKING_TOOL,
        match_booking,
        frozenset(["people"]),
        describe_booking,
        _ABOUT_TABLES,
        DESCRIPTIONS[BOOKING_TOOL],
        _MISSING_PEOPLE,
    ),
    Shortcut(SALES_TOOL, match_sales, frozenset(), describe_sales, summaries=DESCRIPTIONS[SALES_TOOL]),
)
