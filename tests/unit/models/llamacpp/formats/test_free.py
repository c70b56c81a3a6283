"""Free text in a grammar: the automaton agrees with what Python finds in the text."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats.answer_grammar import add_excluding_rule, add_until_rule
from rightseat.models.llamacpp.grammar import GrammarRules
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
