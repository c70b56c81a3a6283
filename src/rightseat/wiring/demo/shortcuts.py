"""Shortcuts of the demo tools: the embedded model calls them for questions that rules recognize."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from rightseat.models.llamacpp.embedded.shortcuts import Shortcut
from rightseat.types.language import Language
from rightseat.wiring.demo import BOOKING_TOOL, CLOCK_TOOL, DESCRIPTIONS, SALES_TOOL
from rightseat.wiring.demo.recognize import match_booking, match_clock, match_sales_chart

# Questions that the rules may have missed: then the weights see the tool.
_ABOUT_TIME = re.compile(r"^.{0,60}\b(?:time|clock|o'clock|hour)\b.{0,40}$|^.{0,20}(?:几点|时间|时刻).{0,20}$", re.I)
_ABOUT_TABLES = re.compile(
    r"^(?=.{0,160}$)(?=.*\b(?:book|reserv\w*|table|seats?)\b)(?=.*\b(?:table|dinner|lunch|restaurant|eat|people|"
    r"seats?)\b)|"
    r"^.{0,30}(?:订|预约).{0,20}(?:桌|位|餐)",
    re.IGNORECASE,
)


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
    return f"已为您预订 {arguments['people']} 人的餐桌。" if language == "zh" else result


def describe_sales(_question: str, _arguments: dict[str, Any], result: str, _language: Language) -> str:
    return result


SHORTCUTS = (
    Shortcut(CLOCK_TOOL, match_clock, describe_time, _ABOUT_TIME, DESCRIPTIONS[CLOCK_TOOL]),
    Shortcut(BOOKING_TOOL, match_booking, describe_booking, _ABOUT_TABLES, DESCRIPTIONS[BOOKING_TOOL]),
    Shortcut(SALES_TOOL, match_sales_chart, describe_sales, summaries=DESCRIPTIONS[SALES_TOOL]),
)
