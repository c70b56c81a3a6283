"""Quantities of a word problem: each number of a message with its unit and what it is counted by."""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct, structs

from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals

MONEY, PERCENT, FACTOR, COUNT, EACH = "money", "percent", "factor", "count", "each"
MAX_QUANTITIES = 8


class Quantity(Struct, frozen=True):
    """Number of a message: `3 dollars per kg` is 3, money, by kg."""

    text: str
    unit: str = ""
    """`money`, `percent`, `factor`, a unit or a counted noun; empty if none is named."""
    per: str = ""
    noun: str = ""
    clause: int = 0
    before: str = ""
    """The words of its clause before it, up to the number before."""
    after: str = ""
    is_optional_rate: bool = False
    """Whether `per` may be a mere article: `a book has 320 pages`."""

    @property
    def value(self) -> Decimal:
        return Decimal(self.text) if re.fullmatch(r"\d+(?:\.\d+)?", self.text) else Decimal(-1)


def set_unit(quantity: Quantity, unit: str) -> Quantity:
    return structs.replace(quantity, unit=unit)


# Each line is a unit and its spellings.
_SPELLINGS = """
money: $ € £ dollar dollars euro euros buck bucks usd eur quid yuan rmb 元 块 块钱 元钱
percent: % percent
km: km kms kilometer kilometers kilometre kilometres 公里 千米
mile: mile miles mi
m: m meter meters metre metres 米
cm: cm centimeters 厘米
hour: hour hours h hr hrs 小时 个小时 钟头 个钟头
minute: minute minutes min mins 分钟
day: day days 天 日
week: week weeks 周 星期 个星期 礼拜 个礼拜
month: month months 月 个月
year: year years yr yrs 年
age: 岁
kg: kg kilo kilos kilogram kilograms 公斤 千克
g: g gram grams 克
l: l liter liters litre litres 升
person: people person persons us friends friend guests guest colleagues 人 个人 个小朋友 个孩子 个同学 位
"""
UNITS = {
    name: unit.strip()
    for unit, _, names in (line.partition(":") for line in _SPELLINGS.strip().splitlines())
    for name in names.split()
}
DISTANCES = frozenset(("km", "mile", "m"))
TIMES = frozenset(("minute", "hour", "day", "week", "month", "year"))
_NO_NOUN_WORDS = """
a an the of in on at by for from to with and or per each every is are was were be been has have had do does did i we you
he she it they my our your his her their this that then plus minus times off more less older younger total altogether
now how what whats if so but than before after note bill left away back out as there all both between among into over
under up down one discount tip tax vat raise increase flew gave lost ate split shared
"""
_NO_NOUNS = frozenset(_NO_NOUN_WORDS.split())
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_ENGLISH_NUMBER = re.compile(
    rf"(?P<sign>[$€£]\s?)?(?P<number>{_NUMBER})(?P<tail>\s?%|\s?[€£$]|\s?km/h|\s?kmh|\s?kph|\s?mph|\s?m/s|[a-z]+)?"
    r"(?P<words>(?:[ -][a-z']+){0,3})"
)
# Numbers that count nothing: codes, times of day, dates, labels.
_ODD_NUMBER = re.compile(
    r"[a-z_#@:/\\-]\d|\d[:/#_'\"\\-]\d|\d\s?(?:am|pm|a\.m|p\.m|o'clock|st|nd|rd|th)\b|\d\.\d+\.\d|\+\d|"
    r"\b(?:room|table|size|page|chapter|gate|terminal|(?:my|the|an?) order|number|no|nr|version|flight|bus|line|"
    r"route|level|grade|class|"
    r"floor|apartment|flat|channel|season|episode|windows|python|iphone|at|since|until|till|born in|year|ps|day|"
    r"aged|born)\.? \d+(?!\.\d)(?! ?(?:%|percent|\$|€|£|dollars?|euros?|km|mph|mi\b|each|a\b|per\b|kg|bucks))"
    r"(?=\D|$)|\b(?:january|february|march|april|june|july|august|september|october|november|december|jan|feb|mar|apr|"
    r"jun|jul|aug|sept?|oct|nov|dec) \d|\d (?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december)\b|\bin (?:19|20)\d\d\b"
)
_AT_PRICE = re.compile(r"\bat\s+(?=[$€£]?\d)")


