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
# Requests for a table whose number of people the rules did not find: the person is asked for it.
_ABOUT_TABLES = re.compile(
    r"^(?=.{0,200}$)(?!.*\b(?:how|what|which|who|why|when|where|should|recommend|suggest|summar\w*|translate|write|"
    r"draft|email|story|remind|cancel|change|not|never|flights?|hotels?|rooms?|tickets?|trains?|html|sql|excel|did|"
    r"have you|already|read|conference|hall|meeting|venue|columns?)\b|.*n't\b)(?=.*\b(?:book|booking|reserve|"
    r"reservation)\b)(?=.*\b(?:table|dinner|lunch|restaurant|seats|reservation)\b)|^(?=.{0,120}$)[^,]{0,40}\b(?:need|"
    r"want|like|get|have)\b.{0,20}\btable\b.{0,30}\b(?:tonight|tomorrow|\d ?[ap]m)\b|^(?=.{0,200}$)(?!.*(?:推荐|翻译|"
    r"总结|写|怎|如何|取消|昨天|[订定留]了|票|酒店|房|会议|不)).{0,60}(?:订|预约|留).{0,20}(?:桌|位|餐|座)",
    re.IGNORECASE,
)


# The recognizers are imported with the first question: start-up does not pay for their rules.


def match_clock(question: str) -> dict[str, Any] | None:
    from rightseat.wiring.demo import recognize

    return recognize.match_clock(question)


def match_booking(question: str) -> dict[str, Any] | None:
    from rightseat.wiring.demo import recognize

    return recognize.match_booking(question)


def match_sales(question: str) -> dict[str, Any] | None:
    from rightseat.wiring.demo import recognize

    return recognize.match_sales(question)


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
