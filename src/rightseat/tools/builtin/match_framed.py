"""Recognizer of calculations inside a longer message: after an introduction, in steps, or with the place said before.

`match_calculation` calls it with a message that is no calculation as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rightseat.tools.builtin.dates import MONTHS, ZONE_BY_CITY, split_date
from rightseat.tools.builtin.expression import is_expression
from rightseat.tools.builtin.match_clauses import MAX_CLAUSES, is_blocked, split_clauses, strip_opening
from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals
from rightseat.tools.builtin.units import UNITS, find_unit

Whole = Callable[[str], str | None]
"""Returns the expression of a clause that is a calculation as a whole."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_DIGIT = re.compile(r"\d|[一二两三四五六七八九十]")
_GENERIC_ASK = re.compile(
    r"(?:so )?(?:what(?:'s| is|s| would| will)?|how much(?: is)?|do you know)?(?: (?:be|is|would))?(?: (?:the|my))?"
    r"(?: (?:answer|result|total|sum|value|outcome|solution))?(?: (?:is|be|that|it|this|to that|to this|of that|"
    r"please|here))*|"
    r"what (?:do|would|will|did) (?:you|i|we|it) (?:get|have|make|come to)(?: then)?|how much (?:does|would) (?:that|"
    r"it) (?:make|be)|"
    r"(?:结果|答案|得数)?(?:是|等于|得|为|应该是)*(?:多少|几|什么)?|utc is fine|utc"
)
_INTRODUCTION = re.compile(
    r"^(?:my|the|our|his|her|this|a)? ?(?:homework|teacher|exercise|book|problem|question|task|sum|kid|son|daughter|"
    r"worksheet|boss|"
    r"calculator|test)(?: (?:says|is|asks|asked|gave me|wants|says to|asks for|asks me|needs|wants to know|"
    r"says that))*[\s:]+|"
    r"^(?:i(?:'m| am)? ?(?:need|want|would like|stuck on|trying to (?:calculate|work out|figure out|solve))|i got)\s+|"
    r"^(?:我?老师|我?作业|题目|孩子|我儿子|我女儿)[^\d]{0,8}?(?:是|问|说|要算)?[:：]?"
)


def match_framed(text: str, match_whole: Whole) -> str | None:
    """Return the expression of the one calculation in a message of several clauses; None if there is none."""
    text = text.lower()
    clauses = split_clauses(text)
    if not 1 <= len(clauses) <= MAX_CLAUSES:
        return None
    if expression := match_framed_time(clauses) or match_framed_day(clauses):
        return expression
    if is_blocked(" ; ".join(clauses)):
        return None
    return match_only_clause(clauses, match_whole) or match_steps(text) or match_framed_conversion(clauses)


def match_only_clause(clauses: list[str], match_whole: Whole) -> str | None:
    """Return the expression of the one clause with numbers, if the others only ask for its result or introduce it."""
    with_numbers = [clause for clause in clauses if re.search(r"\d", replace_english_numerals(clause)) or
                    (_HAN.search(clause) and re.search(r"\d", replace_chinese_numerals(clause)))]  # fmt: skip
    if len(with_numbers) != 1:
        return None
    others = [clause for clause in clauses if clause is not with_numbers[0]]
    asks = [clause for clause in others if _GENERIC_ASK.fullmatch(clause)]
    if any(
        re.search(r"\b(?:how|what|when|does|is|are|can|could)\b|多少|几|吗|什么", clause)
        for clause in others
        if clause not in asks
    ):
        return None
    core = strip_opening(with_numbers[0])
    bare = _INTRODUCTION.sub("", core)
    for candidate in dict.fromkeys((core, bare, strip_opening(bare))):
        is_sure = asks or candidate != with_numbers[0] or re.search(r"[*+×÷^]|[a-z]{3}|[加减乘除]|等于|多少", candidate)
        if candidate and is_sure and (expression := match_whole(candidate)):
            return expression
    return None


