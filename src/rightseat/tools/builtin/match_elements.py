"""Recognizer of questions for the time in a place and for a day near today, by their elements in any order.

`match_calculation` calls it with a message that no pattern knows as a whole. A rule needs its elements once each; the
other words are fillers of a fixed vocabulary, or, for a place, none that give `time` another meaning.
"""

from __future__ import annotations

import re

from rightseat.tools.builtin.dates import WEEKDAYS, ZONE_BY_CITY
from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals

MAX_ELEMENTS = 160
_HAN = re.compile(r"[\u3400-\u9fff]")
_SHORT_CITIES = ("la", "ny", "dc", "sf")
_CITIES = sorted(
    (re.escape(city) for city in ZONE_BY_CITY if not _HAN.match(city) and (len(city) > 2 or city in _SHORT_CITIES)),
    key=len,
    reverse=True,
)
_HAN_CITIES = sorted((city for city in ZONE_BY_CITY if _HAN.match(city)), key=len, reverse=True)
_CITY = re.compile(rf"(?<![a-z])(?:{'|'.join(_CITIES)})(?![a-z])|{'|'.join(_HAN_CITIES)}")
_ASKS_TIME = re.compile(
    r"\bwhat(?:'s|s| is)?(?: the)?(?: current| local| exact| actual)? time\b|\b(?:current|local) time\b|\bthe time\b|"
    r"^time (?:now |right now )?(?:in|at)\b|\btime (?:is it|it is|now|there|do they have)\b|\bhow late is it\b|"
    r"\bis it (?:day|night|morning|late|early)\b|几点|什么时间|时间(?:是|现在)?(?:多少|几)|当地时间"
)
# Meanings of time and place that the clock of a city does not answer.
_OTHER_TIME = re.compile(
    r"\d|\b(?:difference|zones?|best|good|first|last|next|every|flights?|fly|train|bus|travel|arrive|leave|"
    r"open|opens|"
    r"close|closes|start|starts|end|ends|sunset|sunrise|weather|dinner|lunch|game|match|show|store|shop|museum|war|"
    r"when|should|spend|how long|how much|history|story|once|happened|was|did|visit|live in|meeting|film|movie|times|"
    r"restaurants?|hotels?|write|translate|summari[sz]e|timeline|eat|wake|sleep|go to|until|till|set|sets|rise|"
    r"rises|dark|does|do (?!you|they have))\b|时差|天气|天黑|天亮|"
    r"开门|关门|出发|到达|航班|火车|飞|什么时候|历史|日出|日落|吃|睡|起床|比赛|写|翻译|总结|开始|结束|以前|去年"
)


def match_elements(text: str) -> str | None:
    """Return the expression of a question for the time in one place or for a day near today; else None."""
    core = " ".join(text.lower().replace("’", "'").split())
    if len(core) > MAX_ELEMENTS:
        return None
    return match_place_time(core) or (match_near_day_han(core) if _HAN.search(core) else match_near_day(core))


def find_places(text: str) -> set[str]:
    """Return the cities with a known time zone that a text names, in lower case."""
    return {match[0] for match in _CITY.finditer(text.lower())} - {"utc", "gmt"}


def match_place_time(core: str) -> str | None:
    if not _ASKS_TIME.search(core) or _OTHER_TIME.search(core.replace("live in", "").replace("lives in", "")):
        return None
    places = find_places(core)
    if len(places) != 1:
        return None
    place = places.pop()
    return f'now("{place if _HAN.match(place) else place.title()}")'


