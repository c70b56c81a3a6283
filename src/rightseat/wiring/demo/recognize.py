"""Questions for the demo tools, recognized by rules in English and Chinese. No I/O.

Each function returns the arguments of the call, or None. It looks for the words that the call needs, in any order,
and for words that give the message another meaning. In doubt there is no call: one that nobody asked for is worse
than a question left to the model.
"""

from __future__ import annotations

import re
from typing import Any

from rightseat.models.llamacpp.embedded.clauses import Vocabulary, is_chinese, is_statement, split_clauses
from rightseat.tools.builtin.match_elements import find_places
from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals

MAX_PEOPLE = 100

# The clock

_CLOCK_WORDS = Vocabulary("""
time date day month year hour minute full timezone zone week weekday clock timestamp today todays tonight currently
current present exact moment utc gmt universal late look check read display print monday tuesday wednesday thursday
friday saturday sunday noon midnight morning afternoon evening lost track forgot watch
当前 此刻 这会儿 今天 今儿 今日 几点钟 几点 日子 钟 时间 时候 日期 几号 几月 几日 几 号 日 月份 月 年份 年 星期几 星期
周几 礼拜几 礼拜 天 早上 上午 中午 下午 晚上 世界时 标准 看看 看 查看 查询 查 显示 报时 报 忘 表 手表
""")
_THING = r"(?:time|date|day|weekday|month|year)"
_CLOCK = re.compile(
    rf"\b{_THING}(?: of the (?:week|month))?(?: and (?:the )?{_THING})? (?:is it|it is|is today|today is|are we|"
    rf"we are|do we have|do you have)\b|\b(?:what|which) {_THING}(?: and {_THING})? (?:is it|are we|is today)\b|"
    rf"\b(?:current|exact|present|utc|gmt|today'?s)(?: utc| gmt)? (?:{_THING}|timestamp)\b|\b{_THING} utc\b|"
    rf"\b{_THING} (?:right )?(?:now|today|check|at the moment)\b|\bthe (?:day|month|year) today\b|"
    r"(?<!what is )(?<!what's )\bthe (?:time|date|clock)(?: for me| please)*$|\bwhat(?:'s|s| is) today$|"
    r"\bhour (?:and minute )?is it\b|\bwhat(?:'s|s| is) the day(?: of the week)?$|\btoday is what (?:date|day)\b|"
    r"\bwhat(?:'s|s| is) the (?:utc )?(?:time|date)\b|\bwhat (?:the )?(?:time|date) (?:it )?is\b|\bthe (?:time|"
    r"date) and (?:the )?(?:time|date)\b|\b(?:got|have|know|tell me|give me) the (?:time|date)\b|\bhow late is it\b|"
    r"^(?:the )?time$"
)
_CLOCK_ZH = re.compile(
    r"(?:现在|当前|目前|此刻|这会儿|今天|今日|今儿).{0,12}(?:几点|几号|几月|几日|星期几|周几|礼拜几|哪一?[天年月]|什么日子|"
    r"时间|日期|时候|多少号)|几点钟?[了啦]|^报时|utc时间|^(?:看|查|报|给我|帮我)?(?:看|查|报)?(?:一下|下)?时间$"
)
_OTHER_TIME = re.compile(r"\d|\b(?:in|from|to|lives?|when|if|film|movie|story|calendar|flight)\b|时差|国|那边|如果")


