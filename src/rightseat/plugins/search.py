"""Search tools by words (BM25 over names and descriptions, Chinese as bigrams) and by embeddings.

The cost of a word search does not grow with the number of tools: only the best postings of each word count.
"""

from __future__ import annotations

import asyncio
import logging
import math
import operator
import re
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rightseat.errors import RightseatError

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


log = logging.getLogger(__name__)
Embed = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
BATCH_SIZE = 64
MAX_TEXT_LENGTH = 2000
MAX_CANDIDATES = 48
TIMEOUT_SECONDS = 5.0


class VectorIndex:
    """Index of the tools' texts by number. Vectors that `previous` holds are not requested again."""

    def __init__(self, embed: Embed, texts: Sequence[str], previous: VectorIndex | None = None) -> None:
        self.embed = embed
        self.texts = [text[:MAX_TEXT_LENGTH] or "-" for text in texts]
        self.known: Mapping[str, array[float]] = previous.known if previous else {}
        self.unit_vectors: list[array[float]] = []
        self.mean: array[float] = array("f")
        self.sign_bits: list[int] = []

    async def start(self) -> None:
        """Request all missing vectors. If that fails, tools are ranked by words alone."""
        new = list(dict.fromkeys(text for text in self.texts if text not in self.known))
        by_text = {text: self.known[text] for text in self.texts if text in self.known}
        try:
            for start in range(0, len(new), BATCH_SIZE):
                part = new[start : start + BATCH_SIZE]
                by_text |= dict(zip(part, await self.embed_texts(part), strict=True))
        except (RightseatError, InvalidEmbeddings) as error:
            log.warning("Tools are chosen by words alone: their embeddings cannot be had. %s", error)
            return
        self.known = by_text
        self.unit_vectors = [by_text[text] for text in self.texts]
        if len({len(vector) for vector in self.unit_vectors}) != 1:
            self.unit_vectors = []
            return
        count = len(self.unit_vectors)
        self.mean = array("f", (sum(column) / count for column in zip(*self.unit_vectors, strict=True)))
        self.sign_bits = [self.make_sign_bits(vector) for vector in self.unit_vectors]

    async def embed_texts(self, texts: Sequence[str]) -> list[array[float]]:
        """Return unit vectors in the order of the texts."""
        answer = await self.embed({"input": list(texts), "encoding_format": "float"})
        by_position: dict[int, array[float]] = {}
        for place, item in enumerate(answer.get("data") or ()):
            match item:
                case {"embedding": [float() | int(), *_] as numbers, "index": int(index)}:
                    by_position[index] = normalize_vector(numbers)
                case {"embedding": [float() | int(), *_] as numbers}:
                    by_position[place] = normalize_vector(numbers)
                case _:
                    raise InvalidEmbeddings("They are not in the form of OpenAI's API.")
        if sorted(by_position) != list(range(len(texts))):
            raise InvalidEmbeddings("There are fewer of them than texts.")
        return [by_position[place] for place in range(len(texts))]

    def make_sign_bits(self, vector: array[float]) -> int:
        bits = "".join("1" if number > mean else "0" for number, mean in zip(vector, self.mean, strict=True))
        return int(bits, 2)

    async def search(self, query: str, among: Set[int] | None = None) -> list[int]:
        """Return the numbers of the nearest texts, best first; empty without vectors."""
        if not self.sign_bits:
            return []
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                (query_vector,) = await self.embed_texts([query[:MAX_TEXT_LENGTH]])
        except (RightseatError, InvalidEmbeddings, TimeoutError) as error:
            log.warning("A turn's tools are chosen by words alone: no embedding of the question. %s", error)
            return []
        if len(query_vector) != len(self.mean):
            return []
        sign = self.make_sign_bits(query_vector)
        distances = [(other ^ sign).bit_count() for other in self.sign_bits]
        numbers = range(len(distances)) if among is None else sorted(among)
        near = sorted(numbers, key=distances.__getitem__)[:MAX_CANDIDATES]
        closeness = {number: sum(map(operator.mul, query_vector, self.unit_vectors[number])) for number in near}
        return sorted(near, key=lambda number: -closeness[number])


class InvalidEmbeddings(Exception):
    """The embedding response is incomplete or malformed."""


def normalize_vector(numbers: Sequence[float]) -> array[float]:
    length = math.hypot(*numbers) or 1.0
    return array("f", (number / length for number in numbers))


def fuse_rankings(*rankings: Sequence[int]) -> list[int]:
    """Combine rankings by reciprocal rank fusion."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, number in enumerate(ranking):
            scores[number] = scores.get(number, 0.0) + 1 / (10 + place)
    return sorted(scores, key=lambda number: -scores[number])