_STEP_BREAK = re.compile(
    r"(?:[,.，。;；]\s*)?(?:\b(?:and )?(?:then|after that|finally|afterwards)\b|然后再|然后|接着|最后|再)\s*,?\s*|"
    r"[,，.。](?!\d)\s*(?:and )?|"
    r"\s+and\s+(?=(?:add|subtract|multiply|divide|divided|minus|plus|times|double|halve|take away)\b)"
)
_SIGNS = {
    "add": "+", "plus": "+", "subtract": "-", "minus": "-", "take away": "-", "multiply": "*", "multiplied": "*",
    "times": "*", "divide": "/", "divided": "/", "加上": "+", "加": "+", "减去": "-", "减掉": "-", "减": "-",
    "乘以": "*", "乘上": "*", "乘": "*", "除以": "/",
}  # fmt: skip
_N = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_STEP = re.compile(
    rf"(?:用|把)?(?:这个数|结果|它)?(?P<word>{'|'.join(sorted(_SIGNS, key=len, reverse=True))})"
    rf"(?: (?:it|that|this|the result|the sum|everything))*(?: (?:by|to|from))?\s*(?P<n>{_N})(?: (?:from|to) (?:it|"
    rf"that|this))?"
)
_FIRST = re.compile(
    rf"(?:(?:what is|what's|whats|what do you get if you|if i|if you|i|用|先用|先把|先)\s*)?(?:take|start with|"
    rf"starting with|begin with|"
    rf"start from|from)?\s*(?P<n>{_N})"
)
_FIRST_PAIR = re.compile(
    rf"(?:(?:先|用|what is|what's|whats|calculate|compute|what do you get (?:if|when) you|if (?:i|you)|first|i)\s*)*"
    rf"(?:(?P<verb>add|multiply|divide|subtract) (?P<c>{_N}) (?:to|and|by|from|with) (?P<d>{_N})|"
    rf"(?P<a>{_N})\s*(?P<word>plus|minus|times|multiplied by|divided by|加上|加|减去|减|乘以|乘|除以|"
    rf"[-+*/x×÷])\s*(?P<b>{_N}))(?:的[和差积商])?"
)
_STEP_END = re.compile(
    r"(?:[,，\s]*(?:what(?:'s| is)(?: the (?:result|answer))?(?: it| that)?|what do (?:you|i) get|"
    r"how much is (?:that|it)|等于|是|得|结果|"
    r"为|多少|几|=|呢|啊|呀|please|pls|谢谢|that|it|这样|最后))*[\s?？!！.。]*$"
)


def match_steps(text: str) -> str | None:
    """Return the expression of operations one after the other: `take 15, multiply it by 4 and add 10`."""
    plain = replace_chinese_numerals(text.replace(" ", "")) if _HAN.search(text) else replace_english_numerals(text)
    core = strip_opening(_STEP_END.sub("", plain))
    first, *steps = [part.strip() for part in _STEP_BREAK.split(core) if part and part.strip()] or [""]
    if not steps or len(steps) > 6:
        return None
    expression = read_first_step(first)
    for step in steps:
        match = _STEP.fullmatch(step)
        if expression is None or match is None:
            return None
        sign = _SIGNS[match["word"]]
        left = f"({expression})" if sign in "*/" and re.search(r"[-+]", expression) else expression
        expression = f"{left} {sign} {match['n'].replace(',', '')}"
    return expression if expression and is_expression(expression) else None


def read_first_step(text: str) -> str | None:
    if match := _FIRST.fullmatch(text):
        return match["n"].replace(",", "")
    match = _FIRST_PAIR.fullmatch(text)
    if match is None:
        return None
    if match["verb"]:
        sign = {"add": "+", "multiply": "*", "divide": "/", "subtract": "-"}[match["verb"]]
        first, second = (match["d"], match["c"]) if match["verb"] == "subtract" else (match["c"], match["d"])
    else:
        word = match["word"].removesuffix(" by")
        sign = _SIGNS.get(word) or {"x": "*", "×": "*", "÷": "/"}.get(word, word)
        first, second = match["a"], match["b"]
    return f"{first} {sign} {second}".replace(",", "")


