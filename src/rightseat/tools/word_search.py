"""Search texts by words: BM25 over weighted fields, Chinese as bigrams. Plugins and doors rank tools with it.

The cost of a search does not grow with the number of texts: only the best postings of each word count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from msgspec import Struct

# BM25's usual constants: k1 (saturation of repeated words) and b (penalty of long texts).
SATURATION = 1.2
LENGTH_PENALTY = 0.75

# Best postings used of each word.
MAX_POSTINGS = 24

# Rarest words used of a long question.
MAX_QUERY_WORDS = 24
MAX_QUERY_LENGTH = 4000
_RUN = re.compile(r"[^\W_]+")
_CASES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")

_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be by can could do does for from get give has have how i in is it its let me my
        of on or our please show tell that the their this to us was we what when where which who will with
        would you your""",
    )
)


def tokenize(text: str) -> list[str]:
    """Return search terms: stemmed English words, parts of identifiers, Chinese bigrams."""
    tokens: list[str] = []
    for run in _RUN.findall(text):
        tokens += _tokenize_run(run)
    return tokens


@lru_cache(maxsize=1 << 15)
def _tokenize_run(run: str) -> tuple[str, ...]:
    if run.isascii():
        return tuple(filter(None, map(_stem, _CASES.findall(run))))
    pairs = (han[at : at + 2] for han in _HAN.findall(run) for at in range(max(len(han) - 1, 1)))
    return (*pairs, *filter(None, map(_stem, _HAN.split(run))))


def _stem(word: str) -> str:
    """Return a crude stem; empty for a stop word."""
    word = word.lower()
    if word in _STOP_WORDS:
        return ""
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word


class SearchField(Struct, frozen=True):
    text: str
    weight: float


class SearchIndex:
    """BM25 index over texts of weighted fields; results are text numbers."""

    def __init__(self, texts: Sequence[Sequence[SearchField]]) -> None:
        self.size = len(texts)
        known: dict[SearchField, dict[str, float]] = {}
        counts = [_count_words(fields, known) for fields in texts]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        weighted: dict[str, list[tuple[float, int]]] = {}
        for number, count in enumerate(counts):
            damping = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths[number] / mean)
            for word, often in count.items():
                weighted.setdefault(word, []).append((-often * (SATURATION + 1) / (often + damping), number))
        self.postings = {word: _make_posting(entries, self.size) for word, entries in weighted.items()}

    def search(self, query: str, among: Set[int] | None = None) -> list[int]:
        """Return the numbers of matching texts, best first; only those in `among` if given."""
        scores: dict[int, float] = {}
        known = scores.get
        postings = {word: self.postings[word] for word in tokenize(query[:MAX_QUERY_LENGTH]) if word in self.postings}
        chosen = list(postings.values())
        if len(chosen) > MAX_QUERY_WORDS:
            chosen = sorted(chosen, key=lambda posting: len(posting[0]))[:MAX_QUERY_WORDS]
        for numbers, weights in chosen:
            if among is None:
                for number, weight in zip(numbers[:MAX_POSTINGS], weights, strict=False):
                    scores[number] = known(number, 0.0) + weight
                continue
            for number, weight in zip(numbers, weights, strict=True):
                if number in among:
                    scores[number] = known(number, 0.0) + weight
        # Weights are negative, so that the best sorts first; ties keep their order.
        return sorted(scores, key=scores.__getitem__)


def _count_words(fields: Iterable[SearchField], known: dict[SearchField, dict[str, float]]) -> dict[str, float]:
    """Return the weighted count of each word. `known` caches fields that several texts share."""
    total: dict[str, float] = {}
    for field in fields:
        if field not in known:
            known[field] = {word: often * field.weight for word, often in Counter(tokenize(field.text)).items()}
        for word, often in known[field].items():
            total[word] = total.get(word, 0.0) + often
    return total


def _make_posting(entries: list[tuple[float, int]], size: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    rarity = math.log(1 + (size - len(entries) + 0.5) / (len(entries) + 0.5))
    entries.sort()
    return tuple(number for _, number in entries), tuple(weight * rarity for weight, _ in entries)
