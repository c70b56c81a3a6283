"""Reasoning before the answer (`<think>…</think>`): parsed separately, outside the answer's grammar."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from rightseat.models.llamacpp.formats.free import add_until_rule
from rightseat.models.llamacpp.grammar import GrammarRules
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps

# Thinking tags of models; the first pair whose end tag occurs in the template is used.
THINKING_TAGS = (
    ("<think>", "</think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
)


class ThinkingTags(Struct, frozen=True):
    """Thinking tags of a model. `allowed`: the answer may start with a thought. `opened_by_prompt`: the
    prompt has already opened it."""

    allowed: bool = False
    opened_by_prompt: bool = False
    open_tag: str = THINKING_TAGS[0][0]
    close_tag: str = THINKING_TAGS[0][1]

    @classmethod
    def from_template(cls, source: str, prompt_end: str) -> ThinkingTags:
        """Detect the tags in a template and its prompt's end; a prompt that closes a thought disables it."""
        open, close = next((marks for marks in THINKING_TAGS if marks[1] in source), THINKING_TAGS[0])
        prompt_end = prompt_end.rstrip()
        return cls(close in source and not prompt_end.endswith(close), prompt_end.endswith(open), open, close)

    @property
    def active_tags(self) -> tuple[str, ...]:
        return (self.open_tag, self.close_tag) if self.allowed or self.opened_by_prompt else ()

    def wrap_parser(
        self, parse: Callable[[ModelTextReader], ParseSteps[None]]
    ) -> Callable[[ModelTextReader], ParseSteps[None]]:
        """Return a parser that parses the thought, then calls `parse`."""
        if not (self.allowed or self.opened_by_prompt):
            return parse

        def parse_thinking(reader: ModelTextReader) -> ParseSteps[None]:
            begun = self.opened_by_prompt
            if not begun:
                yield from reader.skip_space()
                begun = yield from reader.accept(self.open_tag)
            if begun:
                yield from reader.skip_space()
                yield from reader.text_until(self.close_tag, emit=reader.emit_reasoning)
                yield from reader.skip_space()
            yield from parse(reader)

        return parse_thinking

    def wrap_gbnf(self, rules: GrammarRules, root: str) -> str:
        """Return the GBNF of an answer with an optional thought before `root`."""
        if not (self.allowed or self.opened_by_prompt):
            return root
        thought = add_until_rule(rules, self.close_tag)
        # Bounded, because a small model may repeat line ends forever.
        after = f"{thought} [ \\t\\n]{{0,4}} ({root})"
        return after if self.opened_by_prompt else f"{rules.quote(self.open_tag)} {after} | {root}"
