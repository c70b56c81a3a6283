"""Patterns of fixed-form data that also match their own prefixes, for streamed texts.

A pattern is a sequence of character classes with minimum and maximum counts. It gives two expressions: one
for a match, one for an end of the text that may become a match. All counts are bounded, so matching time and
held text are bounded too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

CharacterRun = tuple[str, int, int]
_RUN_SYNTAX = re.compile(r"(\[[^\]]+\]|\\?.)(?:\{(\d+)(?:,(\d+))?\})?", re.DOTALL)


def parse_runs(expression: str) -> tuple[CharacterRun, ...]:
    """Parse an expression of characters and classes, each with an optional {min,max}."""
    runs = []
    for kind, least, most in _RUN_SYNTAX.findall(expression):
        character_class = kind if len(kind) > 1 else re.escape(kind)
        runs.append((character_class, int(least or 1), int(most or least or 1)))
    return tuple(runs)


class DataPattern(Struct, frozen=True, eq=False, dict=True):
    form: str
    not_before: str = r"[0-9A-Za-z]"
    """Class of characters that must not precede a match."""
    not_after: str = ""
    """Class of characters that must not follow a match, if different."""
    is_valid: Callable[[str], bool] | None = None
    """Checks a match further, such as its checksum."""

    # Compiled on first use: a server without such a rule pays nothing.
    @cached_property
    def runs(self) -> tuple[CharacterRun, ...]:
        return parse_runs(self.form)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.expression, re.ASCII)

    @property
    def expression(self) -> str:
        (kind, least, most), *others = self.runs
        # The first class precedes the look-behind, so that `re` can skip to it quickly.
        first = f"{kind}(?<!{self.not_before}{kind}){kind}{{{least - 1},{most - 1}}}"
        rest = "".join(f"{kind}{{{least},{most}}}" for kind, least, most in others)
        return f"{first}{rest}(?!{self.not_after or self.not_before})"

    @property
    def prefix_expression(self) -> str:
        """Expression for an end of the text that is a prefix of a match, or a whole match."""
        expression = ""
        for kind, least, most in reversed(self.runs):
            here = f"{kind}{{1,{most}}}\\Z"
            expression = f"(?:{here}|{kind}{{{least},{most}}}{expression})" if expression else here
        return f"(?<!{self.not_before}){expression}"

    @property
    def max_length(self) -> int:
        return sum(most for _, _, most in self.runs)

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """Return the first valid match from `start` on, or None."""
        while (match := self.regex.search(text, start)) is not None:
            if self.is_valid is None or self.is_valid(match[0]):
                return match
            start = match.start() + 1
        return None
