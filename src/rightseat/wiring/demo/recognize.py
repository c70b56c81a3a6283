"""Questions for the demo tools, recognized by rules in English and Chinese. No I/O.

Each function returns the arguments of the call, or None. A question must fit a rule as a whole, because a call or an
approval that nobody asked for is worse than a question left to the model.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

MAX_LENGTH = 120
MAX_PEOPLE = 100
_QUOTES = re.compile(r"[\"“”„«»「」『』`<>{}\[\]\n]|(?<!\w)'|'(?!\w)")
_HAN = re.compile(r"[\u3400-\u9fff]")

_POLITE_START = re.compile(
    r"(?:(?:hi|hello|hey|ok|okay|so|well|now|and|then|thanks|thank you|please|pls|sorry|excuse me|quick question)\b"
    r"(?: there)?[,.!:]? *)+"
)
_POLITE_END = re.compile(
    r"(?:[,.!?;:~ ]|\b(?:please|pls|plz|thanks|thank you|thx|if you can|if possible|for me|will you|would you|mate)$)+$"
)
_REQUEST = re.compile(
    r"(?:(?:can|could|would|will) you (?:please |kindly |maybe )?|(?:i want|i need|i'd like|i would like) you to |"
    r"would you mind |kindly |go ahead and )"
)
_POLITE_START_ZH = re.compile(
    r"(?:你好|您好|嗨|请问一下|请问|请你|请您|请|麻烦你|麻烦您|麻烦|劳驾|那么|好的|[,.!:、 ])+"
)
_POLITE_END_ZH = re.compile(r"(?:谢谢你|谢谢您|谢谢|多谢|感谢|拜托了|拜托|可以吗|行吗|好吗|好不好|[,.!?:~、 ])+$")


def normalize_question(question: str) -> str:
    """Return the question in lower case without polite words and final marks; empty if it is long or quotes a text."""
    text = question.strip()
    if len(text) > MAX_LENGTH:
        return ""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("。", ".").lower()
    if len(text) > MAX_LENGTH or _QUOTES.search(text):
        return ""
    if _HAN.search(text):
        text = re.sub(r"\s+", "", text)
        start = _POLITE_START_ZH.match(text)
        return _POLITE_END_ZH.sub("", text[start.end() :] if start else text)
    text = " ".join(text.split())
    start = _POLITE_START.match(text)
    text = _POLITE_END.sub("", text[start.end() :] if start else text)
    request = _REQUEST.match(text)
    return _POLITE_END.sub("", text[request.end() :] if request else text)


# The clock

_NOW = r"(?: right now| now| currently| at the moment| today)?"
_UTC = r"(?: in utc| utc| in gmt| \(utc\))?"
_KIND = r"(?:utc |gmt )?(?:time|date|date and time|time and date|time and the date|date and the time)"
_THE_TIME = rf"(?:the |today's )?(?:current |exact |present |actual )?{_KIND}{_UTC}"
_CLOCK = re.compile(
    r"(?:what(?:'s| is|s)? "
    rf"(?:(?=the|today|current|exact|present|actual|utc|gmt){_THE_TIME}|time is it|the time is it|date is it|"
    r"today's date|date is today|date do we have)|"
    rf"(?:(?:do you know|tell me|show me|give me|let me know|say|check|get|i need|i want|i need to know|"
    rf"i want to know|i'd like to know|i would like to know|may i know|can i know|can i have|display|print) )?"
    rf"(?:what time it is|what the time is|what time is it|what date it is|{_THE_TIME}|today's date)|"
    r"(?:do you have|have you got|you got|got) the time|how late is it|time check|(?:look at|check|read) the clock)"
    rf"{_NOW}{_UTC}(?: is it)?{_NOW}"
)
_ASK_ZH = (
    r"(?:你知道|知道|告诉我|跟我说|说一下|帮我看看|帮我看一下|帮我查一下|帮我查|看看|看一下|查一下|查询|查看|显示|"
    r"报一下|"
    r"我想知道|想知道|能告诉我|可以告诉我|能不能告诉我|给我|帮我)?(?:一下)?"
)
_CLOCK_ZH = re.compile(
    rf"{_ASK_ZH}(?:"
    r"(?:现在|目前|当前|此刻|这会儿)(?:是)?(?:utc(?:时间)?|世界时|标准时间)?(?:是)?(?:几点钟|几点|什么时间|什么时候)|"
    r"(?:现在|目前|当前|此刻|今天)(?:的)?(?:utc|世界|标准)?(?:的)?"
    r"(?:时间和日期|日期和时间|日期时间|时间|日期)(?:是)?(?:多少|几点|什么|几号)?|"
    r"utc时间(?:是)?(?:多少|几点|什么)?|"
    r"(?:今天|现在|今儿)(?:是)?(?:几月几号|几月几日|几号|多少号|哪一天|什么日期|几月几)|"
    r"报时|几点钟?了|时间"
    r")(?:了|啦)?(?:啊|呀|呢|吗|嘛)?"
)


def match_clock(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_clock for a question about the present time or date without a place."""
    text = normalize_question(question)
    return {} if text and (_CLOCK.fullmatch(text) or _CLOCK_ZH.fullmatch(text)) else None


