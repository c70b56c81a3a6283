"""`facts`: the built-in tool for short questions of general knowledge, from tables in facts.toml.

Countries, famous places, works and inventions with their authors, abbreviations, records and counts, and the chemical
elements, in English and Chinese. A question is answered only where all of its words are explained: by an entry,
by what is asked of it, and by words that carry no meaning. One other word makes it another question: the capital of
New Mexico is not that of Mexico. In doubt there is no answer.
"""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from importlib import resources

from msgspec import Struct

from rightseat.tools.function import tool
from rightseat.types.language import Language, detect_language
from rightseat.types.tools import Result, error_result

MAX_QUESTION = 160
_MAX_NAME_WORDS = 8
_HAN = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ASKS = re.compile(
    r"\b(?:what|whats|what's|which|who|whos|who's|whose|whom|where|wheres|where's|when|how|name|tell me|"
    r"remind me|know|"
    r"stands?|short for|capital of|currency of)\b|\?|什么|啥|谁|哪|几|多少|多[久长远高大]|何"
)
_FILLERS = frozenset(
    re.findall(
        r"\S+",
        """a am an the of in on at to for from by with and or so but is are was were be been do does did can could would
        will has have had there here it its it's that this these those they them their i i'm im me
        my we our us you your he
        she one ones what whats what's which who who's whos whose whom where where's wheres when how much tell remind
        please pls plz thanks hi hey hello ok again exactly called name named names know happen wonder wondering curious
        question quick random just actually always forget forgot never remember keep keeps talking talked friend friends
        kid kids son daughter teacher asked asks heard saw read trivia quiz night world whole earth planet's entire ever
        all time currently right now today people go going goes soon trip travel traveling travelling visit visiting
        holiday vacation planning next week month year need use used uses using pay call if then like some any kind sort
        type really about also btw by way city town country located situated famous known guy man person woman first
        originally normally normal usually standard regular average typical typically most human actually s re 's old
        many thats that's belong belongs find found see look anyone somebody someone
        sorry um uh well oh yo btw""",
    )
)
_FILLERS_HAN = re.compile(
    r"请问一下|请问|你知道|谁知道|知道|告诉我|我想知道|想知道|想问一下|问一下|有人|全世界|世界上|全世界上|世界|"
    r"全球|地球上|来着|到底|"
    r"究竟|总共|一共|一般|普通|标准|通常|正常|大概|现在|名字|名称|哪一?[个条座种位国家里儿些年]|哪|什么|多少|"
    r"几|谁|何|一?[个条座种位只支副场把"
    r"根张颗块名]|叫|是|的|呀|啊|呢|吗|吧|了|有|里|中|在|上|会|都|要|用|去|到|么|哦|诶|咱|我|们|这|那|这个|"
    r"那个|队|比赛|上场|"
    r"人家|一|个|属于|位于|著名|作品|一副|一年里|城市|地方|国家|国|人|所|出|写|[《》“”\"？?。，,！!、~～\s]"
)


class Country(Struct, frozen=True):
    name: str
    zh: str
    capital: str
    capital_zh: str
    currency: str
    currency_zh: str
    continent: str
    languages: str
    languages_zh: str


class Record(Struct, frozen=True):
    """A fact that is known by its words: groups of words, one of each."""

    groups: tuple[frozenset[str], ...]
    groups_zh: tuple[tuple[str, ...], ...]
    en: str
    zh: str


@functools.cache
def load_tables() -> dict[str, str]:
    text = (resources.files("rightseat.tools.builtin") / "facts.toml").read_text("utf-8")
    return tomllib.loads(text)


def read_rows(table: str, separator: str = r"\|") -> Iterator[list[str]]:
    for line in load_tables()[table].strip().splitlines():
        yield [cell.strip() for cell in re.split(rf" {separator}(?= |$)", line)]


@functools.cache
def load_names(table: str, columns: tuple[int, ...] = (0, 1)) -> dict[str, list[list[str]]]:
    """Return the rows of a table by each name of an entry, in lower case and without accents."""
    names: dict[str, list[list[str]]] = {}
    for row in read_rows(table):
        for column in columns:
            for name in row[column].split("/"):
                rows = names.setdefault(simplify(split_note(name)[0]), [])
                rows.extend([row] if row not in rows else [])
    return names