_UNIT_NAMES = "|".join(
    sorted((re.escape(name) for name in UNITS if len(name) > 1 or _HAN.match(name)), key=len, reverse=True)
)
_TEMPERATURES = r"(?:degrees? )?(?:fahrenheit|celsius|°f|°c|f|c)|华氏度|摄氏度"
_AMOUNT = re.compile(rf"(?<![\d.a-z])(?P<n>{_N}|半)\s?(?P<unit>{_TEMPERATURES}|{_UNIT_NAMES})(?![a-z])")
_TARGET = re.compile(
    rf"(?:(?:so )?how many (?P<a>{_UNIT_NAMES})(?: (?:is|are|does|do|would|will) (?:that|it|this|they)(?: be| weigh|"
    rf" make)?)?|"
    rf"(?:what(?:'s| is|s)|how much is|how (?:far|long|tall|heavy|hot|cold|warm) is) (?:that|it|"
    rf"this) in (?P<b>{_TEMPERATURES}|{_UNIT_NAMES})|"
    rf"(?:换算成|换成|等于|是|合|折合|相当于|那是)*(?:多少|几)个?(?P<c>摄氏度|华氏度|{_UNIT_NAMES})|"
    rf"(?:换算成|转换成|换成|转成|折合成?)(?P<d>摄氏度|华氏度|{_UNIT_NAMES})(?:是|等于|有)?(?:多少)?)(?:呢|啊|呀)?"
)  # fmt: skip
_INLINE_TARGET = re.compile(rf"(?:in|to|into)\s+(?P<e>{_TEMPERATURES}|{_UNIT_NAMES})")

_IS_HOW_MANY = re.compile(rf"(?:[a-z]+ ){{0,2}}(?:is|are|equals|lasts) how many (?P<f>{_UNIT_NAMES})")


def match_framed_conversion(clauses: list[str]) -> str | None:
    """Return the conversion of the one amount of a message: `my bag weighs 23 kg, how many pounds is that`."""
    text = " ; ".join(clauses)
    plain = replace_chinese_numerals(text) if _HAN.search(text) else replace_english_numerals(text)
    amounts = list(_AMOUNT.finditer(plain))
    if len(amounts) != 1 or len(re.findall(r"\d+(?:\.\d+)?", plain.replace(",", ""))) != 1:
        return None
    last = clauses[-1]
    match = _TARGET.fullmatch(last) if len(clauses) > 1 else None
    if match is None and len(clauses) == 1:
        rest = plain[amounts[0].end() :].strip()
        before = plain[: amounts[0].start()].strip()
        if not re.fullmatch(
            r"(?:(?:how (?:tall|long|far|heavy|hot|cold|big|much|warm) is|what is|what's|convert|i want|to|i|need|"
            r"know|an?)\s*)*",
            before,
        ):
            return None
        match = _INLINE_TARGET.fullmatch(rest) or _IS_HOW_MANY.fullmatch(rest)
    if match is None:
        return None
    target = find_unit(next(filter(None, match.groups())))
    source = find_unit(amounts[0]["unit"])
    if source is None or target is None or source == target:
        return None
    expression = f'convert({amounts[0]["n"].replace(",", "")}, "{source}", "{target}")'
    return expression if is_expression(expression) else None


_NOW_WORDS = (
    r"(?:right now|now|currently|at the moment|at present|there|over there|for (?:her|him|them)|please|pls|today|"
    r"exactly)"
)
_ASKS_TIME = re.compile(
    rf"(?:(?:and|so|but|do you know|you know|any idea|tell me|can you tell me|could you tell me|i wonder|got) )*"
    rf"(?:what(?:'s| is|s)? (?:the )?(?:current |local |exact )?time(?: is it| would it be| is it going to be| it is|"
    rf" zone)?|what time|"
    rf"the time|time)(?: (?:is|would|it|be|have|has|you|she|he|they|do|"
    rf"does))*(?P<rest>(?: {_NOW_WORDS})*(?: in (?P<city>[a-z .]{{2,25}}?))?(?: {_NOW_WORDS})*)"
)
_ASKS_TIME_HAN = re.compile(
    r"(?:请问|那|帮我看看|帮我看下|看看|知道)*(?P<who>(?:他|她|他们|她们)?(?:那边|那里|那儿|当地|那))?(?:现在|目前|"
    r"此刻|这会儿)?(?:是|的时间是|时间是)?(?:几点钟?|什么时间)(?:了|钟|啊|呀|呢)*"
)
_THERE = re.compile(r"\b(?:there|her|him|them|she|he|they|local)\b|那边|那里|那儿|当地|他|她")
_CITIES = sorted((re.escape(city) for city in ZONE_BY_CITY if len(city) > 2 and not _HAN.match(city)), key=len)
_HAN_CITIES = sorted((city for city in ZONE_BY_CITY if _HAN.match(city)), key=len)
_CITY = re.compile(rf"(?<![a-z])(?:{'|'.join(reversed(_CITIES))})(?![a-z])|{'|'.join(reversed(_HAN_CITIES))}")


