"""What a word problem asks for: its goal, its unit, and whether it is a total or a share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rightseat.tools.builtin.match_quantities import MEASURES, MONEY, UNITS, prepare_chinese, to_singular

_MONEY_WORDS = re.compile(
    r"[$€£¥￥]|\b(?:costs?|prices?|pay|pays|paid|spend|spent|bill|rent|salary|earns?|wage|dollars?|euros?|bucks|money|"
    r"total|discount|tip|note|cashier|fee|bought|buy|saved?|plan|for sale)\b|[元块]|钱|价|费|工资|月薪|时薪|房租|"
    r"消费|花|付|存"
)
_ASKS = re.compile(
    r"\b(?:how (?:much|many|far|long|old|fast|big)|whats?|what's|total|final price|new price|altogether|each|"
    r"percentage)\b|^split\b|\bsplit \d+ ways|(?:%|percent) off$|"
    r"多少|几|多远|多久|多长|多大|总共$|合计$"
)
_GOALS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("perimeter", r"\bperimeter\b|周长"),
        ("area", r"\barea\b|面积"),
        ("change", r"\bchange\b|\bback\b|找(?:我|给|回|你|零|钱)?.{0,3}多少|找回|找零"),
        ("percent", r"\b(?:percent|percentage)\b(?! (?:tip|off|discount|raise|tax))|百分比|百分之几|率"),
        ("age", r"\bhow old\b|几岁|多少岁|多大"),
        ("speed", r"\bspeed\b|\bhow fast\b|速度"),
        ("average", r"\baverage\b|\bmean\b|平均(?:数|值|分)"),
        ("left", r"\b(?:left|remain\w*|still have)\b|还?剩|还有[几多]"),
        ("tip", r"\b(?:what|whats|what's|how much).{0,30}\btip\b|小费(?:是|要)?多少"),
        ("profit", r"\bprofit\b|赚了?多少|盈利"),
        ("save", r"\bhow much (?:do|will|would|did|can) (?:i|we|you) save\b|便宜了?多少|省了?多少"),
    )
)
_TOTAL = re.compile(
    r"\b(?:total|altogether|all together|in all|sum|everything|overall|combined|together|did (?:i|we|he|"
    r"she) (?:spend|pay))\b|"
    r"总共|合计|总计|加起来"
)
_SPLIT = re.compile(
    r"\b(?:split|shared?|divided?|each|per (?:person|head)|everyone|"
    r"equally|evenly)\b|平分|平摊|aa|均分|分摊|分给|人均|每人|每个人|每个孩子|每个小朋友"
)
HYPERNYMS = re.compile(
    r"fruit|animal|pet|thing|item|people|person|toy|水果|动物|东西|人|玩具|文具|商品|学生|同学|乘客|孩子"
)


class Asked(Struct, frozen=True):
    """What a problem asks for."""

    clause: str
    goal: str = ""
    unit: str = ""
    per: str = ""
    noun: str = ""
    is_total: bool = False
    is_split: bool = False


def find_asked(clauses: Sequence[str], *, chinese: bool) -> Asked | None:
    """Return what the last asking clause asks for; None if no clause asks for an amount."""
    asking = [clause for clause in clauses if _ASKS.search(clause)]
    if not asking:
        return None
    clause = prepare_chinese(asking[-1]) if chinese else asking[-1]
    goal = next((name for name, pattern in _GOALS if pattern.search(clause)), "")
    unit, noun = (find_chinese_unit if chinese else find_english_unit)(clause)
    whole = " ; ".join(clauses)
    asks_price = re.search(r"\bhow much(?: (?:is|are|do|does|did|for|will|would|in|total|to pay))?\b", clause)
    if not unit and not noun and (asks_price or _MONEY_WORDS.search(whole)):
        unit = MONEY
    if noun and goal != "percent" and not is_known_noun(noun, clauses, asking[-1]):
        return None
    if not goal and is_tip_asked(whole, clause):
        goal = "tip"
    # 平分 may stand in a clause before the question.
    split = _SPLIT.search(clause) or re.search(r"\b(?:split|shared?)\b|平分|平摊|aa|均分|分摊", whole)
    return Asked(clause, goal, unit, find_period(clause), noun, bool(_TOTAL.search(clause)), bool(split))


def is_tip_asked(whole: str, clause: str) -> bool:
    """Whether the tip is asked for, and not the bill with it."""
    tips = re.search(r"(?:%|percent) tip\b|\btip (?:of )?\d", whole)
    adds = re.search(r"\b(?:with|plus|including|and) (?:a )?\d+(?:\.\d+)? ?(?:%|percent) tip", whole)
    return bool(tips) and not adds and not re.search(r"\b(?:total|altogether|pay|bill|each|all|everything)\b", clause)


def is_known_noun(noun: str, clauses: Sequence[str], asking: str) -> bool:
    """Whether the message speaks of what it asks for: no number of oranges follows from apples and pears."""
    bare = next(
        (noun.removeprefix(name) for name in sorted(MEASURES, key=len, reverse=True) if noun.startswith(name)), noun
    )
    others = " ; ".join(clause for clause in clauses if clause is not asking)
    before = asking.partition("how many")[0] + asking.partition("how many")[2].replace(noun, "", 1)
    single = to_singular(noun)
    if not bare or noun in UNITS or HYPERNYMS.search(noun):
        return True
    if re.search(r"[a-z]", noun):
        return bool(re.search(rf"\b{re.escape(single)}", f"{others} ; {before}"))
    return bare[:2] in others or bare[:1] in "人" or bool(re.match(r"[能可会要才就]", bare)) or bare[-1:] in "呢了"


_HOW_MANY = re.compile(r"\bhow (?:many|much) (?P<noun>(?!(?:is|are|do|does|did|will|would|should|was|were|for|it|"
r"each|in|to|change|"
                       r"money|total|altogether|i|we|left|per|now|of|if|tip|the|a|an|from|could|can|more|all|they|"
                       r"everything|together)\b)[a-z]+)(?: (?P<second>[a-z]+s)\b)?")  # fmt: skip


def find_english_unit(clause: str) -> tuple[str, str]:
    if re.search(r"\bhow far\b|\bwhat distance\b", clause):
        return "distance", ""
    if re.search(r"\bhow long\b", clause):
        return "time", ""
    if match := _HOW_MANY.search(clause):
        noun = match["noun"]
        return (MONEY, "") if noun in ("dollars", "euros") else (to_singular(noun), noun)
    return "", ""


def find_chinese_unit(clause: str) -> tuple[str, str]:
    if re.search(r"多远|多少路", clause):
        return "distance", ""
    if re.search(r"多久|多长时间", clause):
        return "time", ""
    if re.search(r"(?:多少|几)(?:块?钱|元|块)", clause):
        return MONEY, ""
    match = re.search(r"(?:多少|几)(?P<rest>[^\d?,]{1,6})", clause)
    if not match:
        return "", ""
    rest = re.sub(r"(?:呢|啊|呀|吗|了)$", "", match["rest"])
    unit = next((name for name in sorted(UNITS, key=len, reverse=True) if rest.startswith(name)), "")
    if unit:
        return UNITS[unit], rest
    if re.match(r"个?(?:学生|同学|乘客|孩子|小朋友|员工)", rest):
        return "person", rest
    return (rest[0], rest) if rest else ("", "")


def find_period(clause: str) -> str:
    """Return the period that a question names: `per year`, 一年."""
    match = re.search(
        r"\b(?:per|a|an|each|every|in a|in one) (day|week|month|year|hour)\b|(?<!\d)1个?(天|周|星期|月|年|小时)", clause
    )
    if not match:
        return ""
    return match[1] or UNITS.get(match[2], "")
