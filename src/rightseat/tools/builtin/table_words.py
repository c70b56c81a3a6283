"""Words of questions about tables, English and Chinese: operations, and families of words for one quantity."""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u3400-\u9fff]")
# Questions that no single query answers.
UNSURE = re.compile(
    r"\b(?:why|explain|translate|write|draw|chart|plot|graph|summari[sz]e|summary|json|csv|predict|forecast|"
    r"expect|percent\w*|"
    r"share|ratio|growth|grew|trend|correlat\w*|except|excluding|without|not|other than|second|third|median|"
    r"if(?! (?:i|we|you) (?:buy|take|order|get|want)\b)|"
    r"should|would|"
    r"popular|famous|beautiful|health\w*|tast\w*|sweet\w*|interesting|important|in the world|email|letter|story|"
    r"format|column|compare|change[ds]?|best value|per unit|code|python|sql|last (?:year|month|week)|next|tax|"
    r"taxes|shipping|discount|in (?:euros?|dollars?|pounds|yuan|usd|eur)|per (?:hour|capita|person)|between \d+ and|"
    r"density|"
    r"pace)\b|%|"
    r"为什么|解释|翻译|写|画|图表|总结|概括|预测|百分|占比|比例|增长|趋势|除了|不包括|第二|第三|中位数|如果|"
    r"密度|人均|税|运费|折|去年|明年|应该|比较一下|对比|受欢迎|漂亮|好看|好吃|有名|聪明|格式|变化|代码"
)
OPERATIONS = {
    name: re.compile(pattern)
    for name, pattern in {
        "max": r"^which \w+ (?:has|have|had|sold|got|scored|earned|made) (?:more|higher)\b(?!.* than)|"
        r"\b(?:fastest|quickest|winner|winning)\b|"
        r"\b(?:who|which \w+) (?:has |have )?(?:won|wins?)(?= *[?.!]?$| the )|"
        r"\b(?:came|finished|is|are|was|placed) first\b|\bin the lead\b|第一名|夺冠|谁赢|"
        r"\b(?:most|highest|largest|biggest|max|maximum|greatest|best[- ]?selling|top|hottest|warmest|"
        r"tallest|longest|"
        r"priciest|dearest|fastest|heaviest|richest|strongest|furthest|farthest|wettest|busiest|best|oldest|"
        r"higher|largest)\b|"
        r"最多|最高|最大|最贵|最热|最长|最重|最快|最畅销|最远|最强|最好|前[\d一二两三四五六七八九十]+[名个大位]",
        "min": r"^which \w+ (?:has|have|had|sold|got|scored|earned|made) (?:less|fewer|lower)\b(?!.* than)|"
        r"\b(?:came|finished|is|are|was|placed) last\b|\bbottom of the\b|倒数第一|"
        r"\blosing\b|\b(?:who|which \w+) (?:has |have )?lost(?= *[?.!]?$| the )|"
        r"\b(?:least|fewest|lowest|smallest|min|minimum|cheapest|worst|coldest|coolest|shortest|youngest|"
        r"lightest|slowest|"
        r"nearest|closest|driest|poorest)\b|最少|最低|最小|最便宜|最冷|最短|最轻|最慢|最差|最年轻",
        "sum": r"\b(?:total|totals|sum|altogether|in all|overall|combined|add(?:ed)? up|all together|together|whole|"
        r"entire|everything)\b|"
        r"一共|总共|总计|合计|总和|加起来|全部|总(?=[数量额销收人价成预工支产利访分])",
        "average": r"\b(?:average|mean|avg|on average)\b|平均|均值",
        "sort": r"\b(?:sort|rank|order(?:ed)? by|in order|ascending|descending)\b|排序|排列|排名|从高到低|"
        r"从低到高|从大到小|从小到大|升序|降序",
        "count": r"\b(?:how many|number of|count)\b|(?:多少|几)(?:个|种|行|条|家|座|位|名|项|款)",
        "amount": r"\bhow (?:many|much)\b.*\b(?:were|was|are|did|do|does|is|have|has)\b",
        "lookup": r"\b(?:what|how much|how many|how (?:old|tall|high|long|hot|cold|warm|heavy|big|large|far|"
        r"fast|expensive)|"
        r"tell me|give me|find|show)\b|多[少大高长重远快]|几|是什么|查|看一?下|看看",
        "difference": r"\bthan\b|\bdifference\b|\bgap\b|\bapart\b|比|相差|差多少|差值|差距|之差",
        "range": r"\b(?:difference|gap|range|spread|apart)\b|相差|差多少|差值|差距|之差|差几",
        "apart": r"\bdifference\b|\bgap\b|\bapart\b|相差|差多少|差值|差距|之差",
        "below": r"\b(?:less|fewer|lower|cheaper|colder|cooler|shorter|smaller|younger|lighter|slower|below)\b|"
        r"比.*(?:少|低|小|便宜|冷|短|轻|慢|年轻)",
        "latest": r"\b(?:latest|most recent|most recently|newest)\b|\blast (?:date|day|month|year|entry|value|"
        r"figure)\b|最新|最近|最后",
        "earliest": r"\bearliest\b|\bfirst (?:date|day|month|year|entry|value|figure)\b|最早|最初",
    }.items()
}
# The oldest of things that have a year or a date, and no age.
OLDEST = re.compile(r"\boldest\b|最老|最旧|最古老")
# Each line is one quantity: words of questions, names and units of columns.
_FAMILIES = """
price cost costs cheap cheaper cheapest expensive priciest dearest bill bills fee fees $ € £ ¥ ￥ \
价格 价钱 单价 售价 便宜 贵 多少钱 费用
sold sell sells sale sales selling 销量 销售 卖 售出 销售额
spent spend spends spending expense expenses expenditure 支出 花费 开销 花了 花得 花的 花最
steps step walk walks walked walking 步数 步 走
goals goal score scored scores scorer scoring 进球
pages page read long longer longest short shorter shortest thick thickest 页数 页 最厚
high highs hot hotter hottest warm warmer warmest 最高气温 最热
low lows cold colder coldest cool cooler coolest 最低气温 最冷
range far farther furthest farthest goes go reach
laps lap ran run runs running 圈数 跑
wins won win
temp temperature warm warmer warmest hot hotter hottest cold colder coldest cooler coolest °c °f ° 气温 温度 热 冷 暖
population populous inhabitants residents people 人口 人数 多少人
age old older oldest young younger youngest 年龄 岁 年纪 年轻
height tall taller tallest short shorter shortest elevation altitude 高度 身高 海拔
weight heavy heavier heaviest light lighter lightest kg lb 重量 体重 最重 多重 最轻 重多少 轻多少
duration time hours minutes takes take long longer longest shorter shortest work works worked working quick quicker \
quickest 时长 用时 工时 工作时间 小时
length long longer longest short shorter shortest 长度 最长 多长 最短 长多少 短多少
distance km kms miles longest longer shortest far farther furthest farthest near nearest closest 距离 最远 多远 远多少
speed fast faster fastest slow slower slowest 速度 最快 最慢 快多少 慢多少
score scores scored points point grade grades marks mark 考 总分 平均分 最高分 最低分 分数 成绩 得分 多少分
revenue income earnings earned earn turnover money 收入 营收 赚 挣
profit profits 利润
salary salaries wage wages paid earn earns earned makes money 工资 薪水 薪资
stock inventory quantity qty left available 库存 数量 多少件
employees staff headcount members people 员工 人数 多少人
rain rainfall precipitation wet wettest dry driest 降雨 雨量 降水 下雨
rating ratings rated stars 评分
area 面积
visitors visits visited 访客 游客
votes vote 票数 得票
orders ordered 订单
calories kcal 热量 卡路里
"""
_WORDS_OF_FAMILIES = [frozenset(line.split()) for line in _FAMILIES.strip().splitlines()]
_HAN_FAMILY_WORDS = sorted(
    (word for family in _WORDS_OF_FAMILIES for word in family if _HAN.search(word)), key=lambda word: -len(word)
)
_GENERIC = "value values count number amount total quantity figure figures units 数量 数值 值 合计 总数 数字"
GENERIC_NAMES = frozenset(_GENERIC.split())
ID_NAMES = re.compile(r"id|no\.?|nr\.?|#|number|index|rank|year|zip|code|编号|序号|排名|年份|年")
TOTAL_CELLS = re.compile(r"(?:grand )?totals?:?|sum:?|overall|average:?|合计|总计|总数|总和|平均")
PLAIN_HAN = re.compile(
    r"哪一?[个家种款位项天月年道支本部场座间班条只样科]|多少|一共|总共|"
    r"最[多高大贵热长重快远强少低小冷短轻慢差新早近后好]|"
    r"平均|买下来?|[卖买钱块份]|[这那每]?[一二两三四五六七八九十][个份件位只张本道家座种杯条天]|[这那每]|"
    r"[几谁是的有了在里中比多少高低大小各请问值]|"
    r"什么|全部|所有|买下来?|总[和数计价]|合计|要|付|花|共|东西|这些|工资|薪水|相差|数据|表格?|行|条|按|排序|从|到|"
    r"天|度|元|人|个|家|种|和|与|跟|[\d\W_a-z]"
)
NAMED_KIND = re.compile(r"\bwhich ([a-z]+)\b")
_KINDS_OF_DATES = "day days date month year week quarter time"
KINDS_OF_DATES = frozenset(_KINDS_OF_DATES.split())
_LOOSE_LABELS = "item items name names product products label title model brand column1"
_PERSON_LABELS = "person employee student player"
LOOSE_LABELS = frozenset(_LOOSE_LABELS.split())
PERSON_LABELS = frozenset(_PERSON_LABELS.split())
KINDS_OF_PERSONS = PERSON_LABELS | frozenset(
    ["people", "kid", "guy", "member", "athlete", "pupil", "worker", "colleague"]
)
_NO_KINDS = (
    "is was were are has had have one ones of did does do sold sells costs cost row rows entry item items got earns"
)
NO_KINDS = frozenset(_NO_KINDS.split())
ASKS_PERSON = re.compile(r"\bwho\b|谁")
NAMES_THINGS = re.compile(
    r"fruits?|products?|items?|cit(?:y|ies)|countr(?:y|ies)|regions?|months?|dates?|days?|years?|quarters?|"
    r"departments?|"
    r"水果|产品|商品|城市|国家|地区|月份|日期|部门"
)
_STOP_WORDS = """
a an the of in on at is are was were be what which who how much many did do does has have had for to and or by with
from most least this that it its there all each per day table following
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_PLAIN_WORDS = """
one highest largest biggest lowest smallest greatest max maximum min minimum total totals sum average mean altogether
overall value values number figure figures item items entry entries row rows records list listed top latest recent
newest earliest please tell me show give find sort rank order ordered ascending descending more less difference between
than
combined together fewest least added add up
who where when date day month year sold sell sale sales cost costs price
people i we you my our pay paid owe spend spent earn earned need bill money whole entire everything job project order
whats pls please here thing things invoice purchase shopping cart basket will would come can could see hi hello thanks
us them our take took taken make made revenue income bring brought worth get got everyone everybody week season so far
best worst often gap range spread apart different kinds types was were did overall on average
"""

_MODIFIERS = """
monthly daily weekly yearly annual hourly current closing final exact own combined usual new full complete english math
over under above below than
"""
# Words before a verb; a word after any other is a noun, which names something that the table lacks.
SUBJECTS = frozenset(["who", "i", "we", "you", "they", "he", "she", "it", "everyone", "everybody", "people", "that"])
PREPOSITIONS = frozenset(
    ["in", "on", "at", "from", "during", "against", "for", "before", "after", "since", "until", "with"]
)
# `did the Pinks score` asks about a subject.
AUXILIARIES = frozenset(["did", "does", "do"])
BEFORE_QUANTITIES = frozenset(["most", "fewest", "least", "more", "fewer", "total", "average", "mean"])
ARTICLES = frozenset(["the", "a", "an", "our", "my", "his", "her", "their", "its", "your", "all", "each"])
_CONDITION_WORDS = """
team group class company office shop store menu hurry often trip holiday vacation party event
total average all week month year season list table data here everyone everybody us me them now today free most least
highest lowest best worst much many far long how what which any mean short sum order
"""
ASKS_PRICE = re.compile(r"\bhow much (?:(?:more|less) )?(?:is|are|for|does|do|will|would|did)\b")
BY_SPEED = re.compile(r"\b(?:fast|quick|slow)(?:er|est)\b|\bhow (?:fast|slow)\b|[更最得][快慢]|[快慢](?=多少|几|了)")
TIME_NAMES = re.compile(r"\b(?:time|duration|minutes|mins?|seconds|secs?|finish)\b|用时|耗时|时间")
SPEED_NAMES = re.compile(rf"\b(?:speed|pace|velocity|mph|kph|kmh)\b|速度|{TIME_NAMES.pattern}")
WINS = re.compile(
    r"\b(?:who|which \w+) (?:has |have |is |are |was )?(?:won|wins?|lost|winning|losing|the winner)"
    r"(?= *[?.!]?$| the (?:race|game|match|league|contest|election|vote)\b)|"
    r"\b(?:top|bottom) of the (?:league|table|class|list)\b|"
    r"\b(?:came|finished|is|are|was|placed) (?:first|last)\b|\bin the lead\b|第一名|倒数第一|夺冠|谁赢"
)
RESULT_NAMES = tuple(
    re.compile(names)
    for names in (
        r"points|pts|total points|积分|总分",
        r"(?:total |final )?(?:score|goals|votes|result)|得分|分数|票数|成绩|(?:finish |race )?(?:time|finish)"
        r"(?: (?:min|minutes|s|sec|seconds))?|用时",
    )
)
HAN_VERBS = re.compile(r"[\u4e00-\u9fff]{1,2}?(?:得(?=最)|[了过](?=多少|几))|每")
MONEY_NAMES = re.compile(r"\b(?:rate|wage|pay|budget|total)s?\b|薪|工价|预算|额|费")
HAN_CONDITIONS = re.compile(
    r"(?<![最大从])[小老阿](?![时于到的数组师板])[\u4e00-\u9fff](?!之)|上午|下午|早上|晚上|中午|[上下]周|昨天|"
    r"明天|周末|工作日|"
    r"每小时|每分钟|[上下]半"
)
HAN_UNITS = tuple(
    (re.compile(rf"(?:多少|几)(?:{units})"), re.compile(names))
    for units, names in (
        ("公里|千米|米|里路", "距离|里程|路程|公里|千米|米|长|高|深|海拔|km"),
        ("个?小时|分钟", "时|分钟|hour|min"),
        ("公斤|千克|斤|克", "重|斤|克|量|kg"),
        ("岁", "年龄|岁|年纪"),
        ("度", "温|度"),
        ("卡", "热量|卡"),
    )
)
HAN_MEASURE = re.compile(r"(?:多少|几)([\u4e00-\u9fff])")


def has_han(text: str) -> bool:
    return bool(_HAN.search(text))


def stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "es", "s", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word[: -len(ending)]
            return base + "y" if ending == "ies" else base
    return word.removesuffix("e") if len(word) > 4 else word


def split_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's English words, without those that carry no meaning."""
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(stem(word).removesuffix("e") for word in words if word not in STOP_WORDS)