def match_framed_time(clauses: list[str]) -> str | None:
    """Return the expression for the time now, where the place may be in a clause before: `my sister lives in Rome`."""
    asking = [clause for clause in clauses if re.search(r"\btime\b|几点|什么时间", clause)]
    if len(asking) != 1 or any(re.search(r"\d", clause) for clause in clauses):
        return None
    others = [clause for clause in clauses if clause is not asking[0]]
    match = _ASKS_TIME.fullmatch(asking[0]) or _ASKS_TIME_HAN.fullmatch(asking[0])
    if match is None or any(
        re.search(r"\b(?:what|when|should|how|why|zone|timer)\b|什么|怎么|吗", clause) for clause in others
    ):
        return None
    groups = match.groupdict()
    city = (groups.get("city") or "").removeprefix("the ").strip(" .")
    places = list(dict.fromkeys(found[0] for clause in others for found in _CITY.finditer(clause)))
    if city:
        return f'now("{city.title()}")' if city in ZONE_BY_CITY and len(places) == 0 else None
    if asking[0] in ("time", "the time", "what time"):
        return None
    if not places:
        refers = _THERE.search(asking[0])
        return None if refers or any(clause not in ("utc is fine", "utc") for clause in others) else "now()"
    if len(places) > 1:
        return None
    if places[0] in ("utc", "gmt"):
        return "now()"
    lives_there = re.search(r"\b(?:live|am|i'm|are|we're) (?:in|at)\b|我(?:们)?(?:在|住)", " ; ".join(others))
    if not _THERE.search(asking[0]) and not lives_there:
        return None
    return f'now("{places[0].title()}")'


_MONTH_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"(?<!\d)(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号]?|(?:the )?\d{{1,2}}(?:st|nd|rd|"
    rf"th)? (?:of )?(?:{_MONTH_NAMES})"
    rf"(?:,? \d{{4}})?|\b(?:{_MONTH_NAMES}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)(?![a-z\d-])"
)
_ASKS_DAYS_LEFT = re.compile(
    r"(?:so |and )?how (?:many days|long)(?: (?:is|are|it|there|left|do|i|we|have|until|till|then|that|to|go|"
    r"remaining|still|away|before|from|now))*|"
    r"(?:现在)?(?:离现在|距离现在|距今)?(?:还有|还剩|还要等|还要)(?:多少|几)天(?:了|呢|啊)?"
)


def match_framed_day(clauses: list[str]) -> str | None:
    """Return the days until the one date of a message: `my exam is on 12 December, how many days do I have left?`."""
    if (
        len(clauses) < 2
        or not _ASKS_DAYS_LEFT.fullmatch(clauses[-1])
        or not re.search(r"left|until|till|go|还|remaining|away|before", clauses[-1])
    ):
        return None
    dates = [match[0] for clause in clauses[:-1] for match in _DATE.finditer(clause)]
    rest = " ".join(_DATE.sub("", clause) for clause in clauses[:-1])
    fields = split_date(dates[0].removeprefix("the ")) if len(dates) == 1 else None
    if fields is None or re.search(r"\d|\bago\b|\bwas\b|去年|上个?月", rest):
        return None
    year, month, day = fields
    expression = (
        f'days_between(today(), date("{year:04}-{month:02}-{day:02}"))'
        if year
        else f"days_between(today(), next_date({month}, {day}))"
    )
    return expression if is_expression(expression) else None
