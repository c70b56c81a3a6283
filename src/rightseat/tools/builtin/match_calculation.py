"""Recognizer of calculations: arguments for `calculate` where a person's whole question is one, in English or Chinese.

Every pattern matches the whole question, so a text that merely has numbers gets nothing. Relative dates stay
expressions, which the tool resolves when it runs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from rightseat.tools.builtin.expression import SPELLINGS, is_expression
from rightseat.tools.builtin.match_dates import match_dates, match_time, match_time_until
from rightseat.tools.builtin.numerals import read_names, replace_english_numerals
from rightseat.tools.builtin.units import find_unit

MAX_QUESTION = 240
_HAN = re.compile(r"[\u3400-\u9fff]")
_OPENINGS = re.compile(
    r"^(?:(?:please|hi|hello|hey|ok|okay|so|and|now|well|thanks|quick question|just)\b[\s,.!:]*|"
    r"(?:can|could|would|will) you (?:please )?|(?:do|would) you happen to know\b\s*|remind me\b[\s,:]*|"
    r"i forgot\b[\s,:]*|any idea\b\s*|"
    r"(?:i (?:want|need|would like|'d like) (?:you )?to (?:know|calculate|compute|find out|find) )|"
    r"(?:do you know|tell me|give me|show me|help me(?: to)?|let me know)\b[\s,:]*|"
    r"(?:calculate|compute|work out|evaluate|solve|figure out|find)\b[\s,:]*(?:for me\b)?[\s,:]*)+"
)
_ENDINGS = re.compile(
    r"(?:[\s,]*(?:please|pls|plz|thx|again|btw|thanks|thank you|for me|exactly|roughly|approximately))*[\s?!.]*$"
)
_ASKS = (
    r"(?:what(?:'s| is| are| does| do| would| will| was)|whats|"
    r"how much(?:'s| is| are| does| do| would| will)|how many is)"
)
_ASK = re.compile(rf"^{_ASKS}(?: be)?\s+(?:the (?:result|answer|value|total|outcome)(?: of| to| for)\s+)?(?:the\s+)?")
_EQUALS = re.compile(r"\s*(?:=|equals?|equal to|make|makes|come to|comes to|be|give|gives)\s*(?:what|how much)?\s*$")
_N = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
# Atomic, because a comma may divide a number or a list: the number takes every comma that it can.
_ITEM = r"(?>-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?%?)"
_LIST = rf"{_ITEM}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+){_ITEM})+"
# Pairs that people write for something else than a division.
_NAMES = frozenset(("9/11", "7/11", "24/7", "50/50", "20/20", "4x4", "360/365", "7-11"))
_CURRENCY_WORDS = re.compile(r"(?<=\d)\s*(?:dollars?|euros?|bucks|usd|eur|gbp|quid|yuan|rmb|cents)\b")

# Word forms of operators, replaced in this order.
_OPERATORS = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\b(?:raised )?to the (\d+)(?:st|nd|rd|th) power\b", r"^\1"),
        (r"\b(?:raised )?to the power(?: of)?\b|\braised to\b", "^"),
        (r"\bmultiplied (?:by|with)\b|\btimes\b|(?<=[\d)])\s*x\s*(?=[\d(])", "*"),
        (r"\bdivided by\b|(?<=\d)\s+over\s+(?=\d)", "/"),
        (r"\bplus\b|\badded to\b", "+"),
        (r"\bminus\b|\btake away\b|(?<=\d)\s+less\s+(?=\d)", "-"),
        (r"\s*\bsquared\b", "^2"),
        (r"\s*\bcubed\b", "^3"),
        (r"\s*\bper ?cent\b", "%"),
        (r"\boff of\b", "off"),
        (rf"\b(?:the )?(?:cube|cubic|third) root of ({_N})", r"cbrt(\1)"),
        (r"\b(?:the )?(?:square root|sqrt|root) of\b", "√"),
        (r"\b(?:the )?factorial of (\d+)|\b(\d+) factorial\b", lambda match: f"factorial({match[1] or match[2]})"),
        (r"\bhalf (?:of )?(?=[\d(√])", "0.5 * "),
        (r"\b(?:(?:a|1) )?(?:quarter|fourth) of\b", "0.25 *"),
        (r"\b3 (?:quarters|fourths) of\b", "0.75 *"),
        (r"\b(?:a|1) third of\b", "(1/3) *"),
        (r"\b(?:a|1) fifth of\b", "0.2 *"),
        (r"\b(?:a|1) tenth of\b", "0.1 *"),
        (r"\b(?:double|twice)\b", "2 *"),
        (r"\b(?:triple|thrice)\b", "3 *"),
        (r"\bmodulo\b", "mod"),
        (rf"\b(sin|cos|tan|ln|log|sqrt)(?: of)? ({_N})( ?(?:degrees|°))?", r"\1(\2\3)"),
        (r" ?degrees\b", "°"),
    )
)  # fmt: skip
_VOCABULARY = re.compile(
    r"(?:[\d.,\s+*/%^()√°×÷−–-]|!|\b(?:of|off|mod|sqrt|cbrt|factorial|sin|cos|tan|ln|log|pi|abs|round|min|max|"
    r"sum|avg)\b)+"
)
_OPERATION = re.compile(r"[+*/^√×÷!]|[\d)%]\s*[-−–]\s*[\d(]|%\s*(?:of|off)\b|\bmod\b|[a-z]\(|%\s*\d")


def match_calculation(question: str) -> dict[str, str] | None:
    """Return the arguments for `calculate` if the whole question is a calculation; else None."""
    text = question.strip()
    if len(text) > MAX_QUESTION:
        return None
    text = unicodedata.normalize("NFKC", text.translate(SPELLINGS)).strip()
    if not text or len(text) > MAX_QUESTION or "\n" in text:
        return None
    expression = match_whole(text)
    if not expression:
        from rightseat.tools.builtin.match_elements import match_elements
        from rightseat.tools.builtin.match_framed import match_framed
        from rightseat.tools.builtin.match_problems import match_problem

        chinese = bool(_HAN.search(text))
        expression = match_elements(text) or match_framed(text, match_whole) or match_problem(text, chinese=chinese)
    return {"expression": expression} if expression else None


def match_whole(text: str) -> str | None:
    """Return the expression of a text that is a calculation as a whole."""
    if _HAN.search(text):
        from rightseat.tools.builtin.match_chinese import match_chinese_calculation

        return match_chinese_calculation(text)
    return match_english(text)


def match_english(text: str) -> str | None:
    core = _OPENINGS.sub("", " ".join(text.lower().replace("’", "'").split()))
    core = core.rstrip("? ") if re.search(r"\d!\??$", core) else _ENDINGS.sub("", core)
    core = re.sub(r"^weeks (?=until|till|til|to )", "how many weeks ", core)
    core = re.sub(r"(\d) degrees? ([cf])\b", r"\1 \2", core)
    core = re.sub(r"^what (\S.*\d.*) (?:is|makes|equals|are)$", r"what is \1", core)
    for rule in (match_time, match_time_until, match_dates):
        if expression := rule(core):
            return expression
    asks = bool(_ASK.match(core)) or core.endswith("=") or core != text.lower().strip().rstrip("?. ")
    core = replace_english_numerals(_EQUALS.sub("", _ASK.sub("", core)))
    for convert in (match_conversion, match_phrases):
        if expression := convert(core):
            return expression
    return match_arithmetic(core, is_bare=not asks)


def match_arithmetic(core: str, *, is_bare: bool) -> str | None:
    """Return the expression that consists of numbers and operators, in signs or words."""
    core = _CURRENCY_WORDS.sub("", re.sub(r"[$€£¥](?=\d)", "", core)).strip()
    if core.replace(" ", "") in _NAMES:
        return None
    spelled = core
    for pattern, sign in _OPERATORS:
        spelled = pattern.sub(sign, spelled)
    spelled = " ".join(spelled.split())
    if not _VOCABULARY.fullmatch(spelled) or not re.search(r"\d|pi", spelled) or not _OPERATION.search(spelled):
        return None
    if is_bare and spelled == core and not is_plain_calculation(core):
        return None
    return spelled if is_expression(spelled) else None


def is_plain_calculation(core: str) -> bool:
    """Whether bare signs are a calculation, and not a phone number, a date, a range or a score."""
    if re.search(r"[+*^√×÷(=]|\s[-/−–]\s|%\s*of", core):
        return not re.fullmatch(r"\+[\d\s()-]+|\(\d+\)[\d\s-]*", core)
    match = re.fullmatch(r"(\d+)\s*([-/−–])\s*(\d+)", core)
    if match is None:
        return bool(re.fullmatch(r"\d+\.\d+\s*[-/]\s*\d+(?:\.\d+)?", core))
    left, right = int(match[1][:20]), int(match[3][:20])
    is_year = 1900 <= left < 2100
    if match[2] == "/":
        could_be_date = (left <= 12 and right <= 31) or (left <= 31 and right <= 12)
        is_season = is_year and len(match[3]) == 2 and right == (left + 1) % 100
        return not is_season and right > 0 and not (could_be_date and left % right)
    if len(match[1]) <= 2 and len(match[3]) <= 2:
        return True
    # 1250-375; not 555-1234, 2020-2024 or 2024-11.
    return len(match[1]) >= 4 and len(match[3]) < len(match[1]) and left > right and not (is_year and len(match[3]) < 3)


_PHRASES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern.replace("N", _N)), sign)
    for pattern, sign in (
        (r"difference (?:between|of) (N) (?:and|to) (N)", r"abs(\1 - \2)"),
        (r"product of (N),? (?:and|by|with) (N)", r"\1 * \2"),
        (r"quotient of (N),? (?:and|by) (N)", r"\1 / \2"),
        (r"remainder (?:of|when|if)(?: you divide)? (N) (?:is )?(?:divided )?by (N)", r"\1 mod \2"),
        (r"remainder (?:of|when) (N) (?:/|÷) (N)", r"\1 mod \2"),
        (r"(?:subtract|take)(?: away)? (N) from (N)|(N) subtracted from "
         r"(N)", lambda m: f"{m[2] or m[4]} - {m[1] or m[3]}"),
        (r"add (N) (?:and|to|with|plus) (N)", r"\1 + \2"),
        (r"multiply (N) (?:by|and|with|times) (N)", r"\1 * \2"),
        (r"divide (N) by (N)", r"\1 / \2"),
        (
            r"(?:if (?:i|we|you) )?(?:(?:split|share|divide|distribute) "
            r"(?:an? (?:bill|check|total) of )?(N) (?:equally |evenly )?"
            r"(?:among|amongst|between|by|into|with)|(N) (?:is )?(?:split|shared|divided)(?: equally| evenly)?"
            r"(?: among| amongst| between| by| into)) (N)"
            r"(?: (?:people|persons|friends|ways|parts|kids|children|of us|guests|colleagues))?(?: equally| evenly)?"
            r"(?:,? how (?:much|many) each|"
            r",? (?:how much|how many|what) (?:does|do|will|would|should|is) (?:each|everyone|every one|we each)"
            r"(?: (?:person|one|of us|friend))?(?: (?:pay|get|owe|receive|have))?)?",
            lambda m: f"{m[1] or m[2]} / {m[3]}",
        ),
        (r"(?:if |when |say |suppose )?(N) ?(?:%|percent) of (?:a |the |our |my |all )?"
         r"(?:(?:group|class|team|total) of )?(N) [a-z]+ (?:(?:[a-z']+ ){0,6}[a-z']+)?[,.;:]? ?(?:so )?"
         r"how (?:many|much)(?: [a-z]+){0,2}? "
         r"(?:is|are|was|were|would|does)(?: (?:that|it|this|those|they|be|make|mean))+(?: in total)?", r"\1% of \2"),
        (r"(N) [a-z]+ (?:cost|costs|are|for|is|come to|were) (N)[,.;]? ?(?:so |then )?how much (?:is|for|does|"
         r"would|was|do) "
         r"(?:just )?(?:one|1|each|a single one)(?: (?:of them|one|cost|costs|be))*", r"\2 / \1"),
        (r"(N) [a-z]+ (?:for|among|between|shared by|split between) (N) (?:[a-z]+|"
         r"of us)[,.;]? ?(?:so )?how many (?:[a-z]+ )?"
         r"(?:does|do|will|would|can|for|is) (?:each|every|everyone|they each)(?: [a-z]+){0,3}", r"\1 / \2"),
        (r"(N) (?:a|per|each|every) month (?:over|for|in) (?:a|1|the|a whole|1 whole) year", r"\1 * 12"),
        (r"(?:what )?(?:percentage|percent|%) of (N) is (N)", r"\2 / \1 * 100"),
        (r"(N) (?:is )?(?:as )?(?:what|a) (?:percentage|percent|%) of (N)", r"\1 / \2 * 100"),
        (r"(N) (?:is|as) (?:what )?(?:percentage|percent|%) of (N)", r"\1 / \2 * 100"),
        (r"(?:percentage|percent|%) (?:change|increase|decrease|difference) from (N) to "
         r"(N)", r"percent_change(\1, \2)"),
        (r"(N) (?:increased|raised) by (N) ?(?:%|percent)|(?:increase|raise) (N) by (N) ?(?:%|percent)",
         lambda m: f"{m[1] or m[3]} + {m[2] or m[4]}%"),
        (r"(N) (?:decreased|reduced|lowered) by (N) ?(?:%|percent)|(?:decrease|reduce|lower) (N) by (N) ?(?:%|"
         r"percent)",
         lambda m: f"{m[1] or m[3]} - {m[2] or m[4]}%"),
        (r"(?:a )?(N) ?(?:%|percent) (?:tip|tax|vat|discount|commission|interest) (?:on|for|of|off) (?:a "
         r")?(N)(?: bill| meal| order)?",
         r"\1% of \2"),
        (r"tip (?:on|for) (?:a )?(N)(?: bill| meal)? at (N) ?(?:%|percent)", r"\2% of \1"),
        (r"(N) with (?:a )?(N) ?(?:%|percent) (?:discount|off)", r"\1 - \2%"),
        (
            r"(?:an?|the) [a-z]+ costs? (N)(?: dollars| euros| pounds)? "
            r"(?:and|but) (?:is|it is|it's) (N) ?(?:%|percent) off"
            r"[,.]? (?:what|how much) (?:do|will|would|should) (?:i|you|we) (?:have to )?pay",
            r"\1 - \2%",
        ),
        (r"(N) (?:with|plus|including) (?:a )?(N) ?(?:%|percent) (?:tax|vat|tip)", r"\1 + \2%"),
        (r"how many times does (N) go into (N)", r"\2 / \1"),
        (
            r"(?:sum of|add)(?: up)?(?: all)?(?: the)?(?: (?:whole )?numbers| integers)? "
            r"(?:from|between) (\d+) (?:to|and) (\d+)",
            r"(\1 + \2) * (\2 - \1 + 1) / 2",
        ),
        (r"(?:which|what)(?: number| one)? is (?:the )?(?:bigger|larger|greater|higher|more|largest|biggest)(?: "
         r"number)?[,:]? ?(?:of )?(N) (?:or|and) (N)",
         r"max(\1, \2)"),
        (r"(?:which|what)(?: number| one)? is (?:the )?(?:smaller|less|lower|smallest|lowest)(?: number)?[,:]? "
         r"?(?:of )?(N) (?:or|and) (N)",
         r"min(\1, \2)"),
    )
)  # fmt: skip
# Each line is a function and its names in questions.
_NAMED_FUNCTIONS = """
sum: sum, total
avg: average, mean
median: median
max: largest, maximum, max, biggest, highest
min: smallest, minimum, min, lowest
product: product
stdev: standard deviation
gcd: greatest common divisor, greatest common factor, gcd
lcm: least common multiple, lcm
"""
_LIST_FUNCTIONS = read_names(_NAMED_FUNCTIONS)
_LIST_PHRASE = re.compile(
    rf"(?:the )?({'|'.join(sorted(_LIST_FUNCTIONS, key=len, reverse=True))})(?: (?:number|value))?"
    rf"(?: of| from| among)?(?: the)?(?: (?:following )?numbers?)?:? ({_LIST})"
)
_ADD_UP = re.compile(
    rf"(?:add(?: up)?|sum(?: up)?|total)(?: the numbers)?:? ({_LIST})|"
    rf"({_LIST}) (?:added (?:together|up)|combined|all together|together)"
)


def match_phrases(core: str) -> str | None:
    """Return the expression of an operation that is named by a phrase: `split 84 among 4 people`."""
    core = _CURRENCY_WORDS.sub("", re.sub(r"[$€£¥](?=\d)", "", core)).removeprefix("the ").strip()
    for pattern, expression in _PHRASES:
        if match := pattern.fullmatch(core):
            return drop_separators(match.expand(expression) if isinstance(expression, str) else expression(match))
    if match := _LIST_PHRASE.fullmatch(core) or _ADD_UP.fullmatch(core):
        name = _LIST_FUNCTIONS[match[1]] if match.re is _LIST_PHRASE else "sum"
        numbers = re.findall(_ITEM, match[match.lastindex or 1])
        return f"{name}({', '.join(number.replace(',', '') for number in numbers)})"
    return None


def drop_separators(expression: str) -> str:
    """Return the expression without thousands separators."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression)