# Tables in a restaurant

# fmt: off
_WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
# fmt: on
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)}
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
_RELATIVE = (
    r"(?:girlfriend|boyfriend|wife|husband|partner|spouse|fiance|fiancee|friend|mother|mom|mum|father|dad|son|"
    r"daughter|brother|sister|boss|colleague|date|best friend|grandmother|grandfather|neighbour|neighbor)"
)
_RELATIVES = r"(?:friends|kids|children|colleagues|guests|sons|daughters|brothers|sisters|others|people|more|adults)"
_MEMBER = rf"(?:me|myself|(?:my|a|one) {_RELATIVE}|my parents|(?:my )?{_NUMBER} (?:other )?{_RELATIVES})"
_PARTY = re.compile(rf"{_MEMBER}(?:(?:, (?:and )?| and | \+ | with ){_MEMBER})*")
_PEOPLE = (
    rf"(?:just |only )?(?:a (?:party|group) of {_NUMBER}|(?:the )?{_NUMBER} of us|"
    rf"{_NUMBER}(?: people| persons| person| guests| guest| adults| diners| pax)?)"
)
_DAY = (
    r"(?:tonight|today|tomorrow|tomorrow night|tomorrow evening|this evening|this afternoon|this weekend|at noon|"
    r"(?:on |this |next |on next )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?: night| evening)?)"
)
_HOUR = r"(?:(?:at|around|for) \d{1,2}(?:[:.]\d{2})? ?(?:pm|am|p\.m\.|a\.m\.|o'clock|h)?)"
_PLACE = (
    r"(?:(?:at|in) (?:a|an|the|some|any|your|my favou?rite) (?:nice |good |nearby |local )?"
    r"(?:italian |chinese |french |indian |japanese |thai |mexican |greek )?restaurant(?: nearby)?|"
    r"by the window|outside)"
)
_MEAL = r"(?:for (?:dinner|lunch|breakfast|brunch|supper))"
_WHEN = rf"(?:,? (?:{_DAY}|{_HOUR}|{_PLACE}|{_MEAL}))*"
_WISH = (
    r"(?:(?:i|we)(?:'d like| would like| want| need| wanna)(?: to)? |(?:can|could|may) (?:i|we) (?:please )?|let's |"
    r"(?:i|we) (?:have|need) to |help (?:me|us) (?:to )?)?"
)
_A_TABLE = r"(?:(?:a|one|the) )?(?:restaurant |dinner |lunch )?(?:table|reservation|booking)"
_BOOK = rf"(?:{_WISH}(?:book|reserve|get|find|arrange)(?: me| us)? {_A_TABLE}|"
_BOOK += rf"{_WISH}make(?: me| us)? (?:a|one) (?:restaurant |dinner |lunch |table )?(?:reservation|booking)|"
_BOOK += (
    rf"(?:can|could|may) (?:i|we) have {_A_TABLE}|(?:i|we)(?:'d like| would like| want| need) {_A_TABLE}|(?:a )?table)"
)
_BOOK_FOR = re.compile(rf"{_BOOK}{_WHEN}(?:,)? for (?P<people>{_PEOPLE}|{_PARTY.pattern}){_WHEN}")
_BOOK_AND_COUNT = re.compile(
    rf"{_BOOK}{_WHEN}[,.;:]? (?:(?:and )?(?:we are|we're|we will be|we'll be|there are|there will be|it's for) )?"
    rf"(?P<people>{_PEOPLE})(?<=[a-z]){_WHEN}"
)
_COUNT_AND_BOOK = re.compile(
    rf"(?:we are|we're|we will be|we'll be|there are|there will be) (?P<people>{_PEOPLE})[,.;:]? "
    rf"(?:so |and )?(?:please |pls )?(?:can you |could you )?(?:please )?{_BOOK}{_WHEN}"
)
_COUNT = re.compile(_NUMBER)