def match_clock(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_clock for a question about the present time or date without a place."""
    clauses = split_clauses(question)
    if any(map(find_places, clauses)):
        return None
    rest = [clause for clause in clauses if not _CLOCK_WORDS.covers(clause)]
    is_aside = all(is_statement(clause) and not _OTHER_TIME.search(clause) for clause in rest)
    asks = any(_CLOCK.search(clause) or _CLOCK_ZH.search(clause) for clause in clauses if clause not in rest)
    return {} if asks and is_aside else None


# Tables in a restaurant

_PEOPLE = (
    r"(?:people|persons?|ppl|pax|guests?|adults?|diners?|of us|seats?|spots?|places|grown-?ups|kids|children|babies|"
    r"toddlers)"
)
_WHEN = (
    r"(?:at|on|in|by|near|nearby|close|around|about|this|that has|who|and (?:we|i|would|want|need)|next|tonight|"
    r"tonite|today|tomorrow|tmrw|tmr|for|outside|inside|with a|under|if|from|after|before|please|pls|plz|thanks|thx|"
    r"asap|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|midday|lunch|dinner|brunch|breakfast|"
    r"somewhere|booked|reserved|\d{1,2}(?:[:.]\d\d)? ?(?:pm|am|h|o'clock)|\d\d:\d\d)"
)
_NUMBER = r"(?<![\d.,:/$€£#+-])(\d{1,3})(?![\d%]| ?(?:pm|am|o'?clock|h)\b)"
_COUNTS = (
    re.compile(rf"{_NUMBER} (?:hungry |more |other )?{_PEOPLE}\b"),
    re.compile(
        rf"\b(?:for|(?:party|group|family|team) of|we are|we're|we will be|we'll be|there are|there will be|"
        rf"there'll be|us is)(?: just| only| about| the| all)* {_NUMBER}(?=$|,| {_WHEN}\b)"
    ),
    re.compile(rf"\b(?:table|reservation|booking)(?:, )?{_NUMBER}(?= {_PEOPLE}\b)"),
)
_RELATIVE = (
    r"(?:girlfriend|boyfriend|wife|husband|partner|spouse|fiancee?|(?:best )?friend|mother|mom|mum|father|dad|son|"
    r"daughter|brother|sister|boss|colleague|date|grand(?:mother|father|ma|pa)|neighbou?r|client|guest|roommate)"
)
_RELATIVES = (
    r"(?:friends|kids|children|colleagues|coworkers|guests|sons|daughters|brothers|sisters|others|people|adults|"
    r"clients)"
)
_MEMBER = rf"(?:me|myself|i|(?:my|a|1) {_RELATIVE}|my parents|(?:my )?\d{{1,2}} (?:other )?{_RELATIVES})\b"
_JOIN = r"(?:, (?:and )?| and | \+ | with | plus )"
_PARTY = re.compile(
    rf"\b{_MEMBER}(?:{_JOIN}{_MEMBER})+(?! and | plus | with | \+ |, (?:and|the|our|some|my|his|her|their|several|"
    rf"a few)\b)"
)
_NAME_BEFORE = re.compile(r"\b(?:for|with|and|plus) [a-z']+(?:,| and) $")
_TABLE = re.compile(
    r"\b(?:table|tble|tabel|reservations?|booking|rez)\b|\b(?:book|reserve)\b.*\b(?:dinner|lunch|brunch|breakfast|"
    r"supper|seats?|spots?|places?|restaurant|bar|pub|cafe|bistro|diner|steakhouse|pizzeria|tavern|party of)\b|"
    r"\b(?:dinner|lunch|brunch|breakfast|supper)\b.*\b(?:booked|reserved)\b"
)
_WISH = re.compile(
    r"\b(?:book|reserve|need|want|wanna|(?:would|'d) (?:like|love)|id like|like to|love to|get|give|find|arrange|"
    r"schedule|make|looking|can we|could we|may we|can i|could i|may i|possible|would be (?:great|nice|good|lovely|"
    r"perfect|fine))\b|(?:^|, )(?:an? |one )?(?:(?:dinner|lunch|quiet|nice|small|big|restaurant) )?(?:table|tble|"
    r"reservation|booking)\b"
)
# "Book us in" is a table where it says when one eats.
_BOOK_IN = re.compile(
    r"\b(?:(?:(?:book|squeeze|fit|get|pencil) (?:us|me)|(?:book|squeeze|fit) (?:the )?\d+ of us) in|(?:book|squeeze|"
    r"fit) in (?:the )?\d+ of us|(?:book|squeeze|fit) in (?:a )?(?:party|group|family) of \d+|(?:book|squeeze|"
    r"fit) (?:a )?(?:party|group|family) of \d+ in)(?=$|,| (?:at|for|on|tonight|tonite|tomorrow|this|next|around|"
    r"to)\b)|\b(?:book|reserve) (?:us|me) (?:at|into)\b"
)
_MEAL_TIME = re.compile(
    r"\b(?:\d{1,2}(?:[:.]\d\d)? ?(?:pm|o'?clock)|\d{1,2}[:.]\d\d|noon|midday|tonight|tonite|evening|lunch|dinner|"
    r"brunch|breakfast|supper|at (?:1[0-2]|[1-9])(?=$|,| ))"
)
# Other meanings of the words, and sentences that tell or ask of a booking instead of asking for one.
_OTHER_TABLE = re.compile(
    # a table of data, a piece of furniture, a game, another thing to book
    r"\b(?:tables|table of|columns?|rows?|cells?|html|sql|excel|csv|word|markdown|latex|spreadsheet|database|"
    r"document|periodic|multiplication|times table|league|coffee|dining|pool|ping|tennis|snooker|billiard|chairs|"
    r"wood|wooden|build|assemble|buy|sell|cheap|discount|price|cost|dollars|euros|pounds|bucks|amazon|ebay|ikea|"
    r"kitchen|draw|fill|create|paint|flights?|planes?|hotels?|rooms?|trains?|bus|movie|film|cinema|theat\w+|concert|"
    r"tickets?|doctor\w*|dentist\w*|appointment|court|taxi|car|course|class|dogs?|cats?|order)\b|[$€£]|\bma(?:ke|de|"
    r"king)(?: me| us| up)? (?:an?|the) (?:\w+ )?table\b(?! reservation| booking)|\b(?:at|on|under|"
    r"around) the table\b|"
    # a text, a lesson, another person, a condition
    r"\b(?:author|novel|read|reading|homework|script|recommend|suggest|review|available|correct|english|phrase|"
    r"sentence|say|said|says|asked|told|translate|summari[sz]e|write|draft|email|mail|story|poem|remind|pretend|"
    r"imagine|suppose|example|practi[cs]e|deposit|refund|if|do i|do we|should|you can|they|he|she|or|maybe)\b|"
    r"\b(?:tell|ask|call|text|message) (?!me|us|and)\w+ (?:to|that|and|she|he)\b|"
    # not, not now, not any more, already, again and again
    r"\b(?:cancel\w*|change|move|instead|another|second|without|not|dont|didnt|wont|cant|never|no longer|was|were|"
    r"had|got|ago|yesterday|last|would have|always|usually|often|every|my (?:reservation|booking|table))\b|n't\b|"
    r"\b(?:i|we|have|has|already|just|been) (?:booked|reserved)\b|(?:^|, )(?:i|we) (?:find|get|make|book|reserve)\b|"
    # 4 or 5, 4-6, from 4 to 6
    r"\d ?[-–~/] ?\d|\bto \d+ (?:people|persons|guests)|(?:^|, )(?:so |and |but )?(?:how|what|which|who|why|when|"
    r"where|does|did|are|has|have|is (?!there|it possible))\b"
)
# What else one is booked in for; no matter where a table is named: "a table for 4 after the show".
_NAMES_TABLE = re.compile(r"\b(?:table|tble|tabel|reservations?|booking|rez)\b")
_OTHER_VISIT = re.compile(
    r"\b(?:nights|hostel|motel|inn|resort|airbnb|hilton|marriott|hyatt|suite|stay|check-?in|spa|massage|facial|"
    r"haircuts?|hair|salon|barber\w*|nails?|manicure|gym|yoga|pilates|lesson|workshop|tour|museum|zoo|vet|vets|"
    r"clinic|hospital|surgery|checkup|check-?up|surgeon|physio\w*|optician|bank|lawyer|garage|service|golf|bowling|"
    r"karting|escape|paintball|cruise|ferry|boat|ski\w*|camp\w*|hall|conference|office|boardroom|studio|venue|"
    r"photographer|band|cab|uber|limo|plumber|electrician|interview|match|game|show|festival|airline|airport|meeting|"
    r"club)\b"
)
_POLITE = re.compile(
    r"\s*\b(?:i was wondering(?: if| whether)?|would you mind|if (?:it is |it's |that is |that's |"
    r"at all )*(?:possible|ok|okay|fine|alright)|if (?:you|u) (?:can|could|like|please|don'?t mind|would))\b"
)
_CHANCE = re.compile(
    r"\b(?:(?:is there |do you have |have you got |got )?any (?:chance|possibility|way) (?:of|for|to get|"
    r"to have|we could get|"
    r"i could get)|(?:is|would) (?:it be |it )?(?:possible|ok|okay) to (?:get|have)|(?:do you|"
    r"have you) (?:have|got)) "
    r"(?:an? |the )?table\b"
)
# "Dinner for 5, could you book it?", "arrange lunch for 12": a table without the word.
_MEAL = re.compile(
    r"\b(?:dinner|lunch|brunch|breakfast|supper|eat out|eating out|dine out|go out for (?:dinner|lunch)|"
    r"out for (?:dinner|lunch|a meal))\b|"
    # "we would like to eat at The Golden Fork", not at home
    r"\b(?:eat|eating|dine|have (?:a meal|food|a bite)) (?:something )?(?:at|in) (?!home\b|work\b|school\b|bed\b|"
    r"peace\b|silence\b|my\b|our\b|his\b|her\b|their\b|your\b|an? hour\b|\d|noon\b|midday\b|the (?:office|car|park|"
    r"morning|evening|afternoon|garden|canteen|same|house)\b)"
)
_BOOK_IT = re.compile(
    r"\b(?:book|reserve|arrange|organi[sz]e|sort|fix)(?: us| me)? (?:it|that|this|something|somewhere|a place|"
    r"one)\b(?: out| up)?(?: for us| for me)?|"
    r"\b(?:arrange|organi[sz]e|set up|plan|book|reserve)(?: an?| our| us an?)? (?=(?:\w+ )?(?:dinner|lunch|"
    r"brunch|breakfast|supper) for \d)|"
    r"\b(?:please|pls|plz|(?:can|could|would|will) you(?: please)?) (?:book|reserve)(?: please| now)?"
    r"(?=$|,| for (?:us|me)\b)"
)
_BOOKING_WORDS = Vocabulary("""
table tble tabel reservation reservations booking rez schedule set secure call book reserve booked reserved dinner
lunch brunch breakfast supper meal seat seats spot place party group restaurant find arrange make making looking
would great nice good lovely perfect fine people persons person ppl guests guest adults pax diners children kids
family friends colleagues team us tonight tonite today tomorrow tmrw tmr evening night noon midday afternoon
morning weekend week monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december pm am o clock oclock half past quarter around near window outside
inside terrace garden corner quiet big small large next under name time bar pub cafe bistro steakhouse pizzeria
tavern highly rated top best nearby close food wife husband girlfriend boyfriend myself three parents th st nd rd h
asap soon after before eat dine have free until squeeze fit pencil
""")
_PLACE = re.compile(
    r"\b(?:at|in|into|near|to|from|under|for)(?: (?:an?|the))?((?: (?!for\b|on\b|at\b|tonight|"
    r"tomorrow)[\w'&-]+){1,3})|"
    # Book The Red Lion for Sunday lunch
    r"(?<=\bbook) the((?: (?!for\b|on\b|at\b|tonight|tomorrow)[\w'&-]+){1,3})(?= (?:for|on|at|tonight|tomorrow)\b)"
)


def match_booking(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_book for a request for one table in a restaurant that says for how many."""
    clauses = split_clauses(question)
    people = _count_people_zh(clauses) if any(map(is_chinese, clauses)) else _count_people(clauses)
    return {"people": people} if 0 < people <= MAX_PEOPLE else None


def _count_people(clauses: list[str]) -> int:
    """Return the number of people of a request for a table; 0 if there is no request, or no or a doubtful number."""
    text = _POLITE.sub("", ", ".join(replace_english_numerals(clause) for clause in clauses))
    text = _CHANCE.sub("can we get a table", text)
    if _MEAL.search(text) and _BOOK_IT.search(text):
        text = _BOOK_IT.sub("book a table ", text, count=1)
    cores = [clause for clause in text.split(", ") if _TABLE.search(clause)]
    if not cores and _MEAL_TIME.search(text):
        cores = [clause for clause in text.split(", ") if _BOOK_IN.search(clause)]
    is_wish = _WISH.search(text) or any(_BOOK_IN.search(clause) for clause in cores)
    is_other = _OTHER_TABLE.search(text) or (not _NAMES_TABLE.search(text) and _OTHER_VISIT.search(text))
    if not cores or not is_wish or is_other:
        return 0
    if any(len(_BOOKING_WORDS.find_unknown(_PLACE.sub("", re.sub(r"\d+", "", clause)))) > 1 for clause in cores):
        return 0
    counts = {
        0 if _NAME_BEFORE.search(text[: match.start()]) else _count_party(match[0]) for match in _PARTY.finditer(text)
    }
    rest = _PARTY.sub(" ", text)
    counts |= {0} if re.search(r" plus | \+ ", rest) else set()
    counts |= {int(match[1]) for pattern in _COUNTS for match in pattern.finditer(rest)}
    return counts.pop() if len(counts) == 1 else 0


def _count_party(text: str) -> int:
    """Count the people of "me, my wife and 2 friends"; 0 where some may be counted twice."""
    people = []
    for member in re.split(_JOIN, text):
        number = re.search(r"\d+", member)
        people.append(int(number[0]) if number else 2 if member == "my parents" else 1)
    if re.match(r"\d+ (?:people|guests)", text):
        return people[0] if people[0] == sum(people[1:]) else 0
    return sum(people)


_PAIR_ZH = re.compile(
    r"我(?:和|跟|与)(?:我的|我)?(?:一个)?(?:女朋友|男朋友|女友|男友|老婆|老公|妻子|丈夫|太太|先生|爱人|朋友|妈妈|"
    r"爸爸|母亲|父亲|同事|儿子|女儿|老板|对象|媳妇|闺蜜)(?!.{0,4}(?:孩|儿子|女儿|爸|妈|父母|还有|带|一家|家人|"
    r"[和跟与、]))"
)
_FRIENDS_ZH = re.compile(r"(?<!们)(?:和|跟|与|带|约)(\d{1,2})(?:个|位)?(?:朋友|同事|客人|孩子|同学)")
_COUNT_ZH = re.compile(
    r"(?<![\d.:/第-])(\d{1,3})(?:个人|人|位(?![子置于])|个(?:大人|客人))(?!份|次|间|民|数)|人数(?:是|为)?(\d{1,3})"
)
_TABLE_ZH = re.compile(
    r"(?:订|预定|预约|留|安排|定(?=[个一张位桌座\d]))[^,]{0,24}(?:桌|位|座|包间|包厢)|订座|(?:^|,)(?:请|"
    r"其实)?(?:是)?(?:我们?)?(?:想?要|来|给我们?)[^,]{0,12}(?:桌|位子|座位)"
)
# "We want to eat at …, can you book?": a table without the word.
_EAT_ZH = re.compile(r"(?:在|去|到)(?!家|公司|学校|车)[^,]{1,14}?(?:吃|用餐|聚餐|就餐)")
_BOOK_IT_ZH = re.compile(r"(?:帮|替|请|麻烦|可以|能)[^,]{0,6}(?:订|预定)(?:一下|下|个)?[吗吧呢么]?(?:,|$)")
_MEAL_ZH = re.compile(r"餐|饭|吃|火锅|聚|宴|馆|酒楼|烧烤")
_OTHER_TABLE_ZH = re.compile(
    r"怎|如何|为什么|什么|多少|几天|哪|谁|不要|不用|别|没|取消|退|改成|改为|改到|改一|昨|前天|上次|上周|刚才|订了|"
    r"订过|定了|留了|已经|如果|要是|应该|要不要|该不该|押金|定金|提前|多少钱|尺寸|买|订购|推荐|翻译|英语|英文|写|"
    r"总结|概括|说要|[他她]|表格|会议|房|酒店|宾馆|票|外卖|蛋糕|医|电影|椅|一套|家具|定制|订制|订阅|车|船|飞机|座谈|"
    r"面试|课|讲座|展|演出|演唱会|比赛|球|班|考试|ktv|再订|再定|或者?|还是|提醒|画|做一|闹钟|位置在|"
    r"[两二三四五六七八九十2-9](?:张|个)?(?:桌子|餐桌|大桌|圆桌|桌)|[两二三四五六七八九十2-9]张|"
    r"[一两二三四五六七八九][一两二三四五六七八九](?:个|位|人)|\d[-~到至]\d|"
    r"[一二两三四五六七八九十]到[一二两三四五六七八九十]|我[和跟与][^,\d一二两三四五六七八九十]{1,6}[和跟与、]"
)


def _count_people_zh(clauses: list[str]) -> int:
    text = ",".join(clauses)
    wants_table = _TABLE_ZH.search(text) or ("预订" in text and _MEAL_ZH.search(text))
    wants_table = wants_table or (_EAT_ZH.search(text) and _BOOK_IT_ZH.search(text))
    if not wants_table or _OTHER_TABLE_ZH.search(text):
        return 0
    # A space after the hour: 七点四个人 is no 7.4.
    text = replace_chinese_numerals(text.replace("点", "点 "))
    counts = {int(match[1]) + 1 for match in _FRIENDS_ZH.finditer(text)}
    counts |= {int(match[1] or match[2]) for match in _COUNT_ZH.finditer(_FRIENDS_ZH.sub("", text))}
    counts |= {2} if _PAIR_ZH.search(text) else set()
    return counts.pop() if len(counts) == 1 else 0


# The chart of the sales

_SALES = re.compile(r"\b(?:sales|revenues?|turnover|sold|sell)\b|销售|销量|业绩|营收|营业额|卖")
_VIEW = re.compile(
    r"\b(?:charts?|plot|graphs?|graphical\w*|overview|diagram|draw|visual\w*|picture|bars?|curve|histogram|"
    r"trends?|show|display|see|view|"
    r"pull up|bring up|look at|trending|how'?s|paint|render|how (?:did|have|has|were|are|was|is)|(?:do|"
    r"did) .* look like|(?:best|worst|most|least).*\b(?:months?|sales|sell)|months?.*\b(?:best|worst|most|least))\b|"
    r"图|画|绘|显示|展示|可视化|看|曲线|走势|趋势|怎么样|如何|最"
)
_SALES_WORDS = Vocabulary("""
sales revenue revenues turnover sold sell selling figures figure numbers number data chart charts plot graph graphs
diagram bar bars column line curve histogram trend trends visual visuals visualize visualise visualization picture
overview display draw create make generate render produce prepare view build paint put month months monthly year
years yearly annual each every per over time far using develop developed development going go went doing look
looked looks looking did were best worst highest lowest strongest weakest better least total overall company
business date nice boss wants lets shows was great good quick simple small how's performance performing progress
evolve evolved changed change changing first half turn turned into them it curious interested interesting graphical
graphic graphically form format present presented illustrate illustrated plotted charted shown displayed drawn graphed
could throw pop whip glance idea across through during rundown break down breakdown quickly image visually nicely
pretty fancy little style summary performed perform do done run ran been steady month's
year's our company's pull bring up
would past few recent last months trending trended looking latest
看看 看一看 看下 查看 看 显示 展示 画出 画成 画 绘制 绘出 绘 生成 制作 做成 做 来 出来 出 张 幅 份 今年度 今年
本年度 本年 上半年 全年 每个月 每月 各个月份 各个月 各月份 各月 按月份 按月 月度 逐月 月份 月 销售额 销售量 销量
销售数据 销售情况 销售业绩 销售 业绩 营收 营业额 卖 数据 走势 趋势 曲线 统计 报表 报告 柱状图 条形图 折线图 曲线图
柱形图 图表 图形 图片 图 可视化 形式 方式 公司 情况 表现 最好 最差 最高 最低 最多 最少 了解 以 成 老板 开会 如何 两
直观 图像 画面 做个 来个 弄个 弄 整个 整 搞个 搞 生意 一年 这一年 每一个月 走向
变化 起伏 展现 呈现 呈 汇总 帮忙 大家 一起 听说 想知道
""")
# Other sales than those of the year by month, or something else to do with them.
_OTHER_SALES = re.compile(
    r"\b(?:this month|last(?! (?:few |couple of |several )?months\b)|past (?!(?:few |couple of |several )?months\b)|"
    r"previous|next|make sales|sales (?:to|need|want|like(?! (?:this|so|in|over|for|lately|recently|now|month|"
    r"each|put|can|please)\b|$)|line|team|tax|rep|date|business)|"
    r"(?:want|need|in) sales|not|don'?t|never|no|why|how (?:do|can|could|would|should|to) (?:i|we|you|make|draw|plot|"
    r"create)|(?:what|which)(?: is|'s|s)? (?:an?|the best|better|are) |what (?:is|are) (?:the )?sales$|is an? |who|"
    r"when|i sold|my car)\b|^(?:i|we) (?:see|like|have|view|get|make|show|plot|draw|can see|love)\b|^(?:sales|"
    r"revenue)$|\d|怎么(?!样)|什么(?!样)|如何(?=提|画|做)|为什么|去年|明年|前年|上个?月|这个月|本月|下个?月|不要|别|"
    r"谁|我(?:这个月|今年)?卖|几个人|多少人"
)


def match_sales(question: str) -> dict[str, Any] | None:
    """Return the arguments of demo_sales for a request to draw or show the sales of this year or by month."""
    clauses = split_clauses(question)
    rest = [clause for clause in clauses if not _SALES_WORDS.covers(clause)]
    text = ", ".join(clause for clause in clauses if clause not in rest)
    is_aside = all(is_statement(clause) and not re.search(rf"\d|{_SALES.pattern}", clause) for clause in rest)
    is_other = any(_OTHER_SALES.search(_POLITE.sub("", clause)) for clause in clauses if clause not in rest)
    return {} if _SALES.search(text) and _VIEW.search(text) and is_aside and not is_other else None
