"""Random values of a kind, with the words a user has for them. One seed gives one stream of values."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).parent
DATA = HERE / "data"
T = TypeVar("T")
LETTERS = "ABCDEFGHIJKLMNOPRSTUVWXYZ"
COMMON = "".join(bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xD7) for cell in range(0xA1, 0xFF))
"""The Chinese characters in daily use, by the first level of GB 2312."""


class Draw:
    """The dice. `words` are the lists of data/words.json; a list NAME_zh is its Chinese side."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words: dict[str, list[str]] = json.loads((DATA / "words.json").read_text("utf-8"))

    def one(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def some(self, items: Sequence[T], count: int) -> list[T]:
        return self.random.sample(items, min(count, len(items)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def whole(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def real(self, low: float, high: float, digits: int) -> float | int:
        found = round(self.random.uniform(low, high), digits)
        return int(found) if found == int(found) else found

    def word(self, name: str, zh: bool = False) -> str:
        return self.one(self.words.get(f"{name}_zh" if zh else name) or self.words[name])

    def digits(self, count: int) -> str:
        return "".join(self.one("0123456789") for _ in range(count))

    def letters(self, count: int) -> str:
        return "".join(self.one(LETTERS) for _ in range(count))

    def made_up(self, count: int) -> str:
        """A word that is in no dictionary: such values can only be copied."""
        return "".join(self.word("syllable") for _ in range(count))

    def characters(self, count: int) -> str:
        """Chinese that means nothing: the same, for a model that knows Chinese in parts of characters."""
        return "".join(self.one(COMMON) for _ in range(count))


def to_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def to_ascii_lower(name: str) -> str:
    """Lower-case ASCII."""
    return name.lower().encode("ascii", "ignore").decode()


def capitalise(text: str) -> str:
    return text if text[:1] == "{" else text[:1].upper() + text[1:]


def read_json(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))
