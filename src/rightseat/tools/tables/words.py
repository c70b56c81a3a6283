"""Words of finance and of tables, English and Chinese, as concepts that questions, columns and widgets share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from rightseat.tools.tables.concepts import CONCEPTS, RELATED

# Subjects of sources by the concepts that their rows may have: gold is a row of a table of commodities.
_TOPICS = """
commodity: gold silver copper oil brent natural_gas wheat corn
statement: revenue net_income gross_profit operating_income ebitda eps research tax interest_expense cost_of_revenue
earnings: eps revenue net_income estimate surprise
balance_sheet: total_assets current_assets total_liabilities current_liabilities debt long_term_debt equity cash \
inventory receivables
cash_flow: operating_cash_flow free_cash_flow capex dividends_paid buyback
metrics: pe forward_pe pb ps peg roe roa beta market_cap dividend_yield debt_to_equity current_ratio gross_margin \
net_margin \
operating_margin payout_ratio eps margin
profile: employees sector industry market_cap country
price: open high low close volume last
country: china usa japan germany france uk india brazil canada korea italy spain australia russia mexico switzerland \
norway sweden \
euro_area
sector: technology energy health_care financials utilities industrials materials real_estate staples discretionary \
communication
currency: usd eur gbp jpy cny aud cad chf hkd
pair: usd eur gbp jpy cny aud cad chf hkd
rate: usd eur gbp jpy cny aud cad chf hkd
analyst: rating target
option: put call strike expiry open_interest implied_volatility delta gamma
treasury: yield maturity
bond: yield maturity coupon
central_bank: fed ecb boe boj snb pboc
executive: ceo cfo compensation
insider: sold bought executive ceo cfo shares transaction
transaction: sold bought
holding: weight shares market_value cost_basis gain
institution: aum expense_ratio nav return shares
news: title source lawsuit merger layoff tariff export import chip ai
calendar: event importance estimate previous earnings
event: payrolls inflation gdp unemployment retail_sales pmi ppi interest_rate confidence fed ecb boe boj snb pboc \
meeting
inflation: ppi core
"""
TOPICS = {
    concept: frozenset(
        line.partition(":")[0]
        for line in _TOPICS.replace("\\\n", "").strip().splitlines()
        if concept in line.partition(":")[2].split()
    )
    for concept in _TOPICS.split()
}
# Adjectives of a comparison, with the columns that they are about and the direction that they ask for.
COMPARISONS = (
    (r"\bcheap(?:er|est)?\b|便宜", ("expense_ratio", "fee", "price", "pe", "forward_pe", "amount", "ask"), "min"),
    (
        r"\b(?:most expensive|priciest|dearest|expensive)\b|最贵",
        ("price", "expense_ratio", "pe", "fee", "amount"),
        "max",
    ),
    (
        r"\b(?:best|top)[- ]perform\w*|\bperform\w* best\b|表现最好",
        ("return", "ytd", "change_percent", "change"),
        "max",
    ),
    (r"\bworst[- ]perform\w*|\bperform\w* worst\b|表现最差", ("return", "ytd", "change_percent", "change"), "min"),
    (
        r"\b(?:gained|rose|rise|up|increased?|climbed|grew) (?:the )?most\b|"
        r"\bbiggest (?:gainer|rise|gain)\b|涨得?最多|涨幅最大",
        ("change_percent", "change", "return", "growth"),
        "max",
    ),
    (
        r"\b(?:lost|fell|fall|down|dropped|declined?) (?:the )?most\b|\bbiggest (?:loser|fall|"
        r"drop|decline|loss)\b|跌得?最多|跌幅最大",
        ("change_percent", "change", "return", "growth"),
        "min",
    ),
    (r"\b(?:hottest|warmest)\b|最热", ("temperature", "high"), "max"),
    (r"\b(?:coldest|coolest)\b|最冷", ("temperature", "low"), "min"),
    (r"\b(?:riskiest|most volatile)\b|波动最大|风险最[高大]", ("volatility", "beta", "implied_volatility"), "max"),
    (r"\b(?:safest|least volatile)\b|波动最小|风险最[低小]", ("volatility", "beta", "implied_volatility"), "min"),
    (r"\b(?:heaviest|most heavily) weighted\b|重仓", ("weight", "market_value"), "max"),
    (r"\bbusiest\b|\bmost (?:active|traded|actively traded)\b|最活跃", ("volume",), "max"),
    (
        r"\b(?:biggest|largest) (?:position|holding|constituent|stake)s?\b|最大(?:的)?(?:持仓|仓位|重仓)",
        ("weight", "market_value", "value", "shares"),
        "max",
    ),
    (
        r"\b(?:smallest) (?:position|holding|constituent|stake)s?\b|最小(?:的)?(?:持仓|仓位)",
        ("weight", "market_value", "value", "shares"),
        "min",
    ),
    (
        r"\b(?:biggest|largest|top|main) (?:holder|owner|shareholder|investor|institution)\b|"
        r"最大的?(?:单一)?(?:股东|持有人|机构|投资者)",
        ("shares", "weight", "market_value", "value", "quantity"),
        "max",
    ),
    (
        r"\b(?:biggest|largest) (?:company|companies|stock|fund|coin)s?\b|最大的?(?:公司|基金|股票)",
        ("market_cap", "aum", "revenue"),
        "max",
    ),
)
_UNIT_WORDS_TEXT = """
pct percent percentage usd musd eur gbp cny mn bn m b k mm million millions billion bps pp in
"""
UNIT_WORDS = frozenset(_UNIT_WORDS_TEXT.split())
_STOP_WORDS_TEXT = """
a an the of in on at is are was were be been what which who whom whose how much many did do does has have had for to
and or by with from most least this that these those it its there all each per than then as about me my mine i im we
our us you your please pls tell show give get see want can could would will should let know say says said any some
was s t whats hows wheres right now just so if but not no yes up down out over under into between during since after
before until vs versus against also only one ones here them they he she their his her where when why
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
# Chinese words of questions that name no quantity and no row.
_PLAIN_HAN = re.compile(
    r"请问|请|告诉我?|帮我?|查一?下?|看一?[下看]?|显示|多少钱?|几个?|"
    r"哪一?[个家只天些种支位年月季家里]?|什么时候|什么|怎么样?|如何|是不是|有没有|是否|"
    r"最[新近高低大小多少好差早晚后强弱贵长短快慢]|平均|合计|总共|一共|总计|总和|加起来|总|"
    r"累计|之间|之前|之后|以来|以上|以下|以内|超过|低于|高于|大于|小于|不到|"
    r"至少|百分之?[几多少]*|百分点|变化|增长|上涨|下跌|下降|上升|增加|减少|涨|跌|升|降|同比|"
    r"环比|相差|差距|差|比|较|相比|分别|各|每|所有|全部|其中|"
    r"目前|现在|当前|今天|今年|去年|本[周月季年]|上[周个]?[月季年]?|这[个张些份里]*|那[个些]?|"
    r"我的?|我们的?|你的?|您的?|它的?|他们?的?|刚才?|刚刚|上传|粘贴|添加|附件|表格?|"
    r"里面?|中的?|上的?|的话|的|地|得|了|着|过|吗|呢|吧|啊|呀|是|为|在|从|到|至|和|与|跟|及|"
    r"或|还有|还|也|都|就|又|再|把|被|对|于|以|之|其|有|没|不|很|更|"
    r"第[一二三四五六七八九十]|[一二两三四五六七八九十百千万亿]+|个|只|家|支|笔|次|条|天|日|"
    r"号|周|月|年|季|元|块|股|份|名|位|种|项|点|行|列|数据|数字|情况|信息|"
    r"关于|按|由|做|给|让|用|会|能|可以|要|想|需要|知道|问|说|列出|找出?|排名|排|前|后|大概|大约|左右|具体"
)
_WORD = re.compile(r"[a-z]+(?:&[a-z]+)?|\d+(?:\.\d+)?|[\u4e00-\u9fff]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


def stem_word(word: str) -> str:
    """Return a word without the ending of its plural or verb form."""
    for ending in ("ings", "ing", "ies", "es", "s", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            base = word[: -len(ending)]
            return base + "y" if ending == "ies" else base.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


class Lexicon(Struct, frozen=True):
    english: dict[tuple[str, ...], str]
    """Concepts by the words of a phrase."""
    chinese: dict[str, str]
    longest: int
    longest_chinese: int
    names: dict[str, str]
    """The first Chinese phrase of each concept."""


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    english: dict[tuple[str, ...], str] = {}
    chinese: dict[str, str] = {}
    names: dict[str, str] = {}
    for line in CONCEPTS.strip().splitlines():
        concept, phrases, han = (part.strip() for part in line.split("|"))
        for phrase in (concept.replace("_", " "), *phrases.split(",")):
            english.setdefault(tuple(phrase.split()), concept)
        for phrase in han.split(","):
            chinese.setdefault(phrase.strip(), concept)
            names.setdefault(concept, phrase.strip())
    return Lexicon(english, chinese, max(map(len, english)), max(map(len, chinese)), names)


class Terms(Struct, frozen=True):
    """Concepts and other words of a text."""

    concepts: frozenset[str]
    stems: frozenset[str]
    """Stems of English words that belong to no concept."""

    @property
    def all(self) -> frozenset[str]:
        return self.concepts | self.stems


def find_terms(text: str, *, is_nested: bool = False) -> Terms:
    """Return the concepts of a text or of a column's name, the longest phrases first, and its other words.
    `is_nested`: also the concepts of single words within a phrase."""
    lexicon = load_lexicon()
    concepts: set[str] = set()
    stems: set[str] = set()
    words = split_words(text)
    if is_nested:
        concepts.update(lexicon.english[(word,)] for word in words if (word,) in lexicon.english)
    at = 0
    while at < len(words):
        word = words[at]
        if word[0] > "\u2e7f":
            found, rest = find_chinese_concepts(word, lexicon)
            concepts |= found
            stems |= rest
            at += 1
            continue
        for size in range(min(lexicon.longest, len(words) - at), 0, -1):
            concept = lexicon.english.get(tuple(words[at : at + size]))
            if concept is not None and not (size == 1 and word in UNIT_WORDS and len(words) > 1 and "_" in text):
                concepts.add(concept)
                at += size
                break
        else:
            if word not in _STOP_WORDS and word not in UNIT_WORDS and not word[0].isdigit() and len(word) > 1:
                stems.add(stem_word(word))
            at += 1
    return Terms(frozenset(concepts), frozenset(stems))


def split_words(text: str) -> list[str]:
    """Return the words of a text, of `camelCase` and `snake_case` names too, in lower case."""
    is_name = " " not in text.strip() and (text.strip().lower(),) not in load_lexicon().english
    spaced = _CAMEL.sub(" ", text) if is_name else text
    plain = spaced.lower().replace("’", "'").replace("'s", " ").replace("_", " ")
    return _WORD.findall(plain)


def find_chinese_concepts(run: str, lexicon: Lexicon) -> tuple[set[str], set[str]]:
    """Return the concepts of a run of Chinese characters, and what of it no phrase and no plain word explains."""
    concepts: set[str] = set()
    rest: list[str] = []
    at = 0
    while at < len(run):
        for size in range(min(lexicon.longest_chinese, len(run) - at), 0, -1):
            concept = lexicon.chinese.get(run[at : at + size])
            if concept is not None:
                concepts.add(concept)
                rest.append(" ")
                at += size
                break
        else:
            rest.append(run[at])
            at += 1
    unknown = _PLAIN_HAN.sub(" ", "".join(rest)).split()
    return concepts, {part for part in unknown if len(part) > 1}


def count_related(wanted: Iterable[str], offered: frozenset[str]) -> int:
    """Count the wanted concepts that a related one of those offered stands for."""
    return sum(1 for concept in wanted if any(other in offered for other in RELATED.get(concept, ())))


def list_phrases(concepts: frozenset[str]) -> list[str]:
    """Return the phrases of concepts, English and Chinese."""
    lexicon = load_lexicon()
    english = [" ".join(words) for words, concept in lexicon.english.items() if concept in concepts]
    return english + [phrase for phrase, concept in lexicon.chinese.items() if concept in concepts]
