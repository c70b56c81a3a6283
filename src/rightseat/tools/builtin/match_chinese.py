"""Recognizer of calculations in Chinese; `match_calculation` calls it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from rightseat.tools.builtin.dates import CHINESE_WEEKDAYS, ZONE_BY_CITY, split_date
from rightseat.tools.builtin.expression import is_expression
from rightseat.tools.builtin.match_dates import read_days
from rightseat.tools.builtin.numerals import read_names, replace_chinese_numerals
from rightseat.tools.builtin.units import find_unit

_OPENINGS = re.compile(
    r"^(?:请问一下|请问|麻烦你?|请你?|你好|您好|帮我|帮忙|给我|替我|你?能不能|你?可以|你?能|我想知道|我想问|"
    r"告诉我|那么?|"
    r"计算一下|计算|算一下|算一算|算算|算|求出|求|一下|[,，:：、!！。\s])+"
)
_ENDINGS = re.compile(r"(?:[?？。.!！~\s]|呢|啊|呀|吗|嘛|吧|谢谢|来着)+$")
_HOW_MUCH = r"(?:等于|是|得|为|=|有|合|约等于|大约是|相当于|应该是)*\s*(?:多少|几|什么|啥)(?:钱|元|块钱?|个|人)?"
# Possessive: a long row of digits is read once from each place.
_N = r"-?\d++(?:\.\d++)?"

_OPERATORS = tuple(
    (re.compile(pattern.replace("N", _N)), sign)
    for pattern, sign in (
        (r"pct(N)", r"\1%"),
        (r"(N)%的(N)", r"\1% * \2"),
        (r"(N)的?(N)次方", r"\1^\2"),
        (r"(N)的?平方根|根号(N)|(N)开平?方|(N)的?算术平方根", lambda m: f"√{m[1] or m[2] or m[3] or m[4]}"),
        (r"(N)的?立方根", r"cbrt(\1)"),
        (r"(N)的?平方", r"\1^2"),
        (r"(N)的?立方", r"\1^3"),
        (r"(N)的?阶乘", r"factorial(\1)"),
        (r"(N)除以(N)的余数|(N)除以(N)余", lambda m: f"{m[1] or m[3]} mod {m[2] or m[4]}"),
        (r"乘以|乘上|乘", "*"),
        (r"除以|÷", "/"),
        (r"加上|加", "+"),
        (r"减去|减掉|减", "-"),
        (r"(N)的(N)%", r"\1 * \2%"),
        (r"(N)的half", r"\1 / 2"),
        (r"(N)的(N)倍", r"\1 * \2"),
        (r"(N)分之(N)", r"(\2/\1)"),
        (r"(?<=\d)的(?=\()", "*"),
        (r"(?<=\d)x(?=\d)", "*"),
        (r"(?<=\d)(?:元|块钱|块|美元|人民币|个)", ""),
    )
)  # fmt: skip
_PHRASES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern.replace("N", _N).replace("LIST", rf"({_N}(?:(?:[,，、和与及]|以及|\s)+{_N})+)")), sign)
    for pattern, sign in (
        (r"LIST(?:这几个数|这些数|几个数|三个数|两个数|四个数|五个数)?(?:的|加起来的|加在一起的)?(?:总和|和|"
         r"总数|合计|之和|加起来|相加|加在一起)",
         lambda m: spread("sum", m[1])),
        (r"LIST(?:这几个数|这些数|几个数|三个数|两个数|四个数|五个数)?的?(?:平均数|平均值|平均|"
         r"均值)", lambda m: spread("avg", m[1])),
        (r"LIST(?:这几个数|这些数|中)?的?(?:最大值|最大公约数)",
         lambda m: spread("gcd" if "公约" in m[0] else "max", m[1])),
        (r"LIST(?:这几个数|这些数|中)?的?(?:最小值|最小公倍数)",
         lambda m: spread("lcm" if "公倍" in m[0] else "min", m[1])),
        (r"LIST(?:的|之|相)?(?:乘积|积|乘)", lambda m: spread("product", m[1])),
        (r"从?(\d+)(?:一直)?(?:加到|[到至](?=\d+(?:的|所有|全部|整数|自然数|数)*(?:之和|总和|和|加起来|相加)))(\d+)\D*",
         r"(\1 + \2) * (\2 - \1 + 1) / 2"),
        (r"(N)[和与跟](N)(?:的|之|相)?(?:差|减|差值|相差)", r"abs(\1 - \2)"),
        (r"(N)比(N)(?:大|多|高)", r"\1 - \2"),
        (r"(N)比(N)(?:小|少|低)", r"\2 - \1"),
        (r"(N)(?:和|与|跟|、|,|，)(?:还是)?(N)(?:哪个|谁|哪一个|哪个数|那个)(?:数)?(?:更|比较)?大(?:一些|"
         r"一点)?", r"max(\1, \2)"),
        (r"(N)(?:和|与|跟|、|,|，)(?:还是)?(N)(?:哪个|谁|哪一个|哪个数|那个)(?:数)?(?:更|比较)?小(?:一些|"
         r"一点)?", r"min(\1, \2)"),
        (r"(?:把|将)?(N)(?:元|块钱?|个\w{0,3}|颗\w{0,2})?(?:平均|平)?分(?:给|成|配给|摊给)?(N)(?:个?人|份|"
         r"个\w{0,3}|组)(?:,|，|\s)*(?:每个?人|每份|每组)?(?:分|得|拿|应?付|能分到?|分到)?",
         r"\1 / \2"),
        (r"(N)(?:元|块钱?)?(?:,|，)?(?:由)?(N)个?人(?:平分|平摊|AA|均分|分摊)(?:,|，)?(?:每个?人)?(?:付|出|分|"
         r"得|要付)?", r"\1 / \2"),
        (r"(N)占(N)的(?:pct|ratio)", r"\1 / \2 * 100"),
        (r"(N)是(N)的(?:pct|ratio)", r"\1 / \2 * 100"),
        (r"(N)是(N)的(?=倍)", r"\1 / \2"),
        (r"从?(N)(?:增加|涨|上涨|提高|增长)(?:了)?(N)%(?:后|以后|之后)?", r"\1 + \2%"),
        (r"(N)(?:元|块钱?)?(?:减少|降|下降|降低|跌)(?:了)?(N)%(?:后|以后|之后)?", r"\1 - \2%"),
    )
)  # fmt: skip


def match_chinese_calculation(question: str) -> str | None:
    """Return the expression for `calculate` if the whole question is a calculation in Chinese; else None."""
    text = unicodedata.normalize("NFKC", question).replace(" ", "")
    core = _ENDINGS.sub("", _OPENINGS.sub("", text))
    if re.search(r"[吗嘛么?]$|还是|是不是|没[?]?$|没有[?]?$", text) and (expression := match_day_kind(core)):
        return expression
    for rule in (match_time, match_time_until, match_days, match_amounts):
        if expression := rule(core):
            return expression
    return None


def spread(name: str, numbers: str) -> str:
    """Return the call of a function with all numbers of a text."""
    return f"{name}({', '.join(re.findall(_N, numbers))})"


def match_amounts(core: str) -> str | None:
    """Return the expression of a unit conversion, a phrase or plain arithmetic."""
    core = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", core)
    # The numerals of these words are none.
    core = core.replace("百分之", "pct").replace("百分比", "ratio").replace("比例", "ratio").replace("一半", "half")
    core = re.sub(r"(华氏|摄氏)(\d+(?:\.\d+)?)度?", r"\2\1度", replace_chinese_numerals(core))
    if expression := match_units(core):
        return expression
    asked = re.sub(rf"{_HOW_MUCH}$|(?:=|等于)$", "", core)
    if match := re.fullmatch(
        rf"(?:(?:1[件双个张本台部条把套瓶盒])?\D{{0,12}}?(?:原价|价格|标价|售价|定价|卖)(?:是|为)?)?({_N})(?:元|"
        rf"块钱?)?,?(?:的\w{{0,4}},?)?"
        rf"(?:现在|今天|现|商场|店里)?(?:全场)?打?(\d)\.?(\d?)折,?(?:后|以后|之后|下来)?,?(?:现在|价格|售价|实际|"
        rf"一共|要付|要|该付)*",
        asked,
    ):
        return f"{match[1]} * 0.{match[2]}{match[3]}"
    for pattern, expression_of in _PHRASES:
        if match := pattern.fullmatch(asked):
            return match.expand(expression_of) if isinstance(expression_of, str) else expression_of(match)
    return match_arithmetic(asked)


def match_arithmetic(asked: str) -> str | None:
    # `4除8` is 8 / 4; 除以 is the other way round.
    asked = re.sub(rf"({_N})除({_N})", r"\2/\1", asked)
    for pattern, sign in _OPERATORS:
        asked = pattern.sub(sign, asked)
    if not re.fullmatch(r"(?:[\d.,+*/%^()√×÷−-]|mod|factorial|cbrt|\s)+", asked) or not re.search(r"\d", asked):
        return None
    if not re.search(r"[+*/^√×÷]|[\d)%][-−][\d(]|mod|[a-z]\(", asked):
        return None
    return asked.strip() if is_expression(asked) else None


_CONVERSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<n>{_N})个?(?P<from>[^\d多几等是有]{{1,6}})(?:是|等于|有|合|换算成|转换成|转成|相当于|大约是|"
        rf"约等于)+(?:多少|几)个?(?P<to>\D{{1,5}})",
        rf"(?:把|将)?(?P<n>{_N})个?(?P<from>\D{{1,6}}?)(?:换算|转换|转|换|折合)(?:成|为|到)?(?:多少|"
        rf"几)?个?(?P<to>\D{{1,5}})",
    )
)


def match_units(core: str) -> str | None:
    for pattern in _CONVERSIONS:
        match = pattern.fullmatch(core)
        if match and (source := find_unit(match["from"])) and (target := find_unit(match["to"])):
            return f'convert({match["n"]}, "{source}", "{target}")'
    return None


_CLOCK = r"(?:现在|目前|当前|此刻|这会儿)"
_TIME = re.compile(
    rf"{_CLOCK}?(?:的)?(?P<city>[^\d现在目前当]{{2,7}}?)??(?:时间)?(?:的)?{_CLOCK}?(?:的)?(?:当地)?(?:时间)?(?:是|"
    rf"几)?(?:几点钟?|几点了|什么时间|什么时候|多少|时间|点钟?)(?:了|钟)?"
)


def match_time(core: str) -> str | None:
    """Return the expression for the time here or in a city: 北京现在几点."""
    match = _TIME.fullmatch(core)
    if not match or not re.search(r"几点|时间", core):
        return None
    city = match["city"] or ""
    if not city:
        return "now()" if re.search(_CLOCK, core) or core in ("几点了", "几点钟了") else None
    return f'now("{city}")' if city in ZONE_BY_CITY else None


_TIME_UNTIL = re.compile(
    r"(?:现在)?(?:距离?|离|到)?(?P<city>[^\d现在距离到还点]{2,5}?)??(?:距离?|离|到)?(?P<part>今天|今晚|上午|中午|"
    r"下午|晚上|傍晚)?(?:的)?"
    r"(?P<time>午夜|半夜12点|零点|正午|中午|(?P<hour>[\d一二两三四五六七八九十]{1,3})点(?P<half>半|钟|整)?)还(?:有|"
    r"剩|要|差)(?:多久|"
    r"多长时间|几个?小时|多少个?小时|多少时间|多少分钟)"
)


def match_time_until(core: str) -> str | None:
    """Return the expression for the minutes until a time of day: 离下午6点还有多久."""
    match = _TIME_UNTIL.fullmatch(core)
    if not match:
        return None
    if match["hour"] is None:
        wanted = "12:00" if match["time"] in ("正午", "中午") else "24:00"
    else:
        digits = replace_chinese_numerals(match["hour"])
        hour = int(digits) if digits.isdecimal() else 24
        if match["part"] in ("下午", "晚上", "傍晚", "今晚") and hour < 12:
            hour += 12
        elif match["part"] in (None, "今天") and hour < 13:
            return None
        if hour > 23:
            return None
        wanted = f"{hour:02}:{'30' if match['half'] == '半' else '00'}"
    city = match["city"]
    if city and city not in ZONE_BY_CITY:
        return None
    return f'minutes_until("{wanted}", "{city}")' if city else f'minutes_until("{wanted}")'


_RELATIVE_DAYS = {
    "今天": 0, "今日": 0, "现在": 0, "明天": 1, "明日": 1, "后天": 2, "大后天": 3, "昨天": -1, "昨日": -1, "前天": -2,
    "大前天": -3,
}  # fmt: skip
# Each line is a holiday and its names in questions.
_HOLIDAY_NAMES = """
new year: 元旦, 元旦节, 新年, 跨年
new year's eve: 跨年夜
chinese new year: 春节, 过年, 农历新年, 大年初一
dragon boat festival: 端午, 端午节
mid-autumn festival: 中秋, 中秋节
china's national day: 国庆, 国庆节, 十一
labour day: 劳动节, 五一, 五一劳动节
children's day: 儿童节, 六一
women's day: 妇女节
valentine's day: 情人节
april fools' day: 愚人节
easter: 复活节
halloween: 万圣节
thanksgiving: 感恩节
christmas eve: 平安夜
christmas: 圣诞, 圣诞节
"""
_HOLIDAYS = read_names(_HOLIDAY_NAMES)
_YEARS = {"今年": "year(today())", "明年": "year(today()) + 1", "去年": "year(today()) - 1"}
_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ASKS_WEEKDAY = r"(?:是|为)?(?:星期|周|礼拜)(?:几|多少|什么)"
_ASKS_DATE = (
    r"(?:是|为)?(?:的)?(?:日期|几月几[号日]|几[号日]|多少号|哪一?天|什么日子|什么日期|什么时候|"
    r"日期是多少|日期是什么|哪天|何时)"
)
_SHIFT = re.compile(
    r"(?:(?P<base>.*?\D)(?:再)?(?:过|往后|往前)?)??(?P<n>\d+|半)个?(?P<unit>天|日|周|星期|月|年)(?:以|"
    r"之)?(?P<way>后|前)(?:的?(?:今天|那天|日期))?"
)


def read_day(text: str, *, future: bool = True, year: int = 0) -> str | None:
    """Return the expression of a day: relative, a holiday, a weekday or a date."""
    text = re.sub(r"^(?:今年的?|下一?个|距离?)", "", text).removesuffix("这天").removesuffix("那天")
    if text in _RELATIVE_DAYS:
        shift = _RELATIVE_DAYS[text]
        return f"add_days(today(), {shift})" if shift else "today()"
    if text in _HOLIDAYS:
        return f'next_holiday("{_HOLIDAYS[text]}")'
    if text in ("年底", "年末", "今年结束"):
        return "date(year(today()), 12, 31)"
    if match := re.fullmatch(r"(下+个?|上个?|这个?|本)?(?:星期|周|礼拜)([一二三四五六日天末])", text):
        return find_weekday(
            match[1] or "", CHINESE_WEEKDAYS.find(match[2].replace("天", "日").replace("末", "六")), future
        )
    fields = split_date(replace_chinese_numerals(text))
    if fields is None:
        return None
    known_year = fields[0] or year
    if known_year:
        expression = f'date("{known_year:04}-{fields[1]:02}-{fields[2]:02}")'
        return expression if is_expression(expression) else None
    return f"{'next' if future else 'last'}_date({fields[1]}, {fields[2]})"


def find_weekday(which: str, weekday: int, future: bool) -> str:
    """Return the expression of a weekday: 下周五 is the Friday of the next week, 周五 the next Friday."""
    if not which:
        return f'{"next" if future else "last"}_weekday("{_WEEKDAY_NAMES[weekday]}")'
    weeks = {"下": 0, "上": -2}.get(which[0], -1) + max(which.count("下") - 1, 0)
    return f'add_days(next_weekday("monday"), {weekday + 7 * weeks})'


def match_days(core: str) -> str | None:
    """Return the expression of a question about dates."""
    return match_day_names(core) or match_counted_days(core) or match_calendar(core)


def match_day_names(core: str) -> str | None:
    if re.fullmatch(r"(?:今年|现在)是?(?:哪一?年|几几年|多少年|什么年份)|今年是?(?:公元)?多少年", core):
        return "year(today())"
    if re.fullmatch(r"(?:这个月|现在|本月)是?(?:几月份?|几月)", core):
        return "month(today())"
    # The date is told with its weekday.
    core = re.sub(r"(几[号日]),?是?(?:星期|周|礼拜)几$", r"\1", core)
    weekday = re.fullmatch(rf"(?P<day>.+?)(?:那天|这天)?{_ASKS_WEEKDAY}", core)
    match = weekday or re.fullmatch(rf"(?P<day>.+?)(?:那天|这天)?{_ASKS_DATE}", core)
    if not match:
        return None
    if (holiday := re.fullmatch(r"(今年|明年|去年|\d{4}年)的?(.+)", match["day"])) and holiday[2] in _HOLIDAYS:
        year = _YEARS.get(holiday[1], holiday[1].rstrip("年"))
        day: str | None = f'holiday("{_HOLIDAYS[holiday[2]]}", {year})'
        return f"weekday({day})" if weekday else day
    day = read_day(match["day"])
    if day is None or (not weekday and re.match(r"date\(|next_date", day)):
        day = shift_day(replace_chinese_numerals(match["day"]))
    return day and (f"weekday({day})" if weekday else day)


_KIND = r"(?:周末|双休日|工作日|平日|平常日子)"
_DAY_KIND = re.compile(
    r"(?P<day>[^,]{1,12}?)??,?(?:现在|已经|这会儿)*(?:到|是|算|属于|在|赶上|落在)?(?:不是|不算)?(?:已经)?(?:是|到)?"
    rf"{_KIND}(?:了|啦)?(?:,?还是(?:说)?(?:已经)?(?:是|到)?{_KIND})?(?:了|啦|没有|没|么)?"
)


def match_day_kind(core: str) -> str | None:
    """Return the expression for whether a day is one of the weekend: 今天是工作日还是周末."""
    match = _DAY_KIND.fullmatch(core)
    day = read_day(match["day"] or "今天") if match else None
    return f"day_kind({day})" if day else None


def shift_day(text: str) -> str | None:
    """Return the expression of a day some days, weeks, months or years away: 100天后, 元旦的前一天."""
    if neighbour := re.fullmatch(r"(.+?)的?(?:(前|后|下)[一1][天日]|(第[二2]|次)[天日])", text):
        base = read_day(neighbour[1])
        return f"add_days({base}, {-1 if neighbour[2] == '前' else 1})" if base else None
    if re.fullmatch(r"再?过\d+个?(?:天|日|周|星期|月|年)", text):
        text = text.lstrip("再过") + "后"
    match = _SHIFT.fullmatch(text)
    if not match or match["n"] == "半":
        return None
    day = (
        read_day(match["base"]) if match["base"] and match["base"] not in ("再", "从今天起", "从现在起") else "today()"
    )
    unit = {"天": "days", "日": "days", "周": "weeks", "星期": "weeks", "月": "months", "年": "years"}[match["unit"]]
    return f"add_{unit}({day}, {'-' if match['way'] == '前' else ''}{match['n']})" if day else None


_HOW_MANY_DAYS = (
    r"(?:一共|总共|共)?(?:还)?(?:有|剩|剩下|要等|要|需要|差|隔|相隔|相差|是|过)*(?:多少|几)(?P<unit>天|周|个?星期)"
)


def match_counted_days(core: str) -> str | None:
    """Return the expression for the days until, since or between days."""
    match = re.fullmatch(rf"(?:从)?(?P<a>.+?)(?:到|至|和|与|跟)(?P<b>.+?)(?:之间|中间|期间)?{_HOW_MANY_DAYS}", core)
    if match:
        days = read_days(replace_chinese_numerals(match["a"]), replace_chinese_numerals(match["b"]), read_day)
        if days:
            return divide_weeks(f"days_between({days})", match)
    match = re.fullmatch(rf"(?:现在|今天)?(?:距离?|离|到|距今)?(?P<day>.+?)(?:到来)?{_HOW_MANY_DAYS}", core)
    if match and "还" in core + ("还" if re.match(r"(?:现在|今天)?(?:距|离|到)", core) else ""):
        day = read_day(re.sub(r"^(?:距离|距|离|到)", "", match["day"]))
        return divide_weeks(f"days_between(today(), {day})", match) if day else None
    if (
        match := re.fullmatch(
            r"还(?:有|剩|要)(?:多少|几)(?P<unit>天)(?:就是|就到|才到|才是|到|就|才)?(?P<day>.+)", core
        )
    ) and (day := read_day(match["day"])):
        return f"days_between(today(), {day})"
    match = re.fullmatch(
        rf"(?:从)?(?P<day>.+?)(?:到现在|到今天|至今|以来)(?:已经)?(?:过了|过去了?)?{_HOW_MANY_DAYS}(?:了)?", core
    )
    if match and (day := read_day(match["day"], future=False)):
        return divide_weeks(f"days_between({day}, today())", match)
    return None


def divide_weeks(expression: str, match: re.Match[str]) -> str:
    return expression if match["unit"] == "天" else f"round({expression} / 7, 1)"


def match_calendar(core: str) -> str | None:
    """Return the expression for the length of a month or a year."""
    text = replace_chinese_numerals(core)
    if match := re.fullmatch(
        r"(?:(?P<year>\d{4})年|(?P<word>今年|明年|去年))?的?(?P<month>\d{1,2})月份?(?:一共|总共|共)?有(?:多少|几)天",
        text,
    ):
        year = match["year"] or _YEARS[match["word"] or "今年"]
        return f"days_in_month({year}, {int(match['month'])})" if 1 <= int(match["month"]) <= 12 else None
    if re.fullmatch(r"(?:这个月|本月)(?:一共|总共|共)?有(?:多少|几)天", core):
        return "days_in_month(year(today()), month(today()))"
    if (
        re.fullmatch(r"(?:今年|这一?年|本年)(?:还|只)?(?:剩下?|有|剩余)(?:多少|几)天(?:了|过完|结束)?", text)
        and "剩" in text
    ):
        return "days_between(today(), date(year(today()), 12, 31))"
    if match := re.fullmatch(r"(?:(?P<year>\d{4})年|(?P<word>今年|明年|去年))(?:一共|总共|共)?有(?:多少|几)天", text):
        return f"days_in_year({match['year'] or _YEARS[match['word']]})"
    if match := re.fullmatch(
        r"(?:(?P<year>\d{4})年?|(?P<word>今年|明年|去年))是?(?:不是)?(?:闰年|平年还是闰年|闰年还是平年)", text
    ):
        return f"is_leap_year({match['year'] or _YEARS[match['word']]})"
    return None
