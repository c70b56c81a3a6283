"""The shape of something with a fixed form, and of every beginning of it.

A shape is a row of character classes with the least and the most of each. From it come two expressions: one
that finds it, one that finds an end of the text which may still become it. No class is repeated without
bound, so neither can run away, and what is held back of a stream has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

Run = tuple[str, int, int]
_RUN = re.compile(r"(\[[^\]]+\]|\\?.)(?:\{(\d+)(?:,(\d+))?\})?", re.DOTALL)


def row(expression: str) -> tuple[Run, ...]:
    """A plain expression as runs: characters and classes, each perhaps with {least,most}."""
    runs = []
    for kind, least, most in _RUN.findall(expression):
        one = kind if len(kind) > 1 else re.escape(kind)
        runs.append((one, int(least or 1), int(most or least or 1)))
    return tuple(runs)


class Shape(Struct, frozen=True, eq=False, dict=True):
    form: str
    apart: str = r"[0-9A-Za-z]"
    """What must not stand directly before it: else it is part of something else."""
    after: str = ""
    """The same for what follows, where it differs."""
    holds: Callable[[str], bool] | None = None
    """Whether what has the shape is it: a checksum."""

    # When it is first looked for: a server without such a rule pays nothing for it.
    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return row(self.form)

    @cached_property
    def exact(self) -> re.Pattern[str]:
        return re.compile(self.whole, re.ASCII)

    @property
    def whole(self) -> str:
        (kind, least, most), *others = self.runs
        # The first character comes before the look back: `re` then skips quickly to where one is.
        first = f"{kind}(?<!{self.apart}{kind}){kind}{{{least - 1},{most - 1}}}"
        rest = "".join(f"{kind}{{{least},{most}}}" for kind, least, most in others)
        return f"{first}{rest}(?!{self.after or self.apart})"

    @property
    def begun(self) -> str:
        """An expression for an end of the text that is a beginning of this, or all of it."""
        expression = ""
        for kind, least, most in reversed(self.runs):
            here = f"{kind}{{1,{most}}}\\Z"
            expression = f"(?:{here}|{kind}{{{least},{most}}}{expression})" if expression else here
        return f"(?<!{self.apart}){expression}"

    @property
    def most(self) -> int:
        return sum(most for _, _, most in self.runs)

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """The first from there on whose checksum is right."""
        while (match := self.exact.search(text, start)) is not None:
            if self.holds is None or self.holds(match[0]):
                return match
            start = match.start() + 1
        return None
