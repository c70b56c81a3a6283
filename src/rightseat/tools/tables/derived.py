"""Figures that two columns of a row give: overspending, margins, returns, spreads, surprises.

A figure is derived only where each of its two columns is found without doubt, and no column already has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from rightseat.tools.tables.figures import pick_row
from rightseat.tools.tables.rows import RowColumn
from rightseat.tools.tables.wording import Selection, format_cell, format_percent, format_result
from rightseat.tools.tables.words import UNIT_WORDS, split_words

MAX_LISTED = 12
FormulaKind = Literal["difference", "ratio", "percent", "return"]
_BASE_NAME = re.compile(
    r"offer|issue|ipo|initial|start|purchase|bought|entry|cost|发行|招股|买入|成本|期初|起始", re.IGNORECASE
)
_END_NAME = re.compile(r"clos|last|current|latest|final|end|now|收盘|现价|最新|期末|当前", re.IGNORECASE)
_BELOW = re.compile(
    r"\bunder ?sp[ea]n[dt]\w*|\b(?:under|below)\b|\bmiss\w*|\bfell short\b|"
    r"\bunder ?water\b|\bin the red\b|\blos(?:ing|s|ses|ers?)\b|低于|结余|节余|不及|亏|浮亏"
)


class Formula(Struct, frozen=True):
    kind: FormulaKind
    left: tuple[str, ...]
    """Concepts of the first column, the best first."""
    right: tuple[str, ...]
    pattern: str = ""
    """Words that ask for the figure."""
    concepts: frozenset[str] = frozenset()
    """Concepts that ask for the figure."""
    keeps_sign: bool = False
    """Whether only rows above zero, or below it, are asked for where none is named."""

    def is_asked(self, selection: Selection) -> bool:
        ask = selection.ask
        return bool(self.concepts & ask.terms.concepts) or bool(self.pattern and re.search(self.pattern, ask.text))


_PROFITS = ("net_income", "operating_income", "gross_profit", "profit")
FORMULAS = (
    Formula(
        "difference", ("budget",), ("actual", "amount"),
        r"\bbudget\b.*\b(?:left|remain\w*|unspent)\b|\b(?:left|remain\w*|unspent)\b.*\bbudget\b|预算.*剩|剩.*预算",
    ),
    Formula(
        "difference", ("actual", "amount"), ("budget",),
        r"\bover ?sp[ea]n[dt]\w*|\bunder ?sp[ea]n[dt]\w*|"
        r"\b(?:over|under|above|below|exceed\w*|against|versus|vs\.?) (?:its |their |the |our )?budget|\bvariance\b|"
        r"超支|超(?:出|过)?(?:了)?预算|低于预算|结余|节余",
        keeps_sign=True,
    ),
    Formula(
        "difference", ("ask",), ("bid",), r"\bbid[- /]*(?:and )?(?:ask|offer)\b.*\bspread\b|"
        r"\bspread\b.*\bbid\b.*\bask\b|\bbid[- /]ask\b|买卖价?差",
    ),
    Formula("percent", ("operating_income",), ("revenue",), concepts=frozenset(("operating_margin",))),
    Formula("percent", ("gross_profit",), ("revenue",), concepts=frozenset(("gross_margin",))),
    Formula("percent", ("net_income", "profit"), ("revenue",), concepts=frozenset(("net_margin",))),
    Formula("percent", _PROFITS, ("revenue",), concepts=frozenset(("margin", "net_margin"))),
    Formula("percent", ("net_income",), ("equity",), concepts=frozenset(("roe",))),
    Formula("percent", ("net_income",), ("total_assets",), concepts=frozenset(("roa",))),
    Formula("ratio", ("debt",), ("equity",), concepts=frozenset(("debt_to_equity",))),
    Formula("ratio", ("current_assets",), ("current_liabilities",), concepts=frozenset(("current_ratio",))),
    Formula("difference", ("debt",), ("cash",), r"\bnet debt\b|净债务|净负债"),
    Formula("difference", ("export",), ("import",), concepts=frozenset(("trade_balance",))),
    Formula("difference", ("high",), ("low",), r"\b(?:intraday|trading|daily|day's) range\b|振幅|日内波幅"),
)  # fmt: skip
_BEAT = re.compile(
    r"\b(?:beat|beats|beaten|miss|misses|missed|surprise|exceed\w*|topped|fell short|outperform\w*|"
    r"(?:above|below|versus|vs\.?|against) (?:the )?(?:estimate|consensus|forecast|expect\w*))\b|"
    r"[超高低]于?预期|不及预期|与预期"
)
_GAIN = re.compile(
    r"\b(?:gains?|profit|pnl|p&l|under ?water|in the red|losing|loss(?:es)?|losers?|made money|unreali[sz]ed)\b|"
    r"盈亏|浮盈|浮亏|亏损|亏钱|赚了|盈利"
)
_COST_NAME = re.compile(r"cost|invested|成本", re.IGNORECASE)
_UNIT_NAME = re.compile(r"avg|average|per|unit|price|ratio|均|单价|成本价", re.IGNORECASE)
_RETURN = re.compile(r"\b(?:returns?|returned|performance|pop|popped|gained)\b|回报|收益率|涨幅|涨了多少")


def answer_derived(selection: Selection) -> str | None:
    """Return a figure that two columns give, of the rows that the question names; None if it asks for none."""
    if selection.ask.operations & {"average", "median", "sum", "count", "share"}:
        return None
    for formula in FORMULAS:
        if formula.is_asked(selection):
            left, right = (find_only(selection, concepts) for concepts in (formula.left, formula.right))
            if left is not None and right is not None and left is not right and not has_own_column(selection, formula):
                return describe_figures(selection, formula.kind, left, right, keeps_sign=formula.keeps_sign)
    if _BEAT.search(selection.ask.text) and (pair := find_estimate_pair(selection)) is not None:
        return describe_figures(selection, "difference", *pair, keeps_sign=True)
    if _GAIN.search(selection.ask.text) and (pair := find_gain_pair(selection)) is not None:
        return describe_figures(selection, "difference", *pair, keeps_sign=True)
    if _RETURN.search(selection.ask.text) and (pair := find_price_pair(selection)) is not None:
        return describe_figures(selection, "return", *pair)
    return None


def find_gain_pair(selection: Selection) -> tuple[RowColumn, RowColumn] | None:
    """Return the value and the whole cost of a position, where no column has the gain."""
    numbers = selection.table.numbers
    if any(column.terms.concepts & {"gain", "return", "profit"} for column in numbers):
        return None
    costs = [column for column in numbers if _COST_NAME.search(column.name) and not _UNIT_NAME.search(column.name)]
    value = find_only(selection, ("market_value", "value"))
    return (value, costs[0]) if value is not None and len(costs) == 1 and value is not costs[0] else None


def has_own_column(selection: Selection, formula: Formula) -> bool:
    return any(column.terms.concepts & formula.concepts for column in selection.table.numbers)


def find_only(selection: Selection, concepts: Sequence[str]) -> RowColumn | None:
    """Return the only column of the first concept that one has; None if there are several."""
    for concept in concepts:
        columns = [column for column in selection.table.numbers if concept in column.terms.concepts]
        if columns:
            plain = [column for column in columns if len(column.terms.all) == 1]
            chosen = columns if len(columns) == 1 else plain
            return chosen[0] if len(chosen) == 1 else None
    return None


def find_estimate_pair(selection: Selection) -> tuple[RowColumn, RowColumn] | None:
    """Return a reported figure and its estimate, where no column has the surprise."""
    numbers = selection.table.numbers
    if any("surprise" in column.terms.concepts for column in numbers):
        return None
    pairs = []
    for right in numbers:
        base = right.terms.all - {"estimate"}
        if "estimate" in right.terms.concepts:
            pairs += [
                (left, right)
                for left in numbers
                if left is not right and left.terms.all - {"actual"} == base and "estimate" not in left.terms.concepts
            ]
    named = [pair for pair in pairs if (pair[0].terms.all - {"actual"}) & selection.ask.terms.all]
    chosen = named or pairs
    return chosen[0] if len(chosen) == 1 else None


def find_price_pair(selection: Selection) -> tuple[RowColumn, RowColumn] | None:
    """Return the later and the earlier price of a row, such as the first day's close and the offer price."""
    numbers = [
        column for column in selection.table.numbers if not column.terms.concepts & {"return", "shares", "volume"}
    ]
    if len(numbers) < len(selection.table.numbers) and any(
        "return" in one.terms.concepts for one in selection.table.numbers
    ):
        return None
    bases = [column for column in numbers if _BASE_NAME.search(column.name) and not _END_NAME.search(column.name)]
    ends = [column for column in numbers if _END_NAME.search(column.name) and not _BASE_NAME.search(column.name)]
    return (ends[0], bases[0]) if len(bases) == len(ends) == 1 else None


