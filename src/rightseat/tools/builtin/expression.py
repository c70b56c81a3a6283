"""Expressions of `calculate`: tokens, grammar and values.

A recursive-descent parser computes while it reads. Length, tokens, nesting and the size of numbers are limited, so the
work is bounded; nothing is ever passed to Python's own `eval`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import (
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
    getcontext,
    localcontext,
)
from typing import Any, NamedTuple

MAX_LENGTH = 1000
MAX_TOKENS = 400
MAX_DEPTH = 40
MAX_EXPONENT = 100_000
PRECISION = 120
SHOWN_DIGITS = 60
SHOWN_DECIMALS = 10

SPELLINGS = str.maketrans(
    {
        "×": "*", "✕": "*", "✖": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/", "⁄": "/",
        "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "²": "^2", "³": "^3", "≤": "<=", "≥": ">=", "≠": "!=",
        "“": '"', "”": '"', "‘": "'", "’": "'", "、": ",", "π": " pi ", "【": "(", "】": ")", "「": '"', "」": '"',
    }
)  # fmt: skip
_VULGAR_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75"}
_CURRENCY = re.compile(r"(?:US)?[$€£¥₹](?=\s*[\d.])|(?<=\d)\s*[€£¥₹]")
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<date>\d{4}-\d{2}-\d{2}(?![\d.]))
    |(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<text>"[^"]*"|'[^']*')
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%^()\[\],!<>=√°])
    )""",
    re.VERBOSE,
)
_GROUPED = re.compile(r"\d,\d{3}(?!\d)")

Value = Decimal | date | datetime | str | bool | tuple[Any, ...]


class CalculationError(ValueError):
    """The expression cannot be computed. The text says why and what to write."""


class UndefinedResult(CalculationError):
    """The expression is well formed, but has no result or one that is too large."""


class Percent(NamedTuple):
    """Share written with a percent sign: `240 + 17%` adds 17% of 240."""

    share: Decimal


