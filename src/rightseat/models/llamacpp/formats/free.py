"""Free text within a grammar: up to a word, or without certain words.

Each is an automaton: one rule for every beginning of a word that may have been read already.
"""

from __future__ import annotations

from collections.abc import Sequence

from rightseat.models.llamacpp.grammar import Rules
from rightseat.models.llamacpp.grammar.charset import bracket, complement, of


def until(rules: Rules, word: str) -> str:
    """The name of a rule for any text up to and with the first `word`."""
    return _automaton(rules, "until", (word,), ends=True)


def without(rules: Rules, words: Sequence[str], *, first: str = "") -> str:
    """The name of a rule for any text, also none, in which none of the words occurs. It begins with none of
    the characters in `first`, which must not be in a word."""
    return _automaton(rules, "free", tuple(words), first=first)


def _automaton(
    rules: Rules, hint: str, words: tuple[str, ...], *, ends: bool = False, first: str = ""
) -> str:
    """`ends`: it ends with a word; else it ends anywhere but there."""
    letters = sorted({letter for word in words for letter in word})
    steps = _steps(words, letters)
    names = {seen: rules.reserve(hint) for seen in steps}

    def define(name: str, seen: str, barred: str) -> None:
        options = [f"{bracket(complement(of(''.join(letters) + barred)))} {names['']}"]
        for reached in sorted(set(steps[seen].values())):
            step = bracket(of("".join(letter for letter in letters if steps[seen][letter] == reached)))
            if reached in names:
                options.append(f"{step} {names[reached]}")
            elif ends:
                options.append(step)
        rules.define(name, " | ".join(options) if ends else f"({' | '.join(options)})?")

    for seen, name in names.items():
        define(name, seen, "")
    if not first:
        return names[""]
    begin = rules.reserve(hint)
    define(begin, "", first)
    return begin


def _steps(words: tuple[str, ...], letters: list[str]) -> dict[str, dict[str, str]]:
    """For every beginning of a word that has been read, and each letter after it, the longest beginning that
    has been read then; it has no steps of its own where it ends with a word."""
    beginnings = {word[:size] for word in words for size in range(len(word) + 1)} or {""}
    steps: dict[str, dict[str, str]] = {}
    # By length, because what begins later is shorter.
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