def compute_figure(kind: FormulaKind, left: Decimal | None, right: Decimal | None) -> Decimal | None:
    if left is None or right is None or (kind != "difference" and not right):
        return None
    if kind == "difference":
        return left - right
    ratio = left / right
    return ratio if kind == "ratio" else ratio * 100 if kind == "percent" else (ratio - 1) * 100


def describe_figures(
    selection: Selection, kind: FormulaKind, left: RowColumn, right: RowColumn, *, keeps_sign: bool = False
) -> str | None:
    """Return the figure of the only row, of the row that has most or least, or of each."""
    operations = selection.ask.operations
    figures = {
        row: figure
        for row in selection.rows
        if (figure := compute_figure(kind, left.numbers[row], right.numbers[row])) is not None
    }
    is_below = _BELOW.search(selection.ask.text) is not None
    if keeps_sign and len(figures) > 1 and not selection.is_filtered:
        figures = {row: figure for row, figure in figures.items() if (figure < 0 if is_below else figure > 0)}
        if not figures:
            return selection.say("table_none_beyond", column=name_figure(kind, left, right))
    if len(figures) > 1 and {"max", "min"} & operations:
        best = (max if ("max" in operations) != (keeps_sign and is_below) else min)(figures.values())
        figures = {row: figure for row, figure in figures.items() if figure == best}
    elif len(figures) > 1 and selection.time is not None and not {"label", "list"} & operations:
        newest = pick_row(selection, list(figures))
        figures = {newest: figures[newest]}
    lines = [describe_figure(selection, kind, left, right, row, figures[row]) for row in figures]
    if len(lines) > MAX_LISTED or not lines:
        return None
    if len(lines) == 1:
        return selection.say("table_figure", text=lines[0])
    rows = "\n".join(f"- {line}" for line in lines)
    return selection.say("table_beyond", count=len(lines), column=name_figure(kind, left, right), rows=rows)


def name_figure(kind: FormulaKind, left: RowColumn, right: RowColumn) -> str:
    if kind == "difference":
        return f"{left.name} − {right.name}"
    return f"{left.name} / {right.name}" + (" − 1" if kind == "return" else "")


def describe_figure(
    selection: Selection, kind: FormulaKind, left: RowColumn, right: RowColumn, row: int, figure: Decimal
) -> str:
    value = format_percent(figure) if kind in ("percent", "return") else format_result(figure, share_unit(left, right))
    name = selection.describe_row(row, without=(left, right))
    cells = f"{left.name} {format_cell(left, row)}, {right.name} {format_cell(right, row)}"
    text = f"{name_figure(kind, left, right)} = {value} ({cells})"
    return f"{name}: {text}" if name else text


def share_unit(left: RowColumn, right: RowColumn) -> RowColumn | None:
    """Return the first column where both have the same unit."""
    units = [{*split_words(column.name)} & UNIT_WORDS for column in (left, right)]
    return left if left.unit == right.unit and units[0] == units[1] else None