def read_english(clauses: list[str]) -> list[Quantity] | None:
    """Return the quantities of English clauses; None if a number in them counts nothing."""
    quantities: list[Quantity] = []
    has_price_by_dozen = any(re.search(r"\b(?:a|per|each|every) dozen\b", clause) for clause in clauses)
    for index, clause in enumerate(clauses):
        text = prepare_english(clause, keep_dozen=has_price_by_dozen)
        if _ODD_NUMBER.search(_AT_PRICE.sub("for ", text)):
            return None
        end = 0
        for match in _ENGLISH_NUMBER.finditer(text):
            quantity = read_english_quantity(match, text, index, text[end : match.start()])
            if quantity is None or len(quantities) >= MAX_QUANTITIES:
                return None
            quantities.append(quantity)
            end = match.end("tail") if match["tail"] else match.end("number")
    return quantities


def prepare_english(clause: str, *, keep_dozen: bool) -> str:
    text = re.sub(r"\bone\b(?= [a-z]+ (?:is|costs?|has|are|for)\b)", "a", clause)
    text = re.sub(r"\b(?:each|every|that|this|which|no|any|some|someone|no|the) one\b|\bone of\b", "it", text)
    text = re.sub(r"\bhalf (?:a|an) (hour|kg|kilo|liter|litre|pound|year|mile)\b", r"0.5 \1", text)
    text = replace_english_numerals(re.sub(r"\bhalf a dozen\b", "6", text))
    if not keep_dozen:
        text = re.sub(r"\b(\d+) dozens?\b", lambda match: str(12 * int(match[1])) if len(match[1]) < 9 else "#1", text)
        text = re.sub(r"\b(?:a|1) dozen\b", "12", text)
    return text


def read_english_quantity(match: re.Match[str], text: str, clause: int, before: str) -> Quantity | None:
    number = match["number"].replace(",", "")
    tail = (match["tail"] or "").strip()
    words = match["words"].replace("-", " ").split()
    rest = text[match.end("tail") if match["tail"] else match.end("number") :]
    if tail in ("km/h", "kmh", "kph", "mph", "m/s"):
        distance, time = {"mph": ("mile", "hour"), "m/s": ("m", "second")}.get(tail, ("km", "hour"))
        return Quantity(number, distance, time, "", clause, before, rest)
    unit = MONEY if match["sign"] else UNITS.get(tail, "")
    if tail and not unit:
        return None
    noun = ""
    if not unit and words:
        unit, noun, words = read_english_unit(words)
        if noun in UNITS and words and words[0] not in _NO_NOUNS and words[0] not in UNITS:
            # `250 g flour per cake`
            noun = words[0]
    elif words and words[0] in UNITS and UNITS[words[0]] == unit:
        words = words[1:]
    per, rest = find_english_rate(before, rest)
    is_article = per.startswith("~")
    return Quantity(number, unit, per.lstrip("~"), noun, clause, before, rest, is_article)


def read_english_unit(words: list[str]) -> tuple[str, str, list[str]]:
    """Return unit and noun of the words after a number, and the words behind them."""
    if words[0] == "of" and words[1:2] == ["us"]:
        return "person", "us", words[2:]
    if UNITS.get(words[0]) == "year" and words[1:2] == ["old"]:
        return "age", words[0], words[2:]
    if words[0] in UNITS:
        return UNITS[words[0]], words[0], words[1:]
    if words[0] in _NO_NOUNS:
        return "", "", words
    noun = words[0]
    if not noun.endswith("s") and len(words) > 1 and words[1].endswith("s") and words[1] not in _NO_NOUNS:
        noun = words[1]
    return to_singular(noun), noun, words[1:]


def to_singular(noun: str) -> str:
    if noun in UNITS:
        return UNITS[noun]
    irregular = {
        "children": "child",
        "men": "man",
        "women": "woman",
        "mice": "mouse",
        "shelves": "shelf",
        "loaves": "loaf",
    }
    if noun in irregular:
        return irregular[noun]
    for ending, single in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("sses", "ss"), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 1 and not noun.endswith("ss"):
            return "cookie" if noun == "cookies" else noun[: -len(ending)] + single
    return noun


_PER_AFTER = re.compile(
    r"\s*(?:\b(?:in|on|for) (?=each|every))?(?:(?P<word>\b(?:each|every|per|an?|apiece)\b|/)(?:\s*(?P<unit>[a-z]+))?)"
)
_PER_AFTER_WORDS = re.compile(r"\s*(?P<word>\b(?:each|every|per)\b)(?:\s*(?P<unit>[a-z]+))?")
_PER_BEFORE = re.compile(
    r"(?:^|\b(?:if|when|and|but) )(?:(?P<every>each|every|per)|an?) (?:[a-z]+ )?(?P<unit>[a-z]+)(?: of [a-z]+)? "
    r"(?:is|are|costs?|has|holds|contains|for|weighs|takes|was|cost|sells for|goes for)(?: about)?\s*[$€£]?$"
)
_NO_RATE_WORDS = "lot bit few tip discount total note bill good raise different while"
_PER_WORDS = frozenset(_NO_RATE_WORDS.split())


