"""Kinds of values: how one is drawn, how a user writes it, and which schema it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from train.draw import Draw, to_ascii_lower

Maker = Callable[[Draw, bool], str]
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
NUMBERS_ZH = "零一两三四五六七八九十"
QUOTED = frozenset(["text", "title", "song", "query", "word", "sql", "scene"])


def place(draw: Draw, zh: bool) -> str:
    if zh and draw.chance(0.9):
        return draw.word("place", True)
    return draw.made_up(draw.whole(2, 3)).capitalize() if draw.chance(0.12) else draw.word("place")


def person(draw: Draw, zh: bool) -> str:
    if zh and draw.chance(0.85):
        return draw.word("surname", True) + draw.word("given", True)
    if draw.chance(0.2):
        return draw.word("first")
    if draw.chance(0.12):
        return f"{draw.made_up(2).capitalize()} {draw.made_up(3).capitalize()}"
    return f"{draw.word('first')} {draw.word('last')}"


def host(draw: Draw, zh: bool) -> str:
    firm = f"{draw.word('company_a').lower()}-{draw.word('company_b').lower()}"
    name = draw.one([draw.made_up(2), firm, draw.word("word").lower()])
    return draw.one(["", "www.", "shop.", "docs.", "api."]) + name + draw.one([".com", ".org", ".io", ".net", ".dev"])


def email(draw: Draw, zh: bool) -> str:
    first, last = to_ascii_lower(draw.word("first")), to_ascii_lower(draw.word("last"))
    who = draw.one([f"{first}.{last}", f"{first}_{last}", first + draw.digits(2), draw.one(["info", "sales", "hr"])])
    firm = f"{draw.word('company_a').lower()}{draw.word('company_b').lower()}.com"
    return f"{who}@{draw.one([firm, draw.made_up(2) + '.io', 'example.com'])}"


def url(draw: Draw, zh: bool) -> str:
    tag = draw.word("tag")
    tail = draw.one(["", f"/{tag}", f"/{tag}/{draw.digits(4)}", f"/p?id={draw.digits(3)}"])
    return draw.one(["https://", "https://", "http://"]) + host(draw, zh) + tail


def folder(draw: Draw, zh: bool) -> str:
    root = draw.one(["/", "~/", "./", "", f"/home/{to_ascii_lower(draw.word('first'))}/", "C:\\work\\"])
    name = draw.one(
        ["src", "docs", "data", "reports", "tests", "photos", "var/log", "projects", "backup", "lib", "invoices"]
    )
    return root + name + draw.one(["", f"/{draw.word('tag')}", f"/{draw.digits(4)}"])


def path(draw: Draw, zh: bool, endings: str = "txt md pdf docx csv json py log html yaml") -> str:
    name = draw.one(
        [
            draw.word("tag"),
            f"{draw.word('title_a').lower()}_{draw.word('title_b')}",
            draw.made_up(3),
            f"draft{draw.digits(1)}",
        ]
    )
    return (
        draw.one([folder(draw, zh) + "/", "", "/tmp/"])  # a user's words, no file is touched
        + f"{name}.{draw.one(endings.split())}"
    )


def date(draw: Draw, zh: bool) -> str:
    return f"{draw.whole(2022, 2027)}-{draw.whole(1, 12):02}-{draw.whole(1, 28):02}"


def clock(draw: Draw, zh: bool) -> str:
    return f"{draw.whole(0, 23):02}:{draw.one([0, 15, 30, 45, draw.whole(0, 59)]):02}"


def topic(draw: Draw, zh: bool) -> str:
    if zh:
        return draw.word("topic", True)
    noun, adjective, tail = draw.word("topic_noun"), draw.word("topic_adjective"), draw.word("topic_tail")
    return draw.one([f"{adjective} {noun}", f"{noun} {tail}", f"{noun} and {draw.word('topic_noun')}"])


def query(draw: Draw, zh: bool) -> str:
    if zh:
        return topic(draw, True) + draw.one(["", "发展趋势", "价格", "教程"])
    tail = draw.one(["prices", "history", "tutorial", "reviews", "statistics"])
    return draw.one([topic(draw, False), f"{topic(draw, False)} {tail}", f"best {topic(draw, False)}"])


def text(draw: Draw, zh: bool) -> str:
    if zh:
        return draw.word("text", True) + (f"，{draw.word('text', True)}" if draw.chance(0.2) else "")
    if draw.chance(0.5):
        return sentence(draw)
    short = f"{draw.word('text_a')} {draw.word('text_b')}"
    more = f"{short} and {draw.word('text_a').lower()} {draw.word('text_b')}"
    return draw.one([short, draw.word("text"), more])


def sentence(draw: Draw) -> str:
    """Words that nobody would guess: they have to be copied one by one."""
    thing = draw.word(draw.one(["food", "product_b", "topic_noun", "room", "title_b", "dish", "subject"]))
    who = draw.one([draw.word("first"), f"the {thing}", f"our {thing}", f"{draw.made_up(2).capitalize()}"])
    does = f"{draw.word('does')} {draw.one([draw.word('tail'), draw.word('place'), draw.digits(2)])}"
    found = draw.one([f"{who} {does}", f"{does}: {who}", f"{who} {does}, {draw.word('tail')}"])
    return draw.one([found, found[:1].upper() + found[1:]])


def title(draw: Draw, zh: bool) -> str:
    if zh:
        return draw.word("title", True)
    one = f"{draw.word('title_a')} {draw.word('title_b')}"
    return draw.one([one, f"{one} {draw.digits(1)}", song(draw, zh)])


def song(draw: Draw, zh: bool) -> str:
    return f"{draw.word('song_a')} {draw.word('song_b')}"


def company(draw: Draw, zh: bool) -> str:
    if zh:
        return draw.word("company", True)
    two = f"{draw.word('last')} & {draw.word('last')}"
    made = f"{draw.made_up(2).capitalize()} {draw.word('company_b')}"
    return draw.one([f"{draw.word('company_a')} {draw.word('company_b')}", two, made])


def product(draw: Draw, zh: bool) -> str:
    if zh:
        return draw.word("product", True)
    thing = draw.word("product_b")
    return draw.one([f"{draw.word('product_a')} {thing}", f"{draw.word('colour')} {thing}", thing])


def task(draw: Draw, zh: bool) -> str:
    if zh or draw.chance(0.5):
        return draw.word("task", zh)
    return f"{draw.word('task_verb')} {draw.word('task_object')}"


def formula(draw: Draw, zh: bool) -> str:
    a, b, c = draw.whole(2, 999), draw.whole(2, 99), draw.whole(2, 30)
    return draw.one([f"{a} {draw.one('+-*/')} {b}", f"({a} + {b}) * {c}", f"{a}*{b}/{c}", f"sqrt({a})"])


def sql(draw: Draw, zh: bool) -> str:
    columns, table = (draw.one(["*", "count(*)", "name", "id, email"]), draw.one(["users", "orders", "events"]))
    tail = draw.one(["", f" WHERE id = {draw.digits(3)}", f" LIMIT {draw.digits(2)}"])
    return " ".join(["SELECT", columns, "FROM", table]) + tail


def ticker(draw: Draw, zh: bool) -> str:
    return draw.word("ticker") if draw.chance(0.7) else draw.letters(draw.whole(3, 4))


def phone(draw: Draw, zh: bool) -> str:
    far = f"+{draw.whole(1, 99)} {draw.digits(3)} {draw.digits(6)}"
    return draw.one([far, f"+1-555-{draw.digits(4)}", f"0{draw.digits(3)} {draw.digits(6)}"])


def sku(draw: Draw, zh: bool) -> str:
    return draw.one([f"SKU-{draw.digits(4)}", f"{draw.letters(1)}{draw.digits(2)}-{draw.digits(3)}"])


def code(draw: Draw, zh: bool) -> str:
    """How people number their things: T4, K-88, WB12."""
    forms = ["{a}{d}", "{a}{d}{e}", "{a}-{d}{e}", "{a}{b}-{d}{e}", "{a}{b}{d}{e}", "{a}-{d}", "{d}{e}{a}"]
    forms += ["{b}{d}-{e}{a}", "{a}{b}{b}-{e}{d}{d}", "{d}{d}-{a}{e}", "{a}/{d}{e}", "{a}.{d}.{e}"]
    a, b, d, e = draw.letters(1), draw.letters(1), draw.whole(1, 9), draw.digits(1)
    return draw.one(forms).format(a=a, b=b, d=d, e=e)


def service(draw: Draw, zh: bool) -> str:
    name = draw.word("service")
    return draw.one([name, f"{name}-{draw.word('service_tail')}"])


def scene(draw: Draw, zh: bool) -> str:
    return draw.word("scene", True) if zh else f"{draw.word('scene_a')} {draw.word('scene_b')}"


MAKERS: dict[str, Maker] = {
    "place": place,
    "person": person,
    "email": email,
    "url": url,
    "host": host,
    "path": path,
    "folder": folder,
    "imgpath": lambda draw, zh: path(draw, zh, "png jpg webp"),
    "csvpath": lambda draw, zh: path(draw, zh, "csv xlsx json"),
    "date": date,
    "time": clock,
    "ticker": ticker,
    "topic": topic,
    "query": query,
    "song": song,
    "artist": lambda draw, zh: f"The {draw.word('company_a')} {draw.word('song_b')}",
    "task": task,
    "company": company,
    "product": product,
    "sku": sku,
    "code": code,
    "coupon": lambda draw, zh: draw.one(["SAVE", "SPRING", "VIP", "SUMMER", "DEAL"]) + draw.digits(2),
    "tracking": lambda draw, zh: draw.one(["1Z" + draw.digits(9), "JD" + draw.digits(10), draw.digits(12)]),
    "service": service,
    "version": lambda draw, zh: f"{draw.whole(0, 9)}.{draw.whole(0, 20)}.{draw.whole(0, 12)}",
    "repo": lambda draw, zh: f"{draw.word('company_a').lower()}/{service(draw, zh)}",
    "branch": lambda draw, zh: f"{draw.one(['feature/', 'fix/', ''])}{draw.word('tag')}-{draw.word('title_b')}",
    "dbname": lambda draw, zh: draw.word("service") + draw.one(["", "_db", "_prod"]),
    "table": lambda draw, zh: draw.one(["users", "orders", "events", "payments", "logs"]) + draw.one(["", "_old"]),
    "sql": sql,
    "ip": lambda draw, zh: ".".join(str(draw.whole(1, 254)) for _ in range(4)),
    "phone": phone,
    "channel": lambda draw, zh: f"#{draw.one([draw.word('tag'), draw.word('tag') + '-' + draw.word('title_b')])}",
    "slug": lambda draw, zh: draw.one([f"{draw.word('tag')}-{draw.word('title_b')}", draw.made_up(3)]),
    "flightno": lambda draw, zh: (
        draw.one(["LH", "BA", "AF", "UA", "DL", "EK", "QF", "SQ"]) + draw.digits(draw.whole(3, 4))
    ),
    "isbn": lambda draw, zh: f"978-{draw.digits(1)}-{draw.digits(4)}-{draw.digits(4)}-{draw.digits(1)}",
    "plate": lambda draw, zh: draw.one([f"B-KL {draw.digits(4)}", f"AB{draw.digits(2)} {draw.letters(3)}"]),
    "region": lambda draw, zh: (
        f"{draw.one(['eu', 'us', 'ap'])}-{draw.one(['west', 'east', 'north'])}-{draw.whole(1, 3)}"
    ),
    "expr": formula,
    "text": text,
    "title": title,
    "scene": scene,
}


STRANGE = {
    "place": ["镇", "村", "湖", "路", "县", "岛", "湾", "站", ""],
    "person": [""],
    "company": ["公司", "集团", "科技", "商店", "银行"],
    "product": ["机", "灯", "杯", "箱", "器", "布", ""],
    "title": ["会议", "计划", "报告", "问题", "之夜", ""],
    "song": ["之歌", ""],
    "task": ["的表格", "的材料", ""],
    "topic": ["技术", "市场", "的历史", ""],
    "query": ["价格", "做法", "攻略", ""],
    "text": ["已经到了", "改时间了", "请带上", "记得看", "，谢谢", ""],
    "food": ["饼", "汤", "面", "菜", ""],
    "room": ["室", "厅", "房", "间"],
    "poi": ["馆", "寺", "公园", "塔"],
    "scene": ["模式", ""],
}
"""Kinds that may have any name in Chinese, and how such names end."""


def make_strange_name(draw: Draw, kind: str) -> str:
    """A name in characters that do not belong together; parts of it may be known."""
    if kind == "person":
        return draw.word("surname", True) + draw.characters(draw.whole(1, 2))
    made = draw.characters(draw.whole(4, 9) if kind == "text" and draw.chance(0.6) else draw.whole(1, 4))
    known = draw.word(draw.one(["place", "food", "colour", "product", "title"]), True)
    return draw.one([made, made, made + known, known + made]) + draw.one(STRANGE[kind])


def draw_simple(draw: Draw, kind: str, zh: bool) -> str:
    """A kind of one string: one with a maker, else a list of words."""
    if zh and kind in STRANGE and draw.chance(0.35):
        return make_strange_name(draw, kind)
    maker = MAKERS.get(kind)
    return maker(draw, zh) if maker else draw.word(kind, zh)


def quote_value(draw: Draw, value: str, zh: bool) -> str:
    if not draw.chance(0.4):
        return value
    return f"“{value}”" if zh else f'"{value}"' if "'" in value or draw.chance(0.5) else f"'{value}'"


def make_identifier(draw: Draw, prefix: str) -> str:
    forms = [
        f"{prefix}-{draw.digits(5)}",
        f"{prefix}-{draw.digits(4)}",
        f"{prefix}{draw.digits(6)}",
        draw.digits(6),
        f"{prefix}-{draw.one('ABCDEFGH')}{draw.digits(3)}",
        f"{prefix}/{draw.whole(2021, 2027)}/{draw.digits(3)}",
        f"{prefix.lower()}_{draw.digits(3)}{draw.letters(2).lower()}",
        f"{draw.letters(2)}{draw.digits(2)}-{draw.digits(3)}-{draw.letters(1)}",
    ]
    return draw.one(forms)


ValueAndWords = tuple[Any, str]
