"""Recognizer of word problems of one to three steps: `apples cost $3 per kg, how much do 4 kg cost?`.

A problem is read as quantities with units and as what is asked for. Units decide which operation fits, words decide
between those that units leave open. Every number of the message has to be used, and only one reading may fit: else
the problem was not understood, and nothing is returned.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from rightseat.tools.builtin.expression import is_expression
from rightseat.tools.builtin.match_asked import HYPERNYMS, Asked, find_asked
from rightseat.tools.builtin.match_clauses import MAX_CLAUSES, is_blocked, split_clauses
from rightseat.tools.builtin.match_quantities import (
    COUNT,
    DISTANCES,
    EACH,
    FACTOR,
    MONEY,
    PERCENT,
    TIMES,
    Quantity,
    read_chinese,
    read_english,
    set_unit,
    to_singular,
)

MAX_FACTORS = 4

_LOSS = re.compile(
    r"\b(?:gives?|gave|given|away|lost|loses?|ate|eats?|eaten|spent|spends?|sold|sells?|used|uses|broke|took|takes|"
    r"drank|"
    r"left the|died|removed?|threw|dropped|flew|goes|went off|taken|read|finished|occupied|gone|missing|broken|"
    r"used up)\b|吃|飞走|"
    r"花|送|丢|用|卖|走|借出|拿走|给了(?!我)|掉|下[去车]|离开|死|坏"
)
_GAIN = re.compile(
    r"\b(?:more|gets?|got|finds?|found|adds?|another|joined?|join|came|buys?|bought|receives?|received|wins?|won)\b|"
    r"又|再|增加|来了"
)
_OWNED = re.compile(r"\b(?:have|has|had|own|got)\b|我有|带了")
_NO_SUM = re.compile(
    r"\b(?:more than|less than|minus|return\w*|refund\w*|coupon|voucher|discount|deposit|borrow\w*|lent|owe[sd]?|"
    r"sold)\b|比|减|退|券|优惠|借"
)
# A bare number behind these words is no price.
_NO_PRICE = re.compile(
    r"(?:\b(?:for|buy|bought|order|ordered|took|take|got|get|need|are|am|aged)|\b(?:i|we|he|she)(?:'m|'re|'s))\s*$|"
    r"[买了]$"
)
_DOWN = re.compile(
    r"\b(?:off|discount|reduced|reduction|cheaper|less|fell|falls|drop\w*|decreas\w+|down|lower|sale)\b|便宜|降|减|"
    r"跌|优惠|折扣|下调"
)
_UP = re.compile(
    r"\b(?:tax|vat|raise|increas\w+|goes up|went up|rises?|rose|grew|grows|up|higher|tip|service|surcharge|plus|"
    r"markup)\b|"
    r"涨|增|加|提高|税|上调|小费"
)
_PAID = re.compile(
    r"\b(?:with|gave|hand\w*|from)\b(?: (?:the cashier|him|her|them))?(?: an?)?(?: )?[$€£]?$|(?:付了?|给了?|拿出?|"
    r"用)[^\d]{0,3}$"
)
_NOTE = re.compile(r"^ ?(?:dollar |euro )?(?:note|bill)\b")
_FACTORS_BETWEEN = {("day", "week"): 7, ("month", "year"): 12, ("minute", "hour"): 60, ("hour", "day"): 24}


class WordProblem(Struct, frozen=True):
    text: str
    quantities: tuple[Quantity, ...]
    asked: Asked


def match_problem(text: str, *, chinese: bool) -> str | None:
    """Return the expression of a word problem; None if it is none or not understood as a whole."""
    text = text.lower()
    clauses = split_clauses(text)
    if not 1 <= len(clauses) <= MAX_CLAUSES or is_blocked(" ; ".join(clauses)):
        return None
    quantities = (read_chinese if chinese else read_english)(clauses)
    asked = find_asked(clauses, chinese=chinese)
    if not quantities or asked is None:
        return None
    problem = WordProblem(" ; ".join(clauses), tuple(quantities), asked)
    for reading in list_readings(problem):
        if (expression := solve_problem(reading)) and is_expression(expression):
            return expression
    return None


def list_readings(problem: WordProblem) -> list[WordProblem]:
    """Return the readings of a problem: rates that an article makes may be none."""
    if not any(quantity.is_optional_rate for quantity in problem.quantities):
        *others, last = problem.quantities
        # The day of 一天一共花了多少钱 is no number of the problem.
        is_period = last.text == "1" and last.unit in TIMES and last.unit == problem.asked.per and len(others) > 1
        return [problem, structs.replace(problem, quantities=tuple(others))] if is_period else [problem]
    plain = tuple(
        structs.replace(quantity, per="") if quantity.is_optional_rate else quantity for quantity in problem.quantities
    )
    return [problem, structs.replace(problem, quantities=plain)]


def solve_problem(problem: WordProblem) -> str | None:
    rule = _RULES.get(problem.asked.goal)
    if rule is not None:
        return rule(problem)
    return solve_amount(problem)


def solve_percent(problem: WordProblem) -> str | None:
    """Return the share of a part in a whole, or a change in percent."""
    if len(problem.quantities) != 2 or any(
        quantity.unit in (PERCENT, FACTOR) or quantity.per for quantity in problem.quantities
    ):
        return None
    first, second = problem.quantities
    if re.search(r"\bfrom\b.*\bto\b", problem.text):
        asks_change = re.search(r"\b(?:increase|decrease|change|rise|drop|growth)\b", problem.asked.clause)
        return f"percent_change({first.text}, {second.text})" if asks_change and "to" in second.before else None
    part, whole = sorted(problem.quantities, key=lambda quantity: quantity.value)
    units = {quantity.unit for quantity in problem.quantities}
    names_share = re.search(r"\bof\b|\bright\b|\bcorrect\b|率|占|的", problem.text)
    if not names_share or (len(units) > 1 and "" not in units and "of" not in problem.text):
        return None
    if re.search(r"\b(?:failed|wrong|lost|missed|absent|missing)\b|[不没未错缺]", problem.text):
        # The share of the others may be asked for.
        return None
    is_english = "of" in problem.text
    if is_english and (part is not first or not re.search(r"\bof\b", second.before)):
        return None
    return f"{part.text} / {whole.text} * 100"


def solve_age(problem: WordProblem) -> str | None:
    """Return the age of the one who is older or younger than another."""
    shifts = [
        quantity
        for quantity in problem.quantities
        if re.match(r" ?(?:years? )?(?:older|younger)", quantity.after) or re.search(r"比.*[大小]$", quantity.before)
    ]
    if len(problem.quantities) != 2 or len(shifts) != 1:
        return None
    shift = shifts[0]
    base = next(quantity for quantity in problem.quantities if quantity is not shift)
    is_older = bool(re.match(r" ?(?:years? )?older", shift.after) or shift.before.endswith("大"))
    if "比" in shift.before:
        is_asked = is_forward_comparison(problem.text, problem.asked.clause)
    else:
        is_asked = is_compared_person(problem.asked.clause, base, shift)
    return f"{base.text} {'+' if is_older else '-'} {shift.text}" if is_asked else None


def is_compared_person(asked: str, base: Quantity, shift: Quantity) -> bool:
    """Whether `how old is he` asks for the one whose age is not told."""
    match = re.search(r"\bhow old (?:is|am|are|will|was) (?P<who>[a-z' ]+?)(?: now| be)?$", asked)
    if match is None or match["who"] in ("i", "we"):
        return False
    name = match["who"].split()[-1]
    if name in ("he", "she"):
        return "than" not in shift.after or bool(re.search(r"\bthan (?:me|i|us)\b", shift.after))
    return name in shift.before and name not in shift.after and name not in base.before.split()


def is_forward_comparison(text: str, asked: str) -> bool:
    """Whether the one who is compared is the one asked for: 我比他小26岁，我几岁."""
    match = re.search(r"(?P<who>[^;,\d]{1,4})比(?P<other>[^;,\d]{1,4}?)[大小]", text)
    if not match:
        return False
    who = match["who"].strip()
    return any(who.endswith(name) for name in re.findall(r"^(.{1,3}?)(?:今年|现在)?(?:是)?(?:\d|几|多)", asked))


def solve_profit(problem: WordProblem) -> str | None:
    """Return the price of sale without the price of purchase."""
    if not re.search(r"\bsold\b|卖", problem.text):
        return solve_amount(problem)
    sold = [q for q in problem.quantities if re.search(r"\bsold\b|卖", q.before)]
    bought = [
        q for q in problem.quantities if re.search(r"\b(?:bought|paid|for)\b|买|进价", q.before) and q not in sold
    ]
    if (
        len(problem.quantities) != 2
        or len(sold) != 1
        or len(bought) != 1
        or any(q.unit not in (MONEY, "") for q in (*sold, *bought))
    ):
        return None
    return f"{sold[0].text} - {bought[0].text}"


def solve_area(problem: WordProblem) -> str | None:
    if len(problem.quantities) != 2 or any(
        q.unit not in ("m", "cm", "km", "", "foot", "feet", "mile") for q in problem.quantities
    ):
        return None
    first, second = problem.quantities
    named = re.search(r"\b(?:by|wide|long|x|width|length)\b|长.*宽|宽.*长", problem.text)
    if not named or re.search(r"\b(?:triangle|circle|radius)\b|三角|圆", problem.text):
        return None
    if first.unit and second.unit and first.unit != second.unit:
        return None
    return f"{first.text} * {second.text}" if problem.asked.goal == "area" else f"2 * ({first.text} + {second.text})"


def solve_average(problem: WordProblem) -> str | None:
    if problem.asked.unit in ("speed",) or re.search(r"speed|速度", problem.asked.clause):
        return solve_speed(problem)
    units = {quantity.unit for quantity in problem.quantities}
    if (
        len(problem.quantities) < 2
        or len(units) != 1
        or any(quantity.per for quantity in problem.quantities)
        or units & {PERCENT, FACTOR}
    ):
        return None
    return f"avg({', '.join(quantity.text for quantity in problem.quantities)})"


def solve_speed(problem: WordProblem) -> str | None:
    distances = [quantity for quantity in problem.quantities if quantity.unit in DISTANCES and not quantity.per]
    # A speed by the minute is not what people ask for.
    times = [quantity for quantity in problem.quantities if quantity.unit == "hour" and not quantity.per]
    if len(problem.quantities) != 2 or len(distances) != 1 or len(times) != 1:
        return None
    return f"{distances[0].text} / {times[0].text}"


def solve_left(problem: WordProblem) -> str | None:
    """Return what is left of an amount: the first quantity without the others."""
    first, *others = problem.quantities
    if not others or any(quantity.per or quantity.unit in (PERCENT, FACTOR) for quantity in problem.quantities):
        return None
    units = {quantity.unit for quantity in problem.quantities} - {""}
    if len(units) > 1 or _LOSS.search(first.before) or first.value < sum(quantity.value for quantity in others):
        return None
    if not all(is_lost(quantity) for quantity in others) or any(_GAIN.search(quantity.before) for quantity in others):
        return None
    if (
        problem.asked.noun
        and first.unit
        and problem.asked.unit not in (first.unit, "")
        and not first.noun.startswith(problem.asked.noun)
    ):
        return None
    return " - ".join(quantity.text for quantity in problem.quantities)


def is_lost(quantity: Quantity) -> bool:
    """Whether a quantity is taken away: by a word before it, or behind the last number of a clause."""
    is_last = not re.search(r"\d", quantity.after)
    return bool(_LOSS.search(quantity.before) or (is_last and _LOSS.search(quantity.after)))


def solve_tip(problem: WordProblem) -> str | None:
    amount = split_percents(problem)
    if amount is None:
        return None
    percents, rest = amount
    base = combine_amounts(rest, problem)
    return f"{percents[0].text}% of {base}" if len(percents) == 1 and percents[0].unit == PERCENT and base else None


def solve_change(problem: WordProblem) -> str | None:
    """Return the change: what was paid without what everything costs."""
    plain = [q for q in problem.quantities if not q.per and q.unit in (MONEY, "")]
    paid = [q for q in plain if _PAID.search(q.before) or _NOTE.match(q.after)]
    if not paid and len(problem.quantities) == 2 and len(plain) == 2:
        paid = [max(plain, key=lambda quantity: quantity.value)]
    if len(paid) != 1:
        return None
    rest = structs.replace(problem, quantities=tuple(q for q in problem.quantities if q is not paid[0]))
    cost = compute_price(structs.replace(rest, asked=structs.replace(problem.asked, unit=MONEY, goal="")))
    if not cost:
        return None
    return f"{paid[0].text} - {cost}" if re.fullmatch(r"[\d.]+(?: \* [\d.]+)*", cost) else f"{paid[0].text} - ({cost})"


def split_percents(problem: WordProblem) -> tuple[list[Quantity], list[Quantity]] | None:
    percents = [quantity for quantity in problem.quantities if quantity.unit in (PERCENT, FACTOR)]
    rest = [quantity for quantity in problem.quantities if quantity not in percents]
    return (percents, rest) if rest else None


def solve_amount(problem: WordProblem) -> str | None:
    """Return the expression for an amount: a price, a number of things, a time or a distance."""
    if len(problem.quantities) == 1:
        return solve_single(problem.quantities[0], problem.asked)
    has_rate = any(quantity.per in (EACH, "person") for quantity in problem.quantities)
    if problem.asked.is_split and not has_rate and (expression := solve_split(problem)):
        return expression
    return compute_price(problem)


def solve_single(quantity: Quantity, asked: Asked) -> str | None:
    """Return the amount of a rate over a longer period: what 30 a month is in a year."""
    if not quantity.per or not asked.per or quantity.unit in (PERCENT, FACTOR):
        return None
    factor = _FACTORS_BETWEEN.get((quantity.per, asked.per))
    fits = (
        asked.unit in (quantity.unit, "") or (asked.unit == MONEY and not quantity.unit) or asked.unit == quantity.unit
    )
    return f"{quantity.text} * {factor}" if factor and fits else None


def solve_split(problem: WordProblem) -> str | None:
    """Return the part of each person."""
    counts = [
        q for q in problem.quantities if not q.per and q.unit not in (MONEY, PERCENT, FACTOR) and is_share(q, problem)
    ]
    if len(counts) != 1:
        return None
    rest = structs.replace(problem, quantities=tuple(q for q in problem.quantities if q is not counts[0]))
    if not rest.quantities:
        return None
    total = compute_price(structs.replace(rest, asked=structs.replace(problem.asked, per="")))
    if not total:
        return None
    return (
        f"{total} / {counts[0].text}"
        if re.fullmatch(r"[\d.]+(?: [*] [\d.]+)*", total)
        else f"({total}) / {counts[0].text}"
    )


def is_share(quantity: Quantity, problem: WordProblem) -> bool:
    """Whether a count is that of those who share."""
    if re.search(r"\b(?:between|among|amongst|by|into)\s*$|分(?:给|成)$", quantity.before):
        return True
    if quantity.unit in ("person", "way", "part"):
        return True
    singular = to_singular(quantity.noun) if quantity.noun else quantity.unit
    return bool(singular) and bool(
        re.search(rf"\beach {re.escape(singular)}\b|每个?{re.escape(quantity.noun or '~')}", problem.asked.clause)
    )


def compute_price(problem: WordProblem) -> str | None:
    """Return the expression of the amounts with their percentages."""
    parts = split_percents(problem)
    if parts is None:
        return None
    percents, rest = parts
    base = combine_amounts(rest, problem)
    if base is None or (percents and "+" in base):
        return None
    for quantity in percents:
        around = f"{quantity.before} {quantity.after}"
        base = f"({base})" if "+" in base or " - " in base else base
        if quantity.unit == FACTOR:
            base = f"{base} * {quantity.text}"
        elif problem.asked.goal == "save":
            base = f"{quantity.text}% of {base}"
        elif bool(_DOWN.search(around)) != bool(_UP.search(around)):
            base = f"{base} {'-' if _DOWN.search(around) else '+'} {quantity.text}%"
        elif re.search(r"存|占|的$|\bsaves?\b", around) and not _DOWN.search(around):
            base = f"{quantity.text}% of {base}"
        else:
            return None
    return base if len(percents) <= 1 else None


def combine_amounts(quantities: Sequence[Quantity], problem: WordProblem) -> str | None:
    """Return the expression of all quantities together: one amount, a product by units, a sum of products or a sum."""
    if len(quantities) == 1:
        return (
            quantities[0].text
            if not quantities[0].per or quantities[0].is_optional_rate or quantities[0].per in TIMES
            else None
        )
    rates = [quantity for quantity in quantities if quantity.per]
    if rates or problem.asked.unit not in (MONEY, ""):
        expression = multiply_by_units(quantities, problem.asked)
        if expression or not rates:
            return expression or add_amounts(quantities, problem)
        return add_products(quantities, problem)
    if (
        len(quantities) == 2
        and re.search(r"\bfor\b|\bat\b", problem.text)
        and (product := multiply_by_units(quantities, problem.asked))
    ):
        return product
    return add_amounts(quantities, problem)


def name_units(quantities: Sequence[Quantity], asked: Asked) -> list[Quantity]:
    """Return the quantities with their units: `each` is the counted noun, a bare number is money or a count."""
    counts = [q for q in quantities if not q.per and q.unit and q.unit not in (MONEY, PERCENT, FACTOR)]
    rates = [q for q in quantities if q.per and q.per != EACH]
    has_each = len(quantities) == 2 and any(q.per == EACH for q in quantities)
    named: list[Quantity] = []
    for quantity in quantities:
        if quantity.per == EACH:
            earlier = [q for q in counts if q is not quantity and q.unit != quantity.unit] or counts
            quantity = structs.replace(quantity, per=earlier[-1].unit if len({q.unit for q in earlier}) == 1 else COUNT)
        if not quantity.unit and not quantity.per and not counts and has_each:
            # `yogurts are 0.89 each, and i took 12`
            quantity = set_unit(quantity, COUNT)
        elif not quantity.unit and quantity.per and asked.unit != MONEY and len({q.unit for q in counts}) == 1:
            quantity = set_unit(quantity, counts[0].unit)
        elif not quantity.unit and (quantity.per or not rates):
            quantity = set_unit(quantity, MONEY if asked.unit == MONEY else "")
        elif not quantity.unit and len({rate.per for rate in rates}) == 1:
            # `i order 4`
            is_order = re.search(r"\b(?:order|buy|bought|want|need|take|get|for)\s*$|[买要点订]了?$", quantity.before)
            quantity = set_unit(quantity, rates[0].per if is_order else "")
        elif quantity.unit == "person" and len(rates) == 1 and rates[0].per in ("张", "ticket"):
            quantity = set_unit(quantity, rates[0].per)
        named.append(quantity)
    return named


def multiply_by_units(quantities: Sequence[Quantity], asked: Asked) -> str | None:
    """Return the one product or quotient of all quantities whose unit is the asked one; None if there is none."""
    if not 2 <= len(quantities) <= MAX_FACTORS:
        return None
    named = name_units(quantities, asked)
    if any(not quantity.unit for quantity in named):
        return None
    solutions = []
    for signs in itertools.product((1, -1), repeat=len(named)):
        powers: dict[str, int] = {}
        for sign, quantity in zip(signs, named, strict=True):
            powers[quantity.unit] = powers.get(quantity.unit, 0) + sign
            if quantity.per:
                powers[quantity.per] = powers.get(quantity.per, 0) - sign
        powers = {unit: power for unit, power in powers.items() if power}
        factor = fit_units(powers, asked, named)
        if factor is not None:
            solutions.append((signs, factor))
    if len(solutions) != 1:
        return None
    signs, factor = solutions[0]
    over = [quantity.text for sign, quantity in zip(signs, named, strict=True) if sign > 0]
    under = [quantity.text for sign, quantity in zip(signs, named, strict=True) if sign < 0]
    if not over:
        return None
    product = " * ".join([*over, str(factor)] if factor != 1 else over)
    return " / ".join([product, *under])


def fit_units(powers: dict[str, int], asked: Asked, quantities: Sequence[Quantity]) -> int | None:
    """Return the factor that makes units the asked ones: 1, or that between two periods; None if they do not fit."""
    over = [unit for unit, power in powers.items() if power == 1]
    under = [unit for unit, power in powers.items() if power == -1]
    if len(over) + len(under) != len(powers):
        return None
    factor = 1
    times = [unit for unit in over if unit in TIMES], [unit for unit in under if unit in TIMES]
    if len(times[0]) == 1 and len(times[1]) == 1 and len(over) == 2:
        # Months of a rate and years of saving: 12 months a year.
        factor = _FACTORS_BETWEEN.get((times[1][0], times[0][0]), 0)
        over.remove(times[0][0])
        under.remove(times[1][0])
    if not factor or len(over) != 1 or len(under) > 1:
        return None
    if under and under[0] != asked.per and not is_asked_per(under[0], asked):
        return None
    return factor if is_asked_unit(over[0], asked, quantities) else None


def is_asked_unit(unit: str, asked: Asked, quantities: Sequence[Quantity]) -> bool:
    if asked.unit == "distance":
        return unit in DISTANCES
    if asked.unit == "time":
        return unit in TIMES
    if asked.unit == unit:
        return True
    nouns = [quantity.noun for quantity in quantities if quantity.unit == unit and quantity.noun]
    return bool(asked.noun) and any(
        noun and (asked.noun.startswith(noun) or noun.startswith(asked.noun)) for noun in nouns
    )


def is_asked_per(unit: str, asked: Asked) -> bool:
    """Whether the question names what its amount is counted by: `per table`, `each kid`."""
    return bool(re.search(rf"\b(?:per|each|every|a) {re.escape(unit)}\b|每个?{re.escape(unit)}", asked.clause))


def add_products(quantities: Sequence[Quantity], problem: WordProblem) -> str | None:
    """Return the sum of prices times amounts, and of single prices: `2 coffees at 3.50 and 1 cake at 4.20`."""
    terms: list[str] = []
    waiting: Quantity | None = None
    for quantity in quantities:
        pair = [one for one in (waiting, quantity) if one is not None]
        rates = [one for one in pair if one.per and not one.is_optional_rate and one.unit in (MONEY, "")]
        amounts = [one for one in pair if not one.per and one.unit not in (MONEY, "", *TIMES, *DISTANCES, "person")]
        if len(pair) == 2 and len(rates) == 1 and len(amounts) == 1 and rates[0].per in (EACH, amounts[0].unit):
            terms.append(f"{amounts[0].text} * {rates[0].text}")
            waiting = None
        elif waiting is None and quantity.unit == MONEY and (quantity.is_optional_rate or not quantity.per):
            if _OWNED.search(quantity.before):
                return None
            terms.append(quantity.text)
        elif waiting is None:
            waiting = quantity
        else:
            return None
    is_sum = waiting is None and len(terms) > 1 and any("*" in term for term in terms)
    asks_sum = problem.asked.unit == MONEY and (problem.asked.is_total or all("*" in term for term in terms))
    return " + ".join(terms) if is_sum and asks_sum and not _NO_SUM.search(problem.text) else None


def add_amounts(quantities: Sequence[Quantity], problem: WordProblem) -> str | None:
    """Return the sum of amounts of one kind."""
    asked = problem.asked
    if any(quantity.per for quantity in quantities):
        return None
    units = {MONEY if not quantity.unit and asked.unit == MONEY else quantity.unit for quantity in quantities}
    total = " + ".join(quantity.text for quantity in quantities)
    if _NO_SUM.search(problem.text):
        return None
    if units == {MONEY} and asked.unit == MONEY:
        # `$40 in my pocket` is none of the amounts in `20 on food, 15 on gas`.
        is_alike = len({(quantity.unit, bool(_OWNED.search(quantity.before))) for quantity in quantities}) == 1
        is_price = not any(not quantity.unit and _NO_PRICE.search(quantity.before) for quantity in quantities)
        return total if asked.is_total and is_alike and is_price else None
    if MONEY in units or not asked.noun:
        return None
    gains = all(_GAIN.search(f"{quantity.before} {quantity.after}") for quantity in quantities[1:])
    loses = any(_LOSS.search(f"{quantity.before} {quantity.after}") for quantity in quantities)
    named = {unit for unit in units if unit}
    if gains and not loses and len(named) == 1 and (asked.unit in named):
        return total
    is_one_clause = len({quantity.clause for quantity in quantities}) == 1
    if asked.is_total and is_one_clause and not loses and HYPERNYMS.search(asked.noun):
        return total
    return None


_RULES: dict[str, Callable[[WordProblem], str | None]] = {
    "profit": solve_profit,
    "percent": solve_percent,
    "age": solve_age,
    "area": solve_area,
    "perimeter": solve_area,
    "average": solve_average,
    "speed": solve_speed,
    "left": solve_left,
    "tip": solve_tip,
    "change": solve_change,
}