_OWN_WORDS = re.compile(r"\s*(?!(?:each|every|per|an?|apiece|and|or|in|on|at|for|to|is|are|of|with)\b)[a-z]+")


def find_english_rate(before: str, rest: str) -> tuple[str, str]:
    """Return what a quantity is counted by, with `~` for a mere article, and the words behind it."""
    texts = [rest]
    while len(texts) < 3 and (own := _OWN_WORDS.match(texts[-1])):
        texts.append(texts[-1][own.end() :])
    for at, text in enumerate(texts):
        # `5 colleagues share a taxi`: behind two words an article counts nothing.
        match = (_PER_AFTER if at < 2 else _PER_AFTER_WORDS).match(text)
        if match is None:
            continue
        unit = match["unit"] or ""
        if unit in ("piece", "item", "unit", "one") or (
            match["word"] in ("each", "apiece") and unit in _NO_NOUNS | {""}
        ):
            return EACH, text[match.end() :]
        if unit and unit not in _PER_WORDS and unit not in _NO_NOUNS:
            return to_singular(unit), text[match.end() :]
    if re.search(r"(?:\bat|@)\s*[$€£]?$", before):
        return EACH, rest
    if match := _PER_BEFORE.search(before):
        return ("" if match["every"] else "~") + to_singular(match["unit"]), rest
    if match := re.search(r"^(?:each|every) (?P<unit>[a-z]+)(?: [a-z]+){1,3}\s*[$€£]?$", before):
        return to_singular(match["unit"]), rest
    if match := re.search(r"\b(?:every|each|per) (hour|day|week|month|year)(?: [a-z]+){0,3}\s*[$€£]?$", before):
        return match[1], rest
    return "", rest


_MEASURE_WORDS = """
公斤 千克 公里 千米 厘米 平方米 个小时 小时 个钟头 钟头 分钟 个星期 星期 个礼拜 礼拜 个月 个小朋友 个孩子 个同学 个人
块钱 元钱 斤 克 吨 升 米 元 块 天 日 周 月 年 岁 个 只 支 本 张 件 杯 打 盒 瓶 条 双 把 台 部 套 箱 袋 包 份 桶 颗 棵
位 名 人 页 道 辆 排 行 层 间 束 朵 片 碗 盘 根 节 题 次 组 头 匹 架 篮 罐 串 枝 趟 门 篇 字 户
"""
MEASURES = frozenset(_MEASURE_WORDS.split())
_MEASURES = "|".join(sorted(MEASURES, key=len, reverse=True))
_CHINESE_NUMBER = re.compile(
    rf"(?P<sign>[¥￥$])?(?P<number>\d+(?:\.\d+)?)(?:(?P<percent>%)|(?P<fold>折)|(?P<measure>{_MEASURES}))?"
    rf"(?P<noun>[^\d,，。?？!！%]{{0,4}})"
)
_ODD_CHINESE = re.compile(
    r"[a-zA-Z_#:/-]\d|\d[:/_-]\d|\d[a-zA-Z]|\d(?:点|号|时(?!薪|速)|分之|月\d|比\d)|第\d|\d\.\d+\.\d|周\d|星期\d|"
    r"\d{4}年|毛|角|初\d"
)
# Words with a numeral that counts nothing, and what replaces each.
_PHRASES = (
    ("一共", "总共"), ("一起", "总共"), ("一下", ""), ("一般", "通常"), ("一些", ""), ("一点", ""), ("一直", ""),
    ("百分比", "比率"), ("百分之几", "多少比率"), ("统一", ""), ("一半", "半"), ("一定", ""), ("两地", "地"),
)  # fmt: skip
_MONEY_TENTHS = re.compile(
    rf"([\d一二两三四五六七八九十百]+)[块元]([\d一二两三四五六七八九])(?![\d十百千]|{_MEASURES})"
)


def read_chinese(clauses: list[str]) -> list[Quantity] | None:
    """Return the quantities of Chinese clauses; None if a number in them counts nothing."""
    quantities: list[Quantity] = []
    for index, clause in enumerate(clauses):
        text = prepare_chinese(clause)
        if _ODD_CHINESE.search(text) or "半" in text:
            return None
        end = 0
        for match in _CHINESE_NUMBER.finditer(text):
            quantity = read_chinese_quantity(match, text, index, text[end : match.start()])
            if len(quantities) >= MAX_QUANTITIES:
                return None
            quantities.append(quantity)
            end = match.end("measure") if match["measure"] else match.end("number")
    return bind_chinese_rates(quantities)