_UNIT = r"(?:square |nautical |fluid |metric |degrees? )?[a-z°][a-z°/]*[23]?"
_CONVERSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:convert |change |turn )?(?P<n>{_N}|an?|1) ?(?P<from>{_UNIT}) (?:in|to|into|as|is|are|equals?) "
        rf"(?P<to>{_UNIT})",
        rf"(?:convert |change |turn )?(?P<n>{_N}|an?) ?(?P<from>{_UNIT}) (?:is|are|in|equals?) how many "
        rf"(?P<to>{_UNIT})",
        rf"how many (?P<to>{_UNIT}) (?:are |is )?(?:there )?(?:in|equals?|make|are|is) (?P<n>{_N}|an?) "
        rf"?(?P<from>{_UNIT})",
        rf"(?P<n>{_N}|an?) ?(?P<from>{_UNIT}) converted (?:to|into) (?P<to>{_UNIT})",
    )
)


def match_conversion(core: str) -> str | None:
    for pattern in _CONVERSIONS:
        match = pattern.fullmatch(core)
        if match and (source := find_unit(match["from"])) and (target := find_unit(match["to"])):
            amount = "1" if match["n"] in ("a", "an") else match["n"].replace(",", "")
            return f'convert({amount}, "{source}", "{target}")'
    return None