PLAIN_STEMS = split_stems(_PLAIN_WORDS)
CONDITION_STEMS = split_stems(_CONDITION_WORDS) | split_stems(_MODIFIERS)
MODIFIER_STEMS = PLAIN_STEMS | split_stems(_MODIFIERS)


def find_families(text: str) -> frozenset[str]:
    """Return a member of each family of words that the text has a word of."""
    words = set(re.findall(r"[a-z]+|°[cf]?|[$€£¥￥]", text))
    names: set[str] = set()
    for number, family in enumerate(_WORDS_OF_FAMILIES):
        if words & family or any(has_han(word) and word in text for word in family):
            names.add(str(number))
    return frozenset(names)


def remove_family_words(text: str) -> str:
    """Return a Chinese text without the words of all families."""
    for word in _HAN_FAMILY_WORDS:
        text = text.replace(word, " ")
    return text


def mentions_name(ask: str, cell: str) -> int:
    """Return where the question names a cell, also in singular or plural; -1 if it does not."""
    name = cell.lower().strip()
    if not name or len(name) > 60:
        return -1
    if has_han(name):
        return ask.find(name)
    if len(name) == 1:
        return -1
    bare = name[:-1] if name.endswith("s") and len(name) > 3 else name
    # No regex: a table has thousands of cells, and each would be compiled.
    at = ask.find(bare)
    while at >= 0:
        end = at + len(bare)
        endings = (end + len(ending) for ending in ("es", "s", "") if ask.startswith(ending, end))
        if not is_word_character(ask[at - 1 : at]) and not all(is_word_character(ask[to : to + 1]) for to in endings):
            return at
        at = ask.find(bare, at + 1)
    return -1


def is_word_character(text: str) -> bool:
    return text.isalnum() or text in ("_", "-")
