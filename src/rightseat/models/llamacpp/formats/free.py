"""Grammar rules for free text: up to a word, or without certain words.

Each is an automaton with one rule (state) per prefix of a word that may have been read.
"""

from __future__ import annotations

from collections.abc import Sequence

from rightseat.models.llamacpp.grammar import GrammarRules
from rightseat.models.llamacpp.grammar.charset import complement, format_character_class, ranges_of


def add_until_rule(rules: GrammarRules, word: str) -> str:
    """Add a rule for any text up to and including the first `word`; returns its name."""
    return _add_automaton(rules, "until", (word,), ends=True)


def add_excluding_rule(rules: GrammarRules, words: Sequence[str], *, excluded_first: str = "") -> str:
    """Add a rule for any text, also empty, that contains none of the words; returns its name. The text does
    not start with a character in `excluded_first`; these must not occur in the words."""
    return _add_automaton(rules, "free", tuple(words), excluded_first=excluded_first)


def _add_automaton(
    rules: GrammarRules, hint: str, words: tuple[str, ...], *, ends: bool = False, excluded_first: str = ""
) -> str:
    """Add one rule per state; returns the start rule. `ends`: the text ends with a word, else before any."""
    letters = sorted({letter for word in words for letter in word})
    steps = _build_transitions(words, letters)
    names = {seen: rules.reserve(hint) for seen in steps}

    def define(name: str, seen: str, barred: str) -> None:
        options = [f"{format_character_class(complement(ranges_of(''.join(letters) + barred)))} {names['']}"]
        for reached in sorted(set(steps[seen].values())):
            step = format_character_class(
                ranges_of("".join(letter for letter in letters if steps[seen][letter] == reached))
            )
            if reached in names:
                options.append(f"{step} {names[reached]}")
            elif ends:
                options.append(step)
        rules.define(name, " | ".join(options) if ends else f"({' | '.join(options)})?")

    for seen, name in names.items():
        define(name, seen, "")
    if not excluded_first:
        return names[""]
    begin = rules.reserve(hint)
    define(begin, "", excluded_first)
    return begin


def _build_transitions(words: tuple[str, ...], letters: list[str]) -> dict[str, dict[str, str]]:
    """Return for each state (a word prefix) and letter the next state: the longest word prefix that has been
    read. States that end with a word have no transitions."""
    beginnings = {word[:size] for word in words for size in range(len(word) + 1)} or {""}
    steps: dict[str, dict[str, str]] = {}
    # By length, because fallback states are shorter.
    later = {"": ""}
    for seen in sorted(beginnings, key=lambda seen: (len(seen), seen)):
        shorter = steps.get(later[seen], {})
        step = {}
        for letter in letters:
            grown, other = seen + letter, shorter.get(letter, "") if seen else ""
            step[letter] = grown if grown in beginnings else other
            if grown in beginnings:
                later[grown] = other
        if not seen or not any(seen.endswith(word) for word in words):
            steps[seen] = step
    return steps