_WEEKDAY = "|".join(name for name in WEEKDAYS if len(name) > 3 and name.isascii())
_NEAR_DAY = re.compile(
    rf"\b(?:the )?day (?P<far>after tomorrow|before yesterday)\b|\b(?P<day>yesterday|tomorrow|tmrw|tmr)(?:'s)?\b|"
    rf"\b(?P<which>last|past|this past|this coming|this|coming) (?P<weekday>{_WEEKDAY})\b|"
    rf"\b(?:in )?(?P<n>\d{{1,5}}|an?) (?P<unit>days?|weeks?|months?|years?|fortnights?)"
    rf"(?P<way>(?:'s?)? time\b| from (?:now|today)\b| ago\b| later\b| back\b)?"
)
_ASKS_DAY = re.compile(r"\b(?:date|day|weekday)\b")
_DAY_FILLERS = frozenset(
    re.findall(
        r"\S+",
        """what whats what's which when is was s it the a of be will would been on for in at again
        exactly date day weekday
    week number full calendar today's tell me remind know do you happen to can could please pls quickly quick question
    forgot forget i i've i'm so hey hi hello ok and just need help out by way btw thanks thx then actually have had
    does did fall falls fell wondering was anyone any idea today now if go back my brain counting from""",
    )
)
_DAYS = {"yesterday": -1, "tomorrow": 1, "tmrw": 1, "tmr": 1, "after tomorrow": 2, "before yesterday": -2}


def match_near_day(core: str) -> str | None:
    """Return the date of a day that is named by its distance: `remind me, what was the date yesterday?`."""
    core = replace_english_numerals(core)
    matches = list(_NEAR_DAY.finditer(core))
    if len(matches) != 1 or not _ASKS_DAY.search(_NEAR_DAY.sub(" ", core)):
        return None
    match = matches[0]
    rest = re.findall(r"[a-z']+|\d+", f"{core[: match.start()]} {core[match.end() :]}")
    if any(word not in _DAY_FILLERS for word in rest):
        return None
    if name := match["far"] or match["day"]:
        return f"add_days(today(), {_DAYS[name]})"
    if weekday := match["weekday"]:
        return f'{"last" if "past" in match["which"] or match["which"] == "last" else "next"}_weekday("{weekday}")'
    way = (match["way"] or "").strip()
    if not way and not match[0].startswith("in "):
        return None
    amount = 1 if match["n"] in ("a", "an") else int(match["n"])
    unit = match["unit"].rstrip("s")
    amount, unit = (2 * amount, "week") if unit == "fortnight" else (amount, unit)
    return f"add_{unit}s(today(), {-amount if way in ('ago', 'back') else amount})"


_FILLERS_HAN = re.compile(
    r"请问一下|请问|麻烦|告诉我|我想知道|想知道|提醒我一下|提醒我|提醒|我忘了|忘了|帮我|看看|查一?下|算一?下|一下|"
    r"来着|呢|啊|呀|吗|嘛|吧|哦|了|是|那天|那|的|应该|会|大概|到底|你知道|知道|谢谢|你好|对了|话说|,|，|。|!|"
    r"！|\?|？|~|～|\s"
)
_SHIFT_HAN = re.compile(
    r"(?P<n>\d{1,5})个?(?P<unit>天|日|周|星期|礼拜|月|年)(?P<way>以后|之后|过后|后|以前|之前|前)(?:今天)?"
)
_ASKS_DAY_HAN = re.compile(r"几月几[号日]|几[号日]|哪一?天|什么日子|星期几|周几|礼拜几|日期|多少号")
_UNITS_HAN = {
    "天": "days",
    "日": "days",
    "周": "weeks",
    "星期": "weeks",
    "礼拜": "weeks",
    "月": "months",
    "年": "years",
}
_DAYS_HAN = {"大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "明天": 1, "明儿": 1, "明日": 1, "大后天": 3, "后天": 2}


def match_near_day_han(text: str) -> str | None:
    """Return the date of a day that is named by its distance, in Chinese: 三天后是几号."""
    core = replace_chinese_numerals(_FILLERS_HAN.sub("", text.replace("半个月", "15天")))
    if len(core) > MAX_ELEMENTS or not _ASKS_DAY_HAN.search(core):
        return None
    rest = _ASKS_DAY_HAN.sub("", core)
    for name, days in _DAYS_HAN.items():
        if rest == name:
            return f"add_days(today(), {days})"
    match = _SHIFT_HAN.fullmatch(rest.removeprefix("从").removeprefix("今天").removeprefix("起").removeprefix("再过"))
    if match is None:
        return None
    amount = int(match["n"]) * (-1 if "前" in match["way"] else 1)
    return f"add_{_UNITS_HAN[match['unit']]}(today(), {amount})"
