"""`facts`: the built-in tool for short questions of general knowledge, from tables in facts.toml.

Countries, famous places, works and inventions with their authors, abbreviations, records and counts, and the chemical
elements, in English and Chinese. A question is answered only where nearly all of its words are explained: by an entry,
by what is asked of it, and by words that carry no meaning. In doubt there is no answer.
"""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources

from msgspec import Struct

from rightseat.tools.function import tool
from rightseat.types.language import Language, detect_language
from rightseat.types.tools import Result, error_result

MAX_QUESTION = 160
MAX_OTHER_WORDS = 1
_MAX_NAME_WORDS = 8
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ASKS = re.compile(
    r"\b(?:what|whats|what's|which|who|whos|who's|whose|whom|where|wheres|where's|when|how|name|tell me|"
    r"remind me|know|"
    r"stands?|short for|capital of|currency of)\b|\?|什么|啥|谁|哪|几|多少|多[久长远高大]|何"
)
_FILLERS = frozenset(
    re.findall(
        r"\S+",
        """a an the of in on at to for from by with and or so but is are was were be been do does did can could would
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
        many""",
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
def load_names(table: str, columns: tuple[int, ...] = (0, 1)) -> dict[str, list[str]]:
    """Return the rows of a table by each name of an entry, in lower case and without accents."""
    names: dict[str, list[str]] = {}
    for row in read_rows(table):
        for column in columns:
            for name in row[column].split("/"):
                names.setdefault(simplify(re.sub(r"[(（].*", "", name).strip()), row)
    return names


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

    row: list[str]
    name: str
    rest: str


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
            row = names.get(name) or names.get(name.removesuffix("'s"))
            if row and (name != "us" or re.search(r"\bUS\b|\bthe us\b", text)):
                return Named(row, name, f"{simple[:start]} {simple[end:]}")
    return None


def list_other_words(rest: str, *known: str) -> list[str]:
    """Return the words, or the Chinese characters, that neither the patterns nor the fillers explain."""
    for pattern in known:
        rest = re.sub(pattern, " ", rest)
    if _HAN.search(rest):
        return re.findall(r"[\u3400-\u9fff]|[a-z]+", _FILLERS_HAN.sub(" ", rest))
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
}  # fmt: skip


_WITH_ARTICLE = re.compile(
    r"United|Netherlands|Philippines|Czech Republic|Bahamas|Maldives|Gambia|Dominican Republic|Central African"
)


def find_country_fact(text: str, language: Language) -> str | None:
    """Return the capital, the currency, the languages or the continent of a country."""
    simple = simplify(text)
    asked = [name for name, pattern in _ATTRIBUTES.items() if re.search(pattern, simple)]
    if len(asked) != 1:
        return None
    named = find_named(text, "countries")
    if named is None:
        return find_country_of_capital(text, language) if asked == ["capital"] else None
    if len(list_other_words(named.rest, _ATTRIBUTES[asked[0]], r"\bofficial\b|官方|主要")) > MAX_OTHER_WORDS:
        return None
    cells = [cell.split("/")[0] if number < 2 else cell for number, cell in enumerate(named.row)]
    country = Country(*cells)
    where = f"the {country.name}" if _WITH_ARTICLE.match(country.name) else country.name
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
    return answers[asked[0]][language == "zh"]


def find_country_of_capital(text: str, language: Language) -> str | None:
    named = find_named(text, "countries", (2, 3))
    if named is None or len(list_other_words(named.rest, _ATTRIBUTES["capital"])) > MAX_OTHER_WORDS:
        return None
    if language == "zh":
        return f"{named.row[3]}是{named.row[1].split('/')[0]}的首都。"
    return f"{named.row[2]} is the capital of {named.row[0].split('/')[0]}."


_ASKS_WHERE = (
    r"\bwhere(?:'s|s)?\b|\b(?:which|what) (?:country|city|continent|state|part of the world|island)\b|"
    r"在哪里?儿?|哪个?国家?|什么地方|哪个城市|哪个省"
)


def find_place(text: str, language: Language) -> str | None:
    """Return where a famous place or a capital is."""
    if not re.search(_ASKS_WHERE, simplify(text)):
        return None
    named = find_named(text, "places") or find_named(text, "countries", (2, 3))
    if named is None or len(list_other_words(named.rest, _ASKS_WHERE)) > MAX_OTHER_WORDS:
        return None
    if len(named.row) > 4:
        name, zh = re.sub(r" \(.*", "", named.row[2]), re.sub(r"（.*", "", named.row[3])
        where, where_zh = named.row[0].split("/")[0], named.row[1].split("/")[0]
    else:
        name, zh, where, where_zh = named.row[0].split("/")[0], named.row[1].split("/")[0], *named.row[2:]
    return f"{zh}在{where_zh}。" if language == "zh" else f"{name} is in {where}."


_MAKES = (
    r"\b(?:wrote|written|writes?|writer|author|painted|paint|painter|composed|composer|made|makes?|invented|invent|"
    r"inventor|discovered|discover|discoverer|founded|founder|started|created|creator|creates?|came up|come up|"
    r"thought up|"
    r"built|proposed|sang|sings?|singer|directed|director|developed|designed|artist|book|novel|painting|"
    r"picture|play|poem|"
    r"song|film|movie|symphony|music|theory|company|character|story|series|opera|ballet|drew|artwork|idea)s?\b|"
    r"作者|作品|作曲家?|写|画|创作|作|创立|创建|创办|创|谱|发明家?|发现|提出来?|著|编|导演|导|演唱|唱|诗人?|书|"
    r"小说|名画|曲|歌|哪位|作家|画家|音乐家|科学家|句诗|这句|首诗|首|句|本|幅|部|出来|出自|谁之手"
)


_ASKS_WHO = re.compile(
    r"\b(?:who|whos|who's|whose|author|inventor)\b|"
    r"\bwhich (?:author|writer|painter|composer|artist|scientist|poet|person)\b|谁|作者|哪[位个]"
)
_ROLES_ZH = {
    "wrote": "作者", "painted": "作者", "composed": "作者", "made": "作者", "created": "创作者", "proposed": "提出者",
    "discovered": "发现者", "reached": "发现者", "founded": "创始人", "directed": "导演", "sang": "演唱者",
    "improved": "改进者",
}  # fmt: skip


def find_creator(text: str, language: Language) -> str | None:
    """Return who made a work, an invention or a company."""
    simple = simplify(text)
    asks = _ASKS_WHO.search(simple)
    named = find_named(text, "works") if asks and re.search(_MAKES, simple) else None
    if named is None or re.search(r"\b(?:you|your|u|my)\b|[你您我]", simple):
        return None
    others = list_other_words(named.rest, _MAKES, r"\b(?:poet|scientist|up|behind)\b")
    if len(others) > (MAX_OTHER_WORDS if " " in named.name else 0):
        return None
    titles, titles_zh, verb, creator, creator_zh = named.row
    if language == "zh":
        title = next(
            (title for title in titles_zh.split("/") if simplify(title) == named.name), titles_zh.split("/")[0]
        )
        role = _ROLES_ZH.get(verb.split()[0], "发明者")
        marks = title if role != "作者" else f"《{title}》"
        return f"{marks}的{role}是{creator_zh}。"
    title = next((title for title in titles.split("/") if simplify(title) == named.name), titles.split("/")[0])
    if verb in ("proposed", "invented", "improved", "developed") and " " not in verb and not title.startswith("The "):
        title = f"the {title[:1].lower()}{title[1:]}"
    return f"{_upper(creator)} {verb} {title}." if " " not in verb else f"{_upper(title)}: {creator} {verb}."


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
        r"\bstands? for|\bshort for|\bmean|\bfull form|\bletters\b|abbreviation|acronym|缩写|全称|全名|代表|意思",
        simple,
    ):
        return None
    names = load_names("abbreviations", (0,))
    words = re.findall(r"[A-Za-z][A-Za-z0-9-]*", text)
    found = {
        simplify(word): names[simplify(word)]
        for word in words
        if simplify(word) in names and (simplify(word) not in _COMMON_WORDS or word.isupper())
    }
    if len(found) != 1:
        return None
    (name, (short, long, zh)), *_ = found.items()
    rest = re.sub(rf"(?<![a-z]){re.escape(name)}(?![a-z])", " ", simple)
    if len(list_other_words(rest, _ASKS_MEANING)) > MAX_OTHER_WORDS:
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
    if (
        named is None
        or len(list_other_words(named.rest, r"\b(?:chemical|element|atomic|symbol|number)\b|原子序数")) > 0
    ):
        return None
    symbol, name, zh = (cell.split("/")[0] for cell in named.row)
    if asks_number:
        number = [row[0] for row in read_rows("elements")].index(named.row[0]) + 1
        return f"{zh}的原子序数是{number}。" if language == "zh" else f"The atomic number of {name} is {number}."
    return f"{zh}的化学符号是 {symbol}。" if language == "zh" else f"The chemical symbol of {name} is {symbol}."


