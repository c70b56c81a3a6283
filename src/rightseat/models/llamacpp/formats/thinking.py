"""Reasoning before the answer (`<think>…</think>`): parsed separately, outside the answer's grammar."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from rightseat.models.llamacpp.formats.free import until
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls.reader import Reader, Reading

# Thinking tags of models; the first pair whose end tag occurs in the template is used.
MARKS = (
    ("<think>", "</think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
)


class Thinking(Struct, frozen=True):
    """Thinking tags of a model. `allowed`: the answer may start with a thought. `opened_by_prompt`: the
    prompt has already opened it."""

    may: bool = False
    begun: bool = False
    open: str = MARKS[0][0]
    close: str = MARKS[0][1]

    @classmethod
    def of(cls, source: str, ending: str) -> Thinking:
        """Detect the tags in a template and its prompt's end; a prompt that closes a thought disables it."""
        open, close = next((marks for marks in MARKS if marks[1] in source), MARKS[0])
        ending = ending.rstrip()
        return cls(close in source and not ending.endswith(close), ending.endswith(open), open, close)

    @property
    def marks(self) -> tuple[str, ...]:
        return (self.open, self.close) if self.may or self.begun else ()

    def before(self, read: Callable[[Reader], Reading[None]]) -> Callable[[Reader], Reading[None]]:
        """Return a parser that parses the thought, then calls `parse`."""
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
        """Return the GBNF of an answer with an optional thought before `root`."""
        if not (self.may or self.begun):
            return root
        thought = until(rules, self.close)
        # Bounded, because a small model may repeat line ends forever.
        after = f"{thought} [ \\t\\n]{{0,4}} ({root})"
        return after if self.begun else f"{rules.quote(self.open)} {after} | {root}"
