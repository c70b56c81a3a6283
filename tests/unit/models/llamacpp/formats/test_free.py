"""Free text in a grammar: the automaton agrees with what Python finds in the text. The cache of grammars."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats import FormatContext, answer_grammar
from rightseat.models.llamacpp.formats.answer_grammar import (
    AnswerGrammar,
    CompiledAnswerGrammar,
    add_excluding_rule,
    add_until_rule,
)
from rightseat.models.llamacpp.formats.hermes import HermesFormat
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.model import Prompt
from tests.unit.models.llamacpp.gbnf import Grammar

text = st.text(alphabet="ab<-]^\\é\n", max_size=14)
word = st.text(alphabet="ab<-]^\\é\n", min_size=1, max_size=4)


def parse_grammar(rules: GrammarRules, name: str) -> Grammar:
    rules.add("root", name)
    return Grammar.parse(rules.to_gbnf())


@given(word, st.lists(text, max_size=8))
def test_until_ends_with_the_first_word(word: str, texts: list[str]) -> None:
    rules = GrammarRules()
    found = parse_grammar(rules, add_until_rule(rules, word))
    for given_ in (*texts, *(text + word for text in texts)):
        assert found.accepts(given_) == (given_.find(word) == len(given_) - len(word) >= 0)


@given(st.lists(word, max_size=3), st.lists(text, max_size=8))
def test_without_has_none_of_the_words(words: list[str], texts: list[str]) -> None:
    rules = GrammarRules()
    found = parse_grammar(rules, add_excluding_rule(rules, words))
    for given_ in (*texts, *(text + word for text in texts for word in words)):
        assert found.accepts(given_) == (not any(word in given_ for word in words))


def test_two_texts_in_one_grammar_do_not_mix() -> None:
    rules = GrammarRules()
    one, other = add_until_rule(rules, "aab"), add_until_rule(rules, "ba")
    found = parse_grammar(rules, f"{one} {other}")
    assert found.accepts("aaabxba")
    assert not found.accepts("aaabxb")


@pytest.mark.demand("llamacpp.grammars_cached_schema")
def test_the_cache_is_bounded_and_hit() -> None:
    def compile_schema(**schema: Any) -> CompiledAnswerGrammar:
        prompt = Prompt(messages=(), output_schema=schema)
        return AnswerGrammar.compile(HermesFormat(), FormatContext(prompt=prompt, capabilities=TemplateCapabilities()))

    first = compile_schema(type="string", maxLength=77)
    assert compile_schema(maxLength=77, type="string") is not first
    assert compile_schema(type="string", maxLength=77) is first
    for size in range(300):
        compile_schema(type="string", maxLength=size)
    assert len(answer_grammar._cache) <= answer_grammar.MAX_CACHED