class Token(NamedTuple):
    kind: str
    text: str
    start: int


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def normalize_expression(text: str) -> str:
    """Return the expression with ASCII digits and operators, without currency signs and a final `= ?`."""
    for sign, decimal in _VULGAR_FRACTIONS.items():
        text = re.sub(rf"(\d?){sign}", lambda match, decimal=decimal: (match[1] or "0") + decimal, text)  # type: ignore[misc]
    text = unicodedata.normalize("NFKC", text.translate(SPELLINGS)).translate(SPELLINGS)
    return re.sub(r"(?:\s*=)?[\s?.。]*$", "", _CURRENCY.sub("", text)).strip()


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a normalized expression; raises CalculationError for an unknown character."""
    tokens: list[Token] = []
    position = 0
    calls = [False]
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationError(
                f"Unexpected {text[position:].strip()[:1]!r}. Write an expression such as 2 * (3 + 4)."
            )
        kind = match.lastgroup or ""
        token = Token(kind, match[kind], match.start(kind))
        if token.text in ("(", "["):
            calls.append(token.text == "[" or bool(tokens and tokens[-1].kind == "name") or calls[-1])
        elif token.text in (")", "]") and len(calls) > 1:
            calls.pop()
        if kind == "number" and calls[-1] and _GROUPED.search(token.text):
            # Within a call a comma separates arguments.
            token = Token(kind, token.text.partition(",")[0], token.start)
        tokens.append(token)
        if len(tokens) > MAX_TOKENS:
            raise CalculationError(f"The expression has more than {MAX_TOKENS} parts. Compute it in steps.")
        position = token.start + len(token.text)
        while position < len(text) and text[position].isspace():
            position += 1
    if re.search(r"\w\([^()]*\d,\d{3}(?!\d)[^()]*,\s[^()]*\)", text):
        raise CalculationError("Write numbers inside a function without thousands separators: sum(1200, 3400).")
    return tokens


def compute(text: str, clock: Clock = utc_now) -> Value:
    """Return the value of an expression; raises CalculationError."""
    if len(text) > MAX_LENGTH:
        raise CalculationError(f"The expression is longer than {MAX_LENGTH} characters. Compute it in steps.")
    tokens = split_tokens(normalize_expression(text))
    if not tokens:
        raise CalculationError("The expression is empty. Write one such as 2 * (3 + 4).")
    traps = [InvalidOperation, DivisionByZero, Overflow]
    with localcontext(Context(prec=PRECISION, Emax=9999, Emin=-9999, traps=traps)) as context:
        try:
            value = to_value(ExpressionParser(tokens, clock).parse())
            if isinstance(value, Decimal):
                return +value if not context.flags[Inexact] else round_inexact(value)
        except (DivisionByZero, ZeroDivisionError):
            raise UndefinedResult("Division by zero.") from None
        except (DecimalException, OverflowError):
            raise UndefinedResult("The result is too large or not a real number.") from None
        return value


def is_expression(text: str) -> bool:
    """Whether `calculate` can read the expression; dividing by zero is an answer too."""
    try:
        compute(text, lambda: datetime(2024, 1, 1, tzinfo=UTC))
    except UndefinedResult:
        return True
    except CalculationError:
        return False
    return True


def round_inexact(number: Decimal) -> Decimal:
    """Return the number with as many digits as people read: at least ten significant ones."""
    if not number:
        return number
    places = max(SHOWN_DECIMALS, SHOWN_DECIMALS - number.adjusted() - 1) if number.adjusted() < 0 else SHOWN_DECIMALS
    if number.adjusted() >= SHOWN_DIGITS or places > PRECISION:
        return Context(prec=15).plus(number)
    return number.quantize(Decimal(1).scaleb(-places))


def format_number(number: Decimal) -> str:
    """Format a number for people: no exponent unless it has more than 60 digits, no trailing zeros."""
    if not number:
        return "0"
    if abs(number.adjusted()) >= SHOWN_DIGITS:
        digits, _, power = f"{Context(prec=15).plus(number):E}".partition("E")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return f"{digits} × 10^{int(power)}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_float(number: float) -> str:
    """Format a float for people: 0.1 + 0.2 is 0.3."""
    return format_number(Context(prec=12).create_decimal(number))


def format_value(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format_number(value)
        case datetime():
            zone = getattr(value.tzinfo, "key", None)
            place = f", {zone}" if zone else ""
            return f"{value:%Y-%m-%d %H:%M %Z} ({value:%A}{place})"
        case date():
            return f"{value.isoformat()} ({value:%A})"
        case tuple():
            return ", ".join(map(format_value, value))
    return value


def to_value(value: Value | Percent) -> Value:
    return value.share if isinstance(value, Percent) else value


def to_number(value: Value | Percent) -> Decimal:
    value = to_value(value)
    if isinstance(value, Decimal):
        return value
    raise CalculationError(f"{format_value(value)} is not a number.")


class ExpressionParser:
    def __init__(self, tokens: list[Token], clock: Clock) -> None:
        self.tokens = tokens
        self.clock = clock
        self.at = 0
        self.depth = 0

    @property
    def next_text(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return "" if token is None or token.kind == "text" else token.text.lower()

    @property
    def next_kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else "end"

    def take(self, *texts: str) -> str:
        """Consume the next token if it is one of `texts`; return it, else an empty text."""
        text = self.next_text
        if text and text in texts:
            self.at += 1
            return text
        return ""

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise CalculationError(f"{text!r} is missing{self.describe_place()}.")

    def describe_place(self) -> str:
        return f" before {self.tokens[self.at].text!r}" if self.at < len(self.tokens) else " at the end"

    def parse(self) -> Value | Percent:
        value = self.parse_comparison()
        if self.at < len(self.tokens):
            raise CalculationError(
                f"Unexpected {self.tokens[self.at].text!r}. Use a point for decimals and one expression."
            )
        return value

    def parse_comparison(self) -> Value | Percent:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CalculationError("The expression is nested too deeply. Compute it in steps.")
        left = self.parse_sum()
        if sign := self.take("<", ">", "<=", ">=", "==", "=", "!="):
            left = compare_values(to_value(left), sign, to_value(self.parse_sum()))
        self.depth -= 1
        return left

    def parse_sum(self) -> Value | Percent:
        left = self.parse_product()
        while sign := self.take("+", "-", "plus", "minus"):
            left = add_values(left, self.parse_product(), 1 if sign in ("+", "plus") else -1)
        return left

    def parse_product(self) -> Value | Percent:
        left = self.parse_signed()
        while True:
            sign = self.take("*", "/", "//", "%", "mod", "of", "off", "times", "x")
            if not sign:
                # `2(3 + 4)` and `2 pi` multiply; `2 3` and `pi pi` do not.
                if self.next_text != "(" and not (self.next_kind == "name" and self.tokens[self.at - 1].kind != "name"):
                    return left
                if self.next_text in ("plus", "minus"):
                    return left
                sign = "*"
            left = multiply_values(to_number(left), sign, to_number(self.parse_signed()))

    def parse_signed(self) -> Value | Percent:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CalculationError("The expression is nested too deeply. Compute it in steps.")
        sign = self.take("-", "+", "√")
        if sign == "√":
            value: Value | Percent = to_number(self.parse_signed()).sqrt()
        elif sign == "-":
            inner = self.parse_signed()
            value = Percent(-inner.share) if isinstance(inner, Percent) else -to_number(inner)
        else:
            value = self.parse_signed() if sign else self.parse_power()
        self.depth -= 1
        return value

    def parse_power(self) -> Value | Percent:
        base = self.parse_postfix()
        if not self.take("^", "**"):
            return base
        exponent = to_number(self.parse_signed())
        if abs(exponent) > MAX_EXPONENT:
            raise UndefinedResult(f"The exponent is larger than {MAX_EXPONENT}.")
        return to_number(base) ** exponent

    def parse_postfix(self) -> Value | Percent:
        value: Value | Percent = self.parse_operand()
        while True:
            if self.next_text == "%" and not self.starts_operand(self.at + 1):
                self.at += 1
                value = Percent(to_number(value) / 100)
            elif self.take("!"):
                from rightseat.tools.builtin.functions import factorial

                value = factorial(to_number(value))
            elif self.take("°"):
                from rightseat.tools.builtin.functions import PI

                value = to_number(value) * PI / 180
            else:
                return value

    def starts_operand(self, at: int) -> bool:
        """Whether the token after a percent sign is its right operand: `17 % 5`, but not `17% of 5`."""
        if at >= len(self.tokens):
            return False
        token = self.tokens[at]
        words = ("of", "off", "plus", "minus", "times", "x", "mod")
        return token.text in ("(", "√") or (token.kind in ("number", "name") and token.text.lower() not in words)

    def parse_operand(self) -> Value:
        if self.take("("):
            value = to_value(self.parse_comparison())
            self.expect(")")
            return value
        if self.take("["):
            return self.parse_arguments("]")
        if self.at >= len(self.tokens):
            raise CalculationError("The expression ends too early. A number is missing.")
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "number":
                return Decimal(token.text.replace(",", "").replace("_", ""))
            case "date":
                return read_iso_date(token.text)
            case "text":
                return token.text[1:-1]
            case "name":
                return self.parse_name(token.text)
        raise CalculationError(f"Unexpected {token.text!r}. A number is missing before it.")

    def parse_name(self, name: str) -> Value:
        # The functions need this module.
        from rightseat.tools.builtin.functions import CONSTANTS, call_function

        if self.take("("):
            return call_function(name, self.parse_arguments(")"), self.clock)
        if name.lower() in CONSTANTS:
            getcontext().flags[Inexact] = True
            return CONSTANTS[name.lower()]
        return call_function(name, (), self.clock, bare=True)

    def parse_arguments(self, end: str) -> tuple[Value, ...]:
        values: list[Value] = []
        if self.take(end):
            return ()
        while True:
            values.append(to_value(self.parse_comparison()))
            if self.take(end):
                return tuple(values)
            self.expect(",")


def read_iso_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CalculationError(f"{text} is not a date.") from None


def add_values(left: Value | Percent, right: Value | Percent, sign: int) -> Value | Percent:
    match to_value(left), right:
        case Decimal() as share, Percent() if isinstance(left, Percent):
            return Percent(share + sign * right.share)
        case Decimal() as number, Percent():
            return number * (1 + sign * right.share)
        case (date() as day, date() as other) if sign < 0:
            # Dates and moments are not mixed: the days count.
            return Decimal((to_day(day) - to_day(other)).days)
        case date() as day, Decimal() as days:
            return move_date(day, sign * days)
    return to_number(left) + sign * to_number(right)


def to_day(value: date) -> date:
    return value.date() if isinstance(value, datetime) else value


def move_date(day: date, days: Decimal) -> date:
    """Return the date some whole days later."""
    if days != days.to_integral_value() or abs(days) > 4_000_000:
        raise CalculationError("A date can be moved by whole days within the years 1 to 9999.")
    try:
        return day + timedelta(days=int(days))
    except OverflowError:
        raise CalculationError("The date is outside the years 1 to 9999.") from None


def multiply_values(left: Decimal, sign: str, right: Decimal) -> Decimal:
    match sign:
        case "/":
            return left / right
        case "//":
            return (left / right).to_integral_value("ROUND_FLOOR")
        case "%" | "mod":
            # The sign of the divisor, as in Python and in spreadsheets.
            return left - right * (left / right).to_integral_value("ROUND_FLOOR")
        case "off":
            return right * (1 - left)
    return left * right


def compare_values(left: Value, sign: str, right: Value) -> bool:
    if type(left) is not type(right) or isinstance(left, tuple):
        raise CalculationError("Only numbers can be compared with numbers, and dates with dates.")
    equal, less = left == right, left < right  # type: ignore[operator]
    results = {"<": less, ">": not less and not equal, "<=": less or equal, ">=": not less, "!=": not equal}
    return results.get(sign, equal)