def find_record(text: str, language: Language) -> str | None:
    """Return the record or the count that most words of a question are about."""
    simple = simplify(text)
    if re.search(
        r"\b(?:left|until|till|since|ago|my|your|should|costs?|best|why|in a row)\b|为什么|怎么|剩|还有|应该", simple
    ):
        return None
    return find_record_han(simple) if language == "zh" else find_record_english(simple)


def find_record_english(simple: str) -> str | None:
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
    others = [
        word for word in words if word not in _FILLERS and word not in keys and word.removesuffix("s") not in keys
    ]
    others = [word for word in others if word not in _MEASURES]
    is_other = any(word in list_keys() for word in others)
    return None if len(others) > MAX_OTHER_WORDS or is_other else best[1].en


_MEASURES = frozenset(
    [
        "big",
        "fast",
        "tall",
        "long",
        "high",
        "solar",
        "system",
        "english",
        "total",
        "there",
        "field",
        "kid",
        "color",
        "colour",
        "got",
    ]
)


@functools.cache
def list_keys() -> frozenset[str]:
    """Return the words of all records: one that the best record does not explain makes it another question."""
    return frozenset(word for record in load_records() for group in record.groups for word in group)


def find_record_han(simple: str) -> str | None:
    plain = re.sub(r"[《》“”\"\s]", "", simple)
    best: tuple[int, Record] | None = None
    for record in load_records():
        if not all(any(word in plain for word in group) for group in record.groups_zh):
            continue
        length = sum(max(len(word) for word in group if word in plain) for group in record.groups_zh)
        if best is None or length > best[0]:
            best = length, record
    if best is None:
        return None
    rest = plain
    for group in best[1].groups_zh:
        for word in sorted(group, key=len, reverse=True):
            rest = rest.replace(word, " ")
    return (
        None
        if len(
            list_other_words(
                rest, r"太阳系|面积|长度|海拔|陆地上?|跑得|跑|飞|里面|身上|身体|成年人?|人体|字母|两支?队?|每队?"
            )
        )
        > 1
        else best[1].zh
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


facts = replace(tool(name="facts")(look_up_fact), effect="reads")