def match_booking(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_book for a request for one table in a restaurant that says for how many."""
    text = normalize_question(question)
    if not text:
        return None
    if _HAN.search(text):
        people = _count_people_zh(text)
    else:
        match = _BOOK_FOR.fullmatch(text) or _BOOK_AND_COUNT.fullmatch(text) or _COUNT_AND_BOOK.fullmatch(text)
        people = _count_people(match["people"]) if match else 0
    return {"people": people} if 0 < people <= MAX_PEOPLE else None


def _count_people(text: str) -> int:
    """Count the people of "four people" or of "me, my wife and two friends"."""
    if not _PARTY.fullmatch(text) or re.fullmatch(_PEOPLE, text):
        number = _COUNT.search(text)
        return _parse_number(number[0]) if number else 0
    people = 0
    for member in re.split(r", and |, | and | \+ | with ", text):
        number = _COUNT.search(member)
        counts_one = number is None or re.fullmatch(rf"one {_RELATIVE}", member)
        people += 2 if member == "my parents" else 1 if counts_one else _parse_number(number[0] if number else "")
    return people


def _parse_number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.get(text, 0)


_DIGITS_ZH = dict(zip("一二三四五六七八九", range(1, 10), strict=True)) | {"两": 2, "俩": 2, "仨": 3}
_NUMBER_ZH = r"(?:\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_DAY_ZH = (
    r"(?:在)?(?:今天|今晚|今日|明天|明晚|后天|这周末|周末|(?:这|下|本)?(?:周|星期)[一二三四五六日天])?"
    r"(?:早上|上午|中午|下午|傍晚|晚上|晚间)?"
    rf"(?:{_NUMBER_ZH}(?:点钟|点半|点整|点|:\d\d))?(?:的)?"
)
_PLACE_ZH = r"(?:在)?(?:一家|一个|家|你们)?(?:附近的|好的)?(?:餐厅|饭店|餐馆|饭馆|火锅店|酒楼)?(?:里|的)?"
_WISH_ZH = (
    r"(?:我们想要|我们想|我们要|我想要|我想|我要|想要|想|要|能不能|可不可以|可以|能|你能|你可以)?"
    r"(?:帮忙|帮我们|帮我|给我们|给我|替我们|替我|为我们|为我)?(?:去)?"
)
_BOOK_ZH = r"(?:预订|预定|预约|订|定|留)(?:一下)?"
_SEAT_ZH = r"(?:餐桌|饭桌|桌子|桌位|座位|餐位|位子|位置|桌|位)"
_COUNT_ZH = rf"(?P<people>{_NUMBER_ZH})(?:个人|人|位客人|位|个)?"
_PEOPLE_ZH = rf"(?P<people>{_NUMBER_ZH})(?:个人|人|位客人|位)"
_RELATIVE_ZH = (
    r"(?:女朋友|男朋友|女友|男友|老婆|老公|妻子|丈夫|太太|先生|爱人|朋友|妈妈|爸爸|母亲|父亲|同事|儿子|女儿|老板|对象)"
)
_PAIR_ZH = rf"我(?:和|跟|与)(?:我的|我)?(?:一个)?{_RELATIVE_ZH}(?:两个人|二人|两人|俩)?"
_BOOKINGS_ZH = tuple(
    re.compile(pattern)
    for pattern in (
        # 帮我订一张三个人的桌子 · 订个四人桌
        rf"{_WISH_ZH}{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}(?:一张|一个|一桌|张|个)?(?:供)?{_PEOPLE_ZH}(?:用餐|吃饭|坐|用)?(?:的)?"
        rf"(?:一张|一个)?(?:晚餐|午餐|晚饭|午饭)?(?:的)?{_SEAT_ZH}(?:[,、]{_DAY_ZH})?",
        rf"{_WISH_ZH}{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}(?:一张|一个|张|个)?(?P<people>{_NUMBER_ZH})人(?:餐桌|桌|位)",
        # 订张桌子，四个人 · 预订餐桌，一共5位
        rf"{_WISH_ZH}{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}(?:一张|一个|张|个)?{_SEAT_ZH}{_DAY_ZH}[,.;:、]?"
        rf"(?:我们|给)?(?:一共|总共|共|有|是)?{_PEOPLE_ZH}(?:用餐|吃饭)?",
        # 我们五个人，帮我订张桌子 · 四位，订桌
        rf"(?:我们|给)?(?:一共|总共|共|有|是)?{_PEOPLE_ZH}[,.;:、]?(?:请|麻烦)?{_WISH_ZH}{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}"
        rf"(?:一张|一个|张|个)?{_SEAT_ZH}",
        # 一张两个人的桌子
        rf"(?:我要|要|来|给我们|给我)?(?:一张|张|个|一个){_PEOPLE_ZH}的?(?:餐桌|桌子|桌|座位|位子|位置)",
    )
)
_PAIR_BOOKING_ZH = re.compile(
    rf"(?:(?:给|帮|为|替){_PAIR_ZH}(?:去)?{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}(?:一张|一个|张|个)?{_SEAT_ZH}|"
    rf"{_WISH_ZH}{_BOOK_ZH}{_DAY_ZH}{_PLACE_ZH}(?:一张|一个|张|个)?{_SEAT_ZH}[,.、]?(?:就)?(?:给)?{_PAIR_ZH})"
)


_WITH_FRIENDS_ZH = re.compile(
    rf"(?:我)?{_DAY_ZH}(?:想|要)?(?:和|跟|与)(?P<people>{_NUMBER_ZH})个?(?:朋友|同事|客人)(?:一起)?(?:去)?(?:吃饭|吃晚饭|聚餐|用餐),?"
    rf"{_WISH_ZH}{_BOOK_ZH}{_PLACE_ZH}(?:一张|一个|张|个)?{_SEAT_ZH}"
)


def _count_people_zh(text: str) -> int:
    text = text.removesuffix("吗")
    if match := _WITH_FRIENDS_ZH.fullmatch(text):
        return _parse_number_zh(match["people"]) + 1
    if _PAIR_BOOKING_ZH.fullmatch(text):
        return 2
    match = next((match for pattern in _BOOKINGS_ZH if (match := pattern.fullmatch(text))), None)
    return _parse_number_zh(match["people"]) if match else 0


def _parse_number_zh(text: str) -> int:
    """Parse a number from 1 to 99 in Chinese characters, or digits."""
    if text.isdigit():
        return int(text)
    tens, has_ten, ones = text.partition("十")
    if not has_ten:
        return _DIGITS_ZH.get(text, 0)
    return _DIGITS_ZH.get(tens, 1) * 10 + _DIGITS_ZH.get(ones, 0)


# The chart of the sales

# fmt: off
_SALES_WORDS = frozenset((
    "a", "an", "the", "me", "us", "our", "my", "this", "year", "year's", "sales", "figures", "numbers", "data",
    "chart", "charts", "plot", "graph", "diagram", "bar", "column", "line", "show", "display", "draw", "create",
    "make", "give", "generate", "render", "produce", "visualize", "visualise", "see", "view", "want", "need", "like",
    "would", "i", "i'd", "we", "let", "get", "have", "can", "may", "to", "of", "for", "as", "by", "per", "each",
    "every", "in", "on", "with", "month", "months", "monthly", "and", "it", "over", "time", "now", "using", "into",
    "so", "far", "curve", "histogram", "trend", "build", "paint",
))
# fmt: on
_SALES = re.compile(r"\bsales\b")
_CHART = re.compile(
    r"\b(?:charts?|plot|graph|diagram|draw|visuali[sz]e|curve|histogram|show|display|see|view|paint|bar|render)\b"
)
_HOW_SALES = re.compile(
    r"(?:how (?:were|are|was) (?:the |our )?sales(?: doing)?|how did (?:the |our )?sales (?:go|look|develop|do)|"
    r"what (?:do|did) (?:the |our )?sales look like)(?: so far)?(?: this year| by month| over the year| each month)?"
)
# Another period than the year, or a text that only begins like a request.
_OTHER_SALES = re.compile(
    r"\bthis month\b|\bmake sales\b|\bsales (?:to|need|want|like|line)\b|\b(?:want|need) sales\b|"
    r"^(?:i|we) (?:see|like|have|view|get|make|show|plot|draw|can see)\b"
)
# fmt: off
_SALES_PARTS_ZH = (
    "能不能", "可不可以", "我想要", "我们", "我想", "我要", "想要", "帮我", "给我", "替我", "可以", "你能", "能",
    "想", "要", "看看", "看一看", "看一下", "看下", "查看", "看", "显示", "展示", "画出", "画", "绘制", "绘出", "绘",
    "生成", "制作", "做", "来", "出", "一下", "一张", "一幅", "一个", "一份", "张", "幅", "个", "份", "用", "以",
    "把", "将", "做成", "画成", "成", "为", "的", "今年度", "今年", "本年度", "本年", "每个月", "每月", "各个月份",
    "各个月", "各月份", "各月", "按月份", "按月", "月度", "逐月", "销售额", "销售量", "销售数据", "销售情况",
    "销售业绩", "销售走势", "销售趋势", "销售曲线", "销售图表", "销售图", "销售", "数据", "走势", "趋势", "统计",
    "柱状图", "条形图", "折线图", "曲线图", "图表", "图形", "图", "可视化", "形式", "方式", "吗", "吧", "呢", "公司",
    "出来", "一", ",", "、",
)
# fmt: on
_CHART_ZH = re.compile(r"图|画|绘|显示|展示|可视化|看")


def consists_of(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text is a sequence of parts. A regex would try every way to divide the text."""
    ends = [True] + [False] * len(text)
    for start in range(len(text)):
        if ends[start]:
            for part in parts:
                if text.startswith(part, start):
                    ends[start + len(part)] = True
    return bool(text) and ends[-1]


def match_sales_chart(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_sales for a request to draw or show the sales of this year or by month."""
    text = normalize_question(question)
    if _HAN.search(text):
        is_match = "销售" in text and bool(_CHART_ZH.search(text)) and consists_of(text, _SALES_PARTS_ZH)
        return {} if is_match else None
    words = re.findall(r"[^\s,.:;!?-]+", text)
    is_known = bool(words) and _SALES_WORDS.issuperset(words)
    is_request = is_known and _SALES.search(text) and _CHART.search(text) and not _OTHER_SALES.search(text)
    return {} if is_request or _HOW_SALES.fullmatch(text) else None
