"""Question about a table: its operation, its times and numbers, and the words that say what it is about."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from msgspec import Struct

from rightseat.tools.builtin.table_text import SCALES
from rightseat.tools.tables.tickers import find_tickers
from rightseat.tools.tables.times import FoundTime, TimePoint, fill_years, find_times
from rightseat.tools.tables.words import COMPARISONS, Terms, find_terms, load_lexicon

MAX_QUESTION = 600
_NUMBER_WORDS_TEXT = """
one two three four five six seven eight nine ten eleven twelve
"""
_NUMBER_WORDS = {
    **{word: number for number, word in enumerate(_NUMBER_WORDS_TEXT.split(), 1)},
    **{word: number for number, word in enumerate("一二三四五六七八九十", 1)},
    "两": 2,
}
_COUNT = r"(?:\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|[一二两三四五六七八九十])"
OPERATIONS = {
    name: re.compile(pattern)
    for name, pattern in {
        "latest": r"\b(?:latest|most recent(?:ly)?|newest|current(?:ly)?|now|today|at the moment|as of now|"
        r"last(?! (?:\d+|two|three|four|five|six|ten)\b))\b|最新|"
        r"最近(?![\d一二三四五六七八九十两几])|目前|现在|当前|今天|最后",
        "earliest": r"\bfront[- ]month\b|近月|"
        r"\b(?:earliest|oldest|soonest|first(?![- ](?:half|quarter|day|year|month)))\b|"
        r"最早|最先|最初|最老|最旧|第一[天个季]",
        "max": r"\b(?:highest|largest|biggest|(?<!at )most(?! recent)|maximum|max|greatest|peak|peaked|strongest|best|"
        r"record high|longest|top)\b|最高(?!价)|最大|最多|最贵|最好|最强|最长|最久|排名第一|第一名",
        "min": r"\b(?:lowest|smallest|(?<!at )least|minimum|min|fewest|worst|weakest|bottom|shortest|trough)\b|"
        r"最低(?!价)|最小|最少|最差|最弱|最短|垫底",
        "sum": r"\b(?:total|totals|sum|summed|altogether|combined|in all|add(?:ed)? up|adds up|overall|together|"
        r"cumulative|"
        r"in aggregate)\b|合计|总共|一共|总计|总和|加起来|总额|累计|总(?:的|金额|量|成交|销|"
        r"支|产|交易|流|股息|分红|花|利润|费|持|权重|预算|成本|仓|锁|访|用户|订|客|面积|未|租|薪|装机|货|保费|税|数)|相加|求和|共",
        "average": r"\b(?:average|averaged|mean|avg)\b|平均|均值|均价",
        "median": r"\bmedian\b|中位数",
        "count": r"(?<!by )\b(?:how many(?! percent| basis| points| bps| pips| dollars| yen| euros| pounds| yuan|%)|"
        r"number of|count)\b|"
        r"(?:多少|几)(?:个(?!百分点|点)|家|只|位|笔|次|条|天|种|名|项|支|份|起|场|人)|有几|数量是",
        "difference": r"\b(?:difference|differ|spread|gap|minus|subtract\w*|exceed(?:s|ed)?(?= \D)|outstrip\w*|"
        r"by how much\b.{1,60}\b(?:above|ahead of|below|higher than|lower than)|"
        r"how (?:much|many)(?: \w+){0,3} (?:higher|lower|more|less|bigger|smaller|larger|"
        r"greater|fewer|above|below|cheaper))\b|"
        r"相差|差多少|差距|差值|差额|之差|利差|减去|"
        r"比.{1,20}(?:高|低|多|少|大|小|贵|便宜)[\u4e00-\u9fff]{0,2}(?:多少|几)",
        "change": r"\b(?:chang\w*|grow|grew|grown|growth|rise|rose|risen|fall|fell|fallen|increas\w*|decreas\w*|"
        r"drop\w*|declin\w*|gain(?:ed|s)?|lost|shrank|shrunk|climb\w*|up or down|move[ds]?|moved|"
        r"go up|went up|gone up|go down|went down|"
        r"gone down|jump\w*|improv\w*|swing|swung|evolv\w*|year over year|yoy|y/y|qoq|q/q|mom|"
        r"(?:year|quarter|month|week)[- ](?:over|on)[- ](?:year|quarter|month|week)|"
        r"(?:versus|vs|compared (?:to|with)|from) (?:the )?(?:prior|previous|last|preceding) (?:quarter|month|year))\b|"
        r"[较比](?:上|前)一?个?(?:季度?|月|年|期|周)|较去年|比去年|去年同期|"
        r"变化|增长|上涨|下跌|涨了|跌了|增加|减少|下降|上升|涨幅|跌幅|变动|增幅|降幅|同比|"
        r"环比|涨跌|升了|降了|涨了?多少|跌了?多少",
        "percent": r"%|％|\b(?:percent|percentage|pct|per cent)\b|百分",
        "share": r"\b(?:what|which) (?:share|fraction|proportion|portion|slice|percent(?:age)?|part)\b.*\bof\b|"
        r"\bshare of\b|"
        r"\bpercent(?:age)? of (?:the )?"
        r"(?:total|portfolio|whole|all)\b|占(?:总|全部|整个|投资组合|组合)?.{0,8}(?:比|多少|几|百分)",
        "list": r"\b(?:which (?:\w+ ){0,4}(?:are|were|have|do|did)|list|show all|all the|what are the)\b|"
        r"哪些|哪几|列出|有哪",
        "label": r"\b(?:which|who|whose|where|when|what (?:day|date|month|year|quarter|company|stock|"
        r"country|sector|firm))\b|"
        r"哪|谁|何时|什么时候|什么时间",
        "falls": r"\b(?:fell|fall(?:en|s)?|drop\w*|declin\w*|decreas\w*|lost|shrank|went down|go down|gone down|"
        r"negative|cut|cuts|reduced?|trimmed|lowered|outflows?|loss(?:es)?|losers?|weaken\w*|"
        r"(?:is|are|was|were) down)\b|流出|亏损|"
        r"下降|下跌|减少|跌|缩|降",
        "rises": r"\b(?:rose|risen?|rises|grew|grow\w*|increas\w*|gain\w*|went up|gone up|go up|climb\w*|positive|"
        r"inflows?|raised|boosted|gainers?|strengthen\w*|(?:is|are|was|were) up)\b|流入|盈利|上涨|增长|增加|上升|涨|升",
        "unsure": r"\b(?:why|explain|predict|should i|would you|excluding|except|without|other than|correlat\w*|"
        r"standard deviation|not|never|neither|\w+n['’]t)\b|"
        r"为什么|解释|建议|除了|不包括|相关性|标准差|(?<!是)不是|(?<!有)没有",
        "group": r"\b(?:(?:for|in|of|per|by) (?:each|every)|(?:per|each|every) "
        r"(?:day|week|month|quarter|year|symbol|ticker|stock|company|fund|sector|country|category))\b|"
        r"每(?:个|一|家|只|日|周|月|季|年)|各(?:个|家|月|年|季|行业|公司|国)",
    }.items()
}
# Names of quantities that have the word of an operation in them.
_NOT_OPERATIONS = re.compile(
    r"\btotal (?:assets?|liabilit\w+|debt|equity|return|supply|expense ratio)\b|"
    r"\blast (?:traded|trade)\b|\byear to date\b|\bdays? to cover\b|总(?:资产|负债|债务|市值|收入)|股东|共(?:同|有)|"
    r"\bopen interest\b|\b(?:price|percent|pct) change\b|\bchange (?:percent|pct)\b"
)
_TOP = re.compile(
    rf"\btop ({_COUNT})\b|\b({_COUNT}) (?:\w+ )?(?:highest|largest|biggest|best|lowest|smallest|worst|cheapest)\b|"
    rf"前({_COUNT})(?:名|个|大|位|只|家)?|最[大高多小低少好差](?:的)?({_COUNT})(?:个|只|家|名|位|支|项|种)"
)
_NTH = re.compile(
    r"\b(second|third|2nd|3rd)[- ](?:highest|largest|biggest|best|most|lowest|smallest|"
    r"worst)\b|第([二三])(?=[高大多低小少])"
)
_SPAN = re.compile(
    rf"\b(?:last|past|latest|previous|recent|most recent|over the|these|all)\s+({_COUNT})\s+(?:\w+ )?"
    rf"(?:days?|sessions?|weeks?|months?|quarters?|years?|periods?|rows?|closes|reports?)\b|"
    rf"(?:最近|过去|近|前|这|最后)的?({_COUNT})(?:个)?(?:交易日|天|日|周|月|季度|年|期|季)"
)
_NO_SPAN = r"(?![\d.,]*[\s-]*(?:days?|sessions?|weeks?|months?|quarters?|years?|yrs?)\b)"
"""What makes `over 3 months` no limit."""
_LIMIT = re.compile(
    r"(?P<more>(?:more|greater|higher|larger|bigger|better) than|over|above|at least|"
    r"exceed\w*|超过|大于|高于|多于|不少于|不低于|至少)"
    rf"\s*[$€£¥]?\s*(?P<n>-?\d[\d,]*(?:\.\d+)?){_NO_SPAN}|"
    r"(?P<less>(?:less|lower|smaller|fewer|worse) than|under|below|at most|低于|小于|少于|不到|不超过|不高于|至多)"
    rf"\s*[$€£¥]?\s*(?P<n2>-?\d[\d,]*(?:\.\d+)?){_NO_SPAN}|"
    r"(?P<n3>\d[\d,]*(?:\.\d+)?)\s*%?(?:元|美元|个百分点)?(?:(?P<from>以上)|(?P<to>以下|以内))"
)
_SCALE = re.compile(r"\s*(k|thousand|m|mn|million|bn|b|billion|trillion|万|亿|百万|十亿)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d[\d,]*(?:\.\d+)?(?![A-Za-z0-9_.]*\d)")
_TENOR = re.compile(
    r"(?<![A-Za-z0-9_.])(\d{1,2})\s*-?\s*(years?|yrs?|y|months?|mos?|m|weeks?|w)(?![a-z])|"
    r"(?<!\d)(\d{1,2}|[一二两三五十]+)\s*(年期?|个月期?)",
    re.IGNORECASE,
)
_NAMED_TENOR = re.compile(r"(year|month|week)s?[_ -]?(\d{1,2})", re.IGNORECASE)
_CURVE_SPREAD = re.compile(r"(?<!\d)(\d{1,2})s[/ -]?(\d{1,2})s\b")
"""Spread of a yield curve: 2s10s."""
_RANGE = re.compile(
    r"\bfrom\b|\bbetween\b|\bthrough\b|\bto\b|[-–—~]|到|至|从|和|与|比|较|\bvs\b|\bversus\b|"
    r"\bcompared\b|\bsince\b|\band\b"
)
_VERSUS = re.compile(r"\b(?:vs|versus|compared|against)\b|相比|对比|较")
_SINCE = re.compile(r"\b(?:since|after|from)\b|以来|以后|之后|起|从")
_BEFORE = re.compile(r"\b(?:before|until|up to|prior to)\b|以前|之前|截至")
_YEARLY = re.compile(
    r"\byear[- ](?:over|on)[- ]year\b|\byoy\b|\by/y\b|\b(?:a|one) year (?:ago|earlier|before)\b|"
    r"\bsame (?:quarter|month|period) (?:of )?(?:the )?(?:last|previous|prior) year\b|同比|去年同期|上年同期"
)
_SEQUENTIAL = re.compile(
    r"\b(?:quarter[- ](?:over|on)[- ]quarter|month[- ](?:over|on)[- ]month|qoq|q/q|mom|m/m|sequential(?:ly)?)\b|"
    r"\b(?:versus|vs\.?|compared (?:to|with)|from|over|than) (?:the )?(?:prior|previous|last|preceding) "
    r"(?:quarter|month|period|week|day)\b|环比|[较比](?:上|前)一?个?(?:季度?|月|期|周|交易日)"
)
_COMPARES = tuple((re.compile(pattern), concepts, operation) for pattern, concepts, operation in COMPARISONS)
_HAN_NUMBERS = {"一": "1", "二": "2", "两": "2", "三": "3", "五": "5", "十": "10", "二十": "20", "三十": "30"}


class ValueLimit(Struct, frozen=True):
    number: Decimal
    is_upper: bool
    """Whether rows below the number are asked for."""
    includes: bool


class TableAsk(Struct, frozen=True, kw_only=True):
    question: str
    """The question as the person wrote it."""
    masked: str
    """Without the times in it."""
    text: str
    """In lower case, without the times in it."""
    terms: Terms
    times: tuple[TimePoint, ...]
    time_texts: tuple[str, ...]
    """The times as the question writes them."""
    operations: frozenset[str]
    tickers: tuple[str, ...]
    tenors: tuple[str, ...]
    """Maturities such as 10Y, in lower case and in order."""
    numbers: tuple[Decimal, ...]
    is_range: bool = False
    is_since: bool = False
    is_before: bool = False
    top: int = 0
    nth: int = 1
    span: int = 0
    """Number of the newest rows that are asked for."""
    limit: ValueLimit | None = None
    is_yearly: bool = False
    """Whether a change is asked for against the same time of the year before."""
    is_sequential: bool = False
    """Whether a change is asked for against the time just before."""
    compared: tuple[str, ...] = ()
    """Concepts that an adjective such as `cheapest` is about."""


def normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def read_count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_WORDS.get(text, 0)


def read_ask(question: str, known_symbols: frozenset[str] = frozenset()) -> TableAsk:
    """Return what a question asks of a table, by its words alone."""
    original = normalize(question)[:MAX_QUESTION]
    found = find_times(original)
    masked = mask(original, found)
    text = masked.lower()
    words = _NOT_OPERATIONS.sub(" ", text)
    operations = {name for name, pattern in OPERATIONS.items() if pattern.search(words)}
    operations |= {"difference"} if _CURVE_SPREAD.search(text) else set()
    compared: tuple[str, ...] = ()
    for pattern, concepts, operation in _COMPARES:
        if pattern.search(text):
            compared = concepts
            operations = (operations - {"max", "min"}) | {operation}
            break
    top, nth, span, limit = _TOP.search(words), _NTH.search(words), _SPAN.search(words), _LIMIT.search(text)
    rest = _LIMIT.sub(" ", _SPAN.sub(" ", _TOP.sub(" ", words)))
    if top and (picked := {name for name in ("max", "min") if OPERATIONS[name].search(_TOP.sub(" ", words))}):
        # `show the top 10, which is the smallest`: ten rows are shown, and one is asked for.
        operations, top = (operations - {"max", "min"}) | picked, None
    if "sum" in operations and not OPERATIONS["max"].search(words.replace("top ", " ")):
        # `what do the top holders own together`: the rows shown are the top.
        operations -= {"max"}
    points = fill_years([time.point for time in found])
    between = original.lower()[found[0].end : found[-1].start] if len(found) > 1 else ""
    before_time = original.lower()[max(found[0].start - 12, 0) : found[0].start] if found else ""
    after_time = original.lower()[found[0].end : found[0].end + 4] if found else ""
    if _VERSUS.search(between):
        operations |= {"change"}
    return TableAsk(
        question=original,
        masked=masked,
        text=text,
        terms=find_terms(masked),
        times=tuple(points),
        time_texts=tuple(original[time.start : time.end].strip() for time in found),
        operations=frozenset(operations),
        tickers=tuple(find_tickers(masked, known_symbols)),
        tenors=find_tenors(original),
        numbers=tuple(Decimal(number.replace(",", "")) for number in _NUMBER.findall(rest)),
        is_range=len(found) > 1 and _RANGE.search(between) is not None,
        is_since=len(found) == 1 and bool(_SINCE.search(before_time) or re.match(r"以来|以后|之后|起", after_time)),
        is_before=len(found) == 1 and bool(_BEFORE.search(before_time) or re.match(r"以前|之前", after_time)),
        top=read_count(next(filter(None, top.groups()))) if top else 0,
        nth={"second": 2, "2nd": 2, "二": 2, "third": 3, "3rd": 3, "三": 3}[next(filter(None, nth.groups()))]
        if nth
        else 1,
        span=read_count(next(filter(None, span.groups()))) if span else 0,
        limit=read_limit(text, limit),
        is_yearly=_YEARLY.search(original.lower()) is not None,
        is_sequential=_SEQUENTIAL.search(original.lower()) is not None,
        compared=compared,
    )


def mask(text: str, times: list[FoundTime]) -> str:
    """Return the text with spaces in place of its times: the number of a year is no amount."""
    for time in times:
        text = text[: time.start] + " " * (time.end - time.start) + text[time.end :]
    return text


def read_limit(text: str, match: re.Match[str] | None) -> ValueLimit | None:
    if match is None:
        return None
    number = Decimal((match["n"] or match["n2"] or match["n3"]).replace(",", ""))
    if scale := _SCALE.match(text, match.end()):
        number = number.scaleb(SCALES[scale[1].lower()])
    word = match[0]
    includes = any(
        part in word for part in ("at least", "at most", "不少于", "不低于", "不超过", "不高于", "至少", "至多", "以")
    )
    return ValueLimit(number, bool(match["less"] or match["to"]), includes)


def find_tenors(question: str) -> tuple[str, ...]:
    """Return the maturities of a question as they are written in yield curves: 10y, 3m."""
    found = [f"{number}y" for match in _CURVE_SPREAD.finditer(question) for number in (match[2], match[1])]
    for match in _TENOR.finditer(question):
        number = match[1] or _HAN_NUMBERS.get(match[3], match[3])
        unit = (match[2] or match[4])[0].lower()
        found.append(f"{number}{ {'年': 'y', '个': 'm'}.get(unit, unit) }")
    return tuple(dict.fromkeys(found))


def read_tenor(cell: str) -> str:
    """Return a cell that is a maturity in the form of `find_tenors`; empty if it is none."""
    if named := _NAMED_TENOR.fullmatch(cell.strip()):
        return f"{int(named[2])}{named[1][0].lower()}"
    match = _TENOR.fullmatch(cell.strip())
    return find_tenors(cell)[0] if match else ""


def name_concept(concept: str, language: str) -> str:
    """Return a name of a concept for a person."""
    return load_lexicon().names.get(concept, concept) if language == "zh" else concept.replace("_", " ")
