"""GenericFormat, for models without tool support: the whole answer is JSON, enforced from the first token on.

`tools/text_calls/generic.py` defines that JSON. A model that was not trained on a format never starts it by
itself, so even a text answer is wrapped, as `result`.
"""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls import generic
from rightseat.tools.text_calls.generic import CALLS, NEXT, RESULT, THOUGHT, JsonCallEnvelope
from rightseat.types.messages import Message

# Small models repeat themselves in long thoughts.
_THOUGHT_SCHEMA = {"type": "string", "maxLength": 300}
_COMMA = '", "'
_FREE_TEXT = '"\\"" char+ "\\""'


class GenericFormat(ToolCallFormat):
    name = "generic"
    own_prompt = True

    def make_plan(self, context: FormatContext) -> PromptPlan:
        if not context.tools:
            return self.make_toolless_plan(context)
        envelope = replace(
            JsonCallEnvelope.from_prompt(context.prompt, context.thought_channel),
            has_thought=not _has_single_choice(context),
        )
        bound = AnswerGrammar.compile(self, context)
        return PromptPlan(
            messages=self.insert_instructions([envelope.instructions(context.publish, context.mark_foreign)], context),
            grammar=bound.grammar,
            preserved_tokens=context.thinking.active_tags,
            filters_stop_words=True,
            enforced_tools=bound.enforced_tools,
            parse=context.thinking.wrap_parser(envelope.parse),
        )

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        return f'"[" {grammar.repeat_calls(grammar.add_json_call_rule(), _COMMA)} "]"'

    def build_answer_gbnf(self, grammar: AnswerGrammar) -> str:
        choices = f"{_object_start(CALLS)} {self.build_calls_gbnf(grammar)}"
        if not grammar.must_call:
            # Text is bounded only by the model itself and by max_tokens.
            choices += f" | {_object_start(RESULT)} {grammar.output_rule or _FREE_TEXT}"
        return f'"{{" {self.build_thought_gbnf(grammar)} {_quote_key(NEXT)} ({choices}) "}}}}"'

    def build_thought_gbnf(self, grammar: AnswerGrammar) -> str:
        """Return GBNF of the thought; with a single choice it may only be empty, as in rendered history."""
        if _has_single_choice(grammar):
            return f'({_quote_key(THOUGHT)} "\\"\\"" {_COMMA})?'
        return f"{_quote_key(THOUGHT)} {grammar.rules.add_schema(_THOUGHT_SCHEMA, 'thought')} {_COMMA}"

    def format_calls(self, message: Message, context: FormatContext) -> str:
        return context.mark_foreign(generic.format_calls(message))


def _has_single_choice(subject: FormatContext | AnswerGrammar) -> bool:
    """Return whether exactly one tool must be called: a small model's thought would then only mislead it."""
    return subject.must_call and len(subject.tools) == 1


def _object_start(name: str) -> str:
    """Return GBNF of an object's start, up to its first value."""
    return f'"{{" {_quote_key(name)}'


def _quote_key(name: str) -> str:
    return GrammarRules.quote(f'"{name}": ')
