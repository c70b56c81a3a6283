"""Reasoning before the answer (`<think>…</think>`): split off, and free of the answer's grammar."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from rightseat.models.llamacpp.formats.free import until
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls.reader import Reader, Reading

# How models mark a thought. The first whose end a template knows is the model's.
MARKS = (
    ("<think>", "</think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
)


class Thinking(Struct, frozen=True):
    """`may`: the model may begin with a thought. `begun`: the prompt has opened it already."""

    may: bool = False
    begun: bool = False
    open: str = MARKS[0][0]
    close: str = MARKS[0][1]

    @classmethod
    def of(cls, source: str, ending: str) -> Thinking:
        """What a template and the end of its prompt tell. A prompt that closes a thought wants none."""
        open, close = next((marks for marks in MARKS if marks[1] in source), MARKS[0])
        ending = ending.rstrip()
        return cls(close in source and not ending.endswith(close), ending.endswith(open), open, close)

    @property
    def marks(self) -> tuple[str, ...]:
        return (self.open, self.close) if self.may or self.begun else ()

    def before(self, read: Callable[[Reader], Reading[None]]) -> Callable[[Reader], Reading[None]]:
        """Reads the thought, then what `read` reads."""
        if not (self.may or self.begun):
            return read

        def thinking(reader: Reader) -> Reading[None]:
            begun = self.begun
            if not begun:
                yield from reader.space()
                begun = yield from reader.maybe(self.open)
            if begun:
                yield from reader.space()
                yield from reader.text(self.close, emit=reader.think)
                yield from reader.space()
            yield from read(reader)

        return thinking

    def rule(self, rules: Rules, root: str) -> str:
        """The GBNF of an answer that may think first."""
        if not (self.may or self.begun):
            return root
        thought = until(rules, self.close)
        # A model that may write any number of lines' ends here goes on with them.
        after = f"{thought} [ \\t\\n]{{0,4}} ({root})"
        return after if self.begun else f"{rules.quote(self.open)} {after} | {root}"