def prepare_chinese(clause: str) -> str:
    """Return a clause with digits: 6块8 is 6.8元, 半斤 is 0.5斤, 两斤半 is 2.5斤, 八五折 is 8.5折."""
    text = clause.replace(" ", "")
    for phrase, plain in _PHRASES:
        text = text.replace(phrase, plain)
    text = _MONEY_TENTHS.sub(
        lambda match: f"{replace_chinese_numerals(match[1])}.{replace_chinese_numerals(match[2])}元", text
    )
    text = re.sub(r"百分之([零一二两三四五六七八九十百\d.]+)", r"\1%", text)
    text = re.sub(r"打?([一二三四五六七八九])([一二三四五六七八九])折", r"打\1点\2折", text)
    text = replace_chinese_numerals(text)
    text = re.sub(r"打?(?<!\d)([1-9])([1-9])折", r"打\1.\2折", text)
    text = re.sub(r"(?<![\d个])半(个小时|个钟头|斤|公斤|千克|小时|升|米|年|天|打)", r"0.5\1", text)
    return re.sub(r"(?<![\d.])(\d+)(斤|公斤|个小时|小时|升|米|年|天)半", r"\1.5\2", text)


def read_chinese_quantity(match: re.Match[str], text: str, clause: int, before: str) -> Quantity:
    number, measure = match["number"], match["measure"] or ""
    rest = text[match.end("measure") if measure else match.end("number") :]
    if match["fold"]:
        factor = Decimal(number) / 10
        return Quantity(format(factor, "f"), FACTOR, clause=clause, before=before, after=rest)
    unit = MONEY if match["sign"] else PERCENT if match["percent"] else UNITS.get(measure, measure)
    if (
        not unit
        and match["noun"]
        and not re.match(r"[的了是打涨加减乘除再和又每在降便要该应]|左右|多少", match["noun"])
    ):
        # A measure that is not listed: 7顶帽子.
        unit = match["noun"][0]
    noun = re.split(r"[的了有是吃买要共能每花打分给和在在,]", match["noun"] or "")[0]
    return Quantity(number, unit, "", noun, clause, before, rest)


_EVERY = re.compile(rf"每(?:1)?(?P<unit>{_MEASURES})[^\d]{{0,8}}$")
_SPEED_WORD = re.compile(r"(?P<word>时速|时薪|月薪|日薪|周薪|年薪)[^\d]{0,3}$")
_SPEED_PER = {"时速": "hour", "时薪": "hour", "日薪": "day", "周薪": "week", "年薪": "year", "月薪": "month"}


def bind_chinese_rates(quantities: list[Quantity]) -> list[Quantity]:
    """Return the quantities with their rates: 6元一斤 and 一支笔2元 are money by a measure."""
    bound: list[Quantity] = []
    skip = -1
    for at, quantity in enumerate(quantities):
        if at == skip:
            continue
        following = quantities[at + 1] if at + 1 < len(quantities) else None
        if match := _EVERY.search(quantity.before):
            quantity = structs.replace(quantity, per=UNITS.get(match["unit"], match["unit"]))
        elif match := _SPEED_WORD.search(quantity.before):
            quantity = structs.replace(
                quantity, per=_SPEED_PER[match["word"]], is_optional_rate=match["word"] == "月薪"
            )
        elif match := re.match(rf"(?:每|/)1?(?P<unit>{_MEASURES})", quantity.after):
            quantity = structs.replace(quantity, per=UNITS.get(match["unit"], match["unit"]))
        elif following and is_one(following) and following.clause == quantity.clause and following.before == "":
            quantity = structs.replace(quantity, per=following.unit)
            skip = at + 1
        elif is_one(quantity) and following and is_counted_by(following, quantity):
            per = quantity.unit
            quantity = structs.replace(following, per=per, is_optional_rate=True)
            skip = at + 1
        if is_one(quantity) and following and following.clause == quantity.clause and quantity.unit not in TIMES:
            continue
        bound.append(quantity)
    return bound


def is_counted_by(quantity: Quantity, one: Quantity) -> bool:
    """Whether a quantity belongs to the article before it: 一支笔2元; not 一辆车速度是60公里每小时."""
    has_own_rate = (
        _EVERY.search(quantity.before) or _SPEED_WORD.search(quantity.before) or quantity.after[:1] in ("每", "/")
    )
    return quantity.clause == one.clause and quantity.unit != one.unit and not has_own_rate


def is_one(quantity: Quantity) -> bool:
    """Whether a quantity is `one` of something, as an article is."""
    return quantity.text == "1" and quantity.unit not in ("", MONEY, PERCENT, FACTOR)