def split_note(cell: str) -> tuple[str, str]:
    """Return the name in a cell and the note in brackets behind it, with its brackets."""
    match = re.fullmatch(r"(.*?)( \(.*\)|（.*）)?", cell.strip())
    return (match[1], match[2] or "") if match else (cell, "")


def pick_name(cell: str, simple_name: str) -> str:
    """Return the name of an entry that a question uses, as the table writes it; else the first one."""
    names = [split_note(name)[0] for name in cell.split("/")]
    return next((name for name in names if simplify(name) == simple_name), names[0])


@functools.cache
def load_records() -> tuple[Record, ...]:
    return tuple(
        Record(
            tuple(frozenset(group.split("/")) for group in en_words.split()),
            tuple(tuple(group.split("|")) for group in zh_words.split("/")),
            en,
            zh,
        )
        for en_words, zh_words, en, zh in read_rows("records", ";")
    )


def simplify(text: str) -> str:
    """Return a text in lower case, without accents and with plain apostrophes."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).replace("’", "'"))
    return "".join(char for char in plain if not unicodedata.combining(char)).lower()


def find_fact(question: str) -> str | None:
    """Return the answer to a short question in its language; None if the tables do not have it."""
    text = question.strip()
    if len(text) > MAX_QUESTION or "\n" in text or not _ASKS.search(simplify(text)):
        return None
    language = detect_language(text)
    finders = (find_abbreviation, find_country_fact, find_element, find_place, find_creator, find_record)
    return next((answer for finder in finders if (answer := finder(text, language))), None)


class Named(Struct, frozen=True):
    """An entry that a question names, and the words around the name."""

    rows: list[list[str]]
    """Entries of this name; most names have one."""
    name: str
    rest: str

    @property
    def row(self) -> list[str]:
        return self.rows[0]


def find_named(text: str, table: str, columns: tuple[int, ...] = (0, 1)) -> Named | None:
    """Return the entry with the longest name in a text."""
    names = load_names(table, columns)
    simple = simplify(text)
    if _HAN.search(simple):
        found = [name for name in names if _HAN.search(name) and name in simple]
        name = max(found, key=len, default="")
        return Named(names[name], name, simple.replace(name, " ", 1)) if name else None
    words = [(match.start(), match.end()) for match in _WORD.finditer(simple)]
    for length in range(_MAX_NAME_WORDS, 0, -1):
        for (start, _), (_, end) in zip(words, words[length - 1 :], strict=False):
            name = simple[start:end]
            name = name if name in names else name.removesuffix("'s")
            if name in names and (name != "us" or re.search(r"\bUS\b|\bthe us\b", text)):
                return Named(names[name], name, f"{simple[:start]} {simple[end:]}")
    return None


def list_other_words(rest: str, *known: str) -> list[str]:
    """Return the words, or the Chinese characters, that neither the patterns nor the fillers explain."""
    for pattern in known:
        rest = re.sub(pattern, " ", rest)
    if _HAN.search(rest):
        return re.findall(rf"{_HAN.pattern}|[a-z]+", _FILLERS_HAN.sub(" ", rest))
    return [word for word in _WORD.findall(rest) if word.removesuffix("'s") not in _FILLERS]


_ATTRIBUTES = {
    "capital": r"\bcapitals?(?: city)?\b(?! letter)|首都|首府",
    "currency": r"\b(?:currency|currencies|money|cash)\b|货币|币种|什么钱|用.{0,2}钱|钱币",
    "language": r"\b(?:languages?|speak|speaks|spoken)\b|什么语言?|什么话|官方语言|语言|讲什么|说什么",
    "continent": r"\bcontinents?\b|[哪什].{0,2}大?洲|大洲|大陆",
}
_CONTINENTS_ZH = {
    "Asia": "亚洲", "Europe": "欧洲", "Africa": "非洲", "North America": "北美洲", "South America": "南美洲",
    "Oceania": "大洋洲", "Europe and Asia": "欧洲和亚洲", "Asia and Europe": "亚洲和欧洲",
    "Western Asia, near the border with Europe": "亚洲西部，靠近欧洲",
    "Western Asia and is a member of the European Union": "亚洲西部，同时是欧盟成员国",
    "Asia, with a small part in Europe": "亚洲，一小部分在欧洲",
    "Africa, with a small part in Asia": "非洲，一小部分在亚洲",
}  # fmt: skip


_WITH_ARTICLE = re.compile(
    r"United|Netherlands|Philippines|Czech Republic|Bahamas|Maldives|Gambia|Dominican Republic|Central African|"
    r"Republic|Comoros|Marshall|Solomon|Seychelles|DR Congo|Ivory"
)
# Another question about a country: an amount, a person, a reason, the past or the future, yes or no.
_OTHER_COUNTRY_QUESTION = re.compile(
    r"\b(?:how|who|whose|when|why|first|old|next (?:capital|currency)|original(?:ly)?|used to|"
    r"(?<!i )(?<!we )will|have i|i have|famous|average)\b|"
    r"^(?!.*\b(?:what|whats|which|tell|know|name|remind)\b)(?:do|does|did|is|are|can|could|should|"
    r"would|has|have|was|were|will)\b|^(?!.*\b(?:again|name|called)\b).*\b(?:was|were|did|had)\b|多少|谁|为什么|怎么|"
    r"如何|以前|曾经|原来|过去|古代|旧|第一|何时"
)


def find_country_fact(text: str, language: Language) -> str | None:
    """Return the capital, the currency, the languages or the continent of a country."""
    simple = simplify(text)
    asked = [name for name, pattern in _ATTRIBUTES.items() if re.search(pattern, simple)]
    if len(asked) != 1 or _OTHER_COUNTRY_QUESTION.search(simple):
        return None
    named = find_named(text, "countries")
    if named is None:
        return find_country_of_capital(text, language) if asked == ["capital"] else None
    if list_other_words(named.rest, _ATTRIBUTES[asked[0]], r"\b(?:official|national|main)\b|官方|主要"):
        return None
    cells = [cell.split("/")[0] if number < 2 else cell for number, cell in enumerate(named.row)]
    country = Country(*cells)
    where = add_article(country.name)
    continent = _CONTINENTS_ZH[country.continent]
    answers: dict[str, tuple[str, str]] = {
        "capital": (f"The capital of {where} is {country.capital}.", f"{country.zh}的首都是{country.capital_zh}。"),
        "currency": (
            f"The currency of {where} is the {country.currency}.",
            f"{country.zh}的货币是{country.currency_zh}。",
        ),
        "language": (f"In {where} people speak {country.languages}.", f"{country.zh}的语言是{country.languages_zh}。"),
        "continent": (f"{_upper(where)} is in {country.continent}.", f"{country.zh}位于{continent}。"),
    }
    return answers[asked[0]][language == "zh"].replace("..", ".")


def add_article(country: str) -> str:
    return f"the {country}" if _WITH_ARTICLE.match(country) else country


def find_country_of_capital(text: str, language: Language) -> str | None:
    named = find_named(text, "countries", (2, 3))
    if named is None or list_other_words(named.rest, _ATTRIBUTES["capital"]):
        return None
    return describe_capital(named, language)


def describe_capital(named: Named, language: Language) -> str:
    """Return of which country a city is the capital; two countries may share a name of it."""
    column = 3 if language == "zh" else 2
    name, note = split_note(named.row[column])
    if language == "zh":
        capitals = "，也是".join(f"{row[1].split('/')[0]}的首都" for row in named.rows)
        return f"{name}是{capitals}{note}。"
    return f"{name} is the capital of {' and of '.join(add_article(row[0].split('/')[0]) for row in named.rows)}{note}."


_ASKS_WHERE = (
    r"\bwhere(?:'s|s)?\b|\b(?:which|what) (?:country|city|continent|state|part of the world|island)\b|"
    r"在哪里?儿?|哪个?国家?|什么地方|哪个城市|哪个省"
)


_PLACES_WITH_ARTICLE = re.compile(
    r"(?:.*\b(?:Tower|Towers|Gate|Canal|Islands|Desert|Caves|Bridge|Canyon|Army|Warriors|Reef|Wall|City|Pyramid|"
    r"Pyramids|House)\b|Louvre|Colosseum|Alhambra|Acropolis|Parthenon|Kremlin|Matterhorn|Dead Sea|Burj|Taj|Potala|"
    r"Merlion|Statue|Sphinx|Serengeti|Sagrada|Oriental)"
)


def find_place(text: str, language: Language) -> str | None:
    """Return where a famous place or a capital is."""
    simple = simplify(text)
    if not re.search(_ASKS_WHERE, simple) or re.search(r"\b(?:our|your|first|old)\b|[我你]们?的", simple):
        return None
    named = find_named(text, "places")
    capital = None if named else find_named(text, "countries", (2, 3))
    place = named or capital
    if place is None or list_other_words(place.rest, _ASKS_WHERE):
        return None
    # Where to go in Rome is another question.
    if re.search(rf"\b(?:in|at|to|from|near|around|of|with|and|my)(?: the)? {re.escape(place.name)}", simple):
        return None
    if capital:
        return describe_capital(capital, language)
    name, zh = pick_name(place.row[0], place.name), pick_name(place.row[1], place.name)
    if language == "zh":
        return f"{zh}在{place.row[3]}。"
    verb = "are" if re.search(r"Pyramids|Towers|Falls|Caves|Islands|Warriors", name) else "is"
    return f"{'The ' if _PLACES_WITH_ARTICLE.match(name) else ''}{name} {verb} in {place.row[2]}."


# Words for what was made. A verb is known only where it fits the entry.
_KINDS = (
    r"\b(?:book|novel|painting|picture|play|poem|song|film|movie|symphony|music|theory|company|character|story|series|"
    r"opera|ballet|artwork|idea)s?\b|"
    r"作者|作品|作曲家?|写|画|创作|作|创立|创建|创办|创|谱|发明家?|发现|提出来?|著|编|导演|导|演唱|唱|诗人?|书|"
    r"小说|名画|曲|歌|哪位|作家|画家|音乐家|科学家|句诗|这句|首诗|首|句|本|幅|部|出来|出自|谁之手"
)


_ASKS_WHO = re.compile(
    r"\b(?:who|whos|who's|whose|author|inventor)\b|"
    r"\bwhich (?:author|writer|painter|composer|artist|scientist|poet|person)\b|谁|作者|哪[位个]"
)
_ROLES_ZH = {
    "wrote": "作者", "painted": "作者", "made": "作者", "composed": "作曲者", "created": "创作者", "proposed": "提出者",
    "discovered": "发现者", "founded": "创始人", "directed": "导演", "sang": "演唱者", "developed": "培育者",
    "invented": "发明者",
}  # fmt: skip
_CREDITS = {"credited as author": "wrote", "credited as inventor": "invented", "credited as discoverer": "discovered"}
_THINGS = frozenset(["proposed", "discovered", "invented", "developed"])
# Words by which people ask for each kind of maker: who wrote the paper is not who invented paper.
_ASKED_VERBS = {
    "wrote": r"\b(?:wrote|written|write[rs]?|author|book|novel|play|poem|poet|story|stories|series|created|creator)\b|"
    r"\b(?:came|come|thought) up\b|[作写著编诗书手]|小说|句|出自",
    "painted": r"\b(?:paint(?:ed|er|ing|s)?|picture|artist|artwork|drew|created|made)\b|[作画手幅]",
    "made": r"\b(?:made|sculpted|sculptor|carved|created|statue|sculpture|artist)\b|[作雕手]",
    "composed": r"\b(?:compose[drs]?|wrote|written|music|symphony|opera|ballet|song|created|made)\b|[作曲写谱歌手乐]",
    "created": r"\b(?:created?|creator|invented|inventor|wrote|written|author|made|drew|developed|character|started)\b|"
    r"\b(?:came|come|thought) up\b|[作写创手]|发明|开发",
    "proposed": r"\b(?:proposed|discovered|developed|invented|created|theory|idea|scientist)\b|"
    r"\b(?:came|come|thought) up\b|提出|发现|创|发明",
    "discovered": r"\b(?:discover(?:ed|er|y)?|found|invented|created|made)\b|\b(?:came|come) up\b|发现|发明|提出|制|编",
    "founded": r"\b(?:founded|founders?|made|cofounded|co-founded|started|created|creator)\b|创|建|成立",
    "directed": r"\b(?:directed|director|film|movie|made)\b|导|拍|电影",
    "sang": r"\b(?:sang|sings?|singer|song|wrote|written|recorded|made)\b|[唱歌曲]",
    "developed": r"\b(?:developed|invented|discovered|created|bred)\b|发明|研|培育|发现",
    "invented": r"\b(?:invent(?:ed|or|s)?|(?:made|built) the first|created|creator|developed|discovered)\b|"
    r"\b(?:came|come|thought) up\b|发明|创",
}


def find_creator(text: str, language: Language) -> str | None:
    """Return who made a work, an invention or a company."""
    simple = simplify(text)
    named = find_named(text, "works") if _ASKS_WHO.search(simple) else None
    if named is None or re.search(r"\b(?:you|your|u|my|our|his|her|their)\b|[你您我他她]", named.rest):
        return None
    row = next((row for row in named.rows if re.search(_ASKED_VERBS[find_verb(row)], named.rest)), None)
    if row is None or list_other_words(named.rest, _KINDS, _ASKED_VERBS[find_verb(row)]):
        return None
    if row[2] == "founded" and f"the {named.name}" in simple:
        return None
    return describe_creator(row, named.name, language)


def find_verb(row: list[str]) -> str:
    return _CREDITS.get(row[2], row[2])


def describe_creator(row: list[str], name: str, language: Language) -> str:
    """Return the sentence for an entry of the works; works bear the title that was asked for."""
    titles, titles_zh, verb, creator, creator_zh = row
    made = find_verb(row)
    is_thing = made in _THINGS
    if language == "zh":
        title = titles_zh.split("/")[0] if is_thing else pick_name(titles_zh, name)
        role = _ROLES_ZH[made]
        marked = f"《{title}》" if made in ("wrote", "painted", "composed", "made", "directed", "sang") else title
        usually = "一般认为，" if verb in _CREDITS else ""
        return f"{usually}{marked}的{role}是{creator_zh}。"
    title = titles.split("/")[0] if is_thing else pick_name(titles, name)
    if verb in _CREDITS:
        return f"{_upper(title)} is usually credited to {creator}."
    return f"{_upper(creator)} {verb} {title}."


_ASKS_MEANING = (
    r"\b(?:stands?|standing|short|mean|means|meaning|letters?|full|form|abbreviation|acronym|abbreviated|"
    r"initials|spell|"
    r"spelled|out|word|words|computers?|computing|computer's|text|texting|email)\b|缩写|全称|全名|代表|意思|"
    r"简称|英文|"
    r"字母|展开|拼"
)
_COMMON_WORDS = frozenset(
    re.findall(r"\w+", "it am who pin ram os led cc ad ar un pm ip pc ps ac dc ai pr cd ct hr is")
)


def find_abbreviation(text: str, language: Language) -> str | None:
    """Return what an abbreviation stands for."""
    simple = simplify(text)
    if not re.search(
        r"\bstands? for|\bshort for|\b(?:do|does) .{1,40} mean\b|\bwhat .{1,20} means\b|\bmeaning\b|\bfull form|"
        r"\bletters\b|abbreviation|acronym|缩写|全称|全名|代表|意思",
        simple,
    ) or re.search(r"\b(?:you|your|my|our)\b|[谁你您我]", simple):
        return None
    names = load_names("abbreviations", (0,))
    words = re.findall(r"[A-Za-z][A-Za-z0-9-]*", text)
    found = {
        simplify(word): names[simplify(word)]
        for word in words
        if simplify(word) in names
        and (simplify(word) not in _COMMON_WORDS or (word.isupper() and (not text.isupper() or _HAN.search(text))))
    }
    if len(found) != 1:
        return None
    (name, ((short, long, zh), *_)), *_ = found.items()
    rest = re.sub(rf"(?<![a-z]){re.escape(name)}(?![a-z])", " ", simple)
    if list_other_words(rest, _ASKS_MEANING):
        return None
    short = short.split("/")[0]
    return f"{short} 是 {long} 的缩写，即{zh}。" if language == "zh" else f"{short} stands for {long}."


def find_element(text: str, language: Language) -> str | None:
    """Return the symbol or the atomic number of a chemical element."""
    simple = simplify(text)
    asks_symbol = re.search(r"\b(?:chemical|element|atomic) symbol\b|\bsymbol (?:of|for)\b|化学符号|元素符号", simple)
    asks_number = re.search(r"\batomic number\b|原子序数", simple)
    rest = re.sub(r"金属|元素|化学|符号", " ", simple)
    named = find_named(rest, "elements", (1, 2)) if asks_symbol or asks_number else None
    if named is None or list_other_words(named.rest, r"\b(?:chemical|element|atomic|symbol|number)\b|原子序数"):
        return None
    symbol, name, zh = (cell.split("/")[0] for cell in named.row)
    if asks_number:
        number = [row[0] for row in read_rows("elements")].index(named.row[0]) + 1
        return f"{zh}的原子序数是{number}。" if language == "zh" else f"The atomic number of {name} is {number}."
    return f"{zh}的化学符号是 {symbol}。" if language == "zh" else f"The chemical symbol of {name} is {symbol}."


_OTHER_RECORD_QUESTION = re.compile(
    r"\b(?:left|until|till|since|ago|my|your|our(?! (?:solar|planet|galaxy))|we|his|her|their|should|costs?|best|why|"
    r"in a row|holidays?|vacations?|"
    r"trips?|travel\w*|visit\w*|pay|need|next|last|use[ds]?|using|talk\w*|goes|going)\b|(?<!i )\b(?:read|saw|heard)\b|"
    r"\b(?:have|did|do|are|were|will|would|should) you\b(?! (?:know|happen|remember|tell|say))|为什么|怎么|剩|还有|"
    r"应该|[你您我]们|[你您我](?:的|家|公司|学校)"
)
_MEASURES = frozenset(
    re.findall(r"\w+", "big fast tall long high solar system english total field kid color got come came away earth")
)


def find_record(text: str, language: Language) -> str | None:
    """Return the record or the count that most words of a question are about."""
    simple = simplify(text)
    if _OTHER_RECORD_QUESTION.search(simple):
        return None
    named = find_named(text, "countries")
    country = named.name if named else ""
    return find_record_han(simple, country) if language == "zh" else find_record_english(simple, country)


def find_record_english(simple: str, country: str) -> str | None:
    """Return the record with the most groups of words; None where a word or a country is not among them."""
    words = [word.removesuffix("'s") for word in _WORD.findall(simple)]
    singular = {word.removesuffix("s") for word in words} | set(words)
    best: tuple[int, Record] | None = None
    for record in load_records():
        if (
            record.en
            and all(group & singular for group in record.groups)
            and (not best or len(record.groups) > best[0])
        ):
            best = len(record.groups), record
    if best is None or best[0] < 2:
        return None
    keys = frozenset().union(*best[1].groups)
    if country and not set(country.split()) & keys:
        return None
    known = keys | _FILLERS | _MEASURES
    others = [word for word in words if word not in known and word.removesuffix("s") not in keys]
    return None if others else best[1].en


def find_record_han(simple: str, country: str) -> str | None:
    plain = re.sub(r"[《》“”\"\s]", "", simple)
    best: tuple[int, Record] | None = None
    for record in load_records():
        if not all(any(word in plain for word in group) for group in record.groups_zh):
            continue
        length = sum(max(len(word) for word in group if word in plain) for group in record.groups_zh)
        if best is None or length > best[0]:
            best = length, record
    if best is None or (country and not any(country in word for group in best[1].groups_zh for word in group)):
        return None
    rest = plain
    for group in best[1].groups_zh:
        for word in sorted(group, key=len, reverse=True):
            rest = rest.replace(word, " ")
    return None if list_other_words(rest, _MEASURES_HAN) else best[1].zh


_MEASURES_HAN = (
    r"太阳系|自然界|面积|长度|海拔|陆地上?|跑得|跑|飞|里面|身上|身体|成年人?|大人|人体|字母|两支?队?|每队?|"
    r"历史上?|多[高长大深]|最早|之?最|普通|球队?|牌|一年里?|任"
)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def look_up_fact(question: str) -> Result:
    """Answer a short question of general knowledge from built-in tables: the capital, currency, languages and continent
    of a country, where a famous place is, who made a famous work or invention, what an abbreviation stands for, records
    and counts (the highest mountain, the legs of a spider), chemical symbols. In English or Chinese.

    Args:
        question: One question in the person's words, such as: What is the capital of Peru?
    """
    answer = find_fact(question)
    return Result(answer) if answer else error_result("not_found", "The tables do not have this. Answer without them.")


facts = tool(name="facts", effect="reads")(look_up_fact)
