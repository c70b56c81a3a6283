"""Search tools by embeddings, and fuse that ranking with the one by words (`tools.word_search`)."""

from __future__ import annotations

import asyncio
import logging
import math
import operator
from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any

from rightseat.errors import RightseatError

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
