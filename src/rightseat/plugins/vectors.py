"""Search tools by embeddings, where an embedding model is configured.

All vectors are compared by their sign bits, and only the nearest exactly, so thousands of tools are cheap.
"""

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
AT_ONCE = 64
LONGEST = 2000
NEAREST = 48
SECONDS = 5.0


class Vectors:
    """Index of the tools' texts by number. Vectors that `previous` holds are not requested again."""

    def __init__(self, embed: Embed, texts: Sequence[str], before: Vectors | None = None) -> None:
        self.embed = embed
        self.texts = [text[:LONGEST] or "-" for text in texts]
        self.known: Mapping[str, array[float]] = before.known if before else {}
        self.exact: list[array[float]] = []
        self.mean: array[float] = array("f")
        self.signs: list[int] = []

    async def start(self) -> None:
        """Request all missing vectors. If that fails, tools are ranked by words alone."""
        new = list(dict.fromkeys(text for text in self.texts if text not in self.known))
        found = {text: self.known[text] for text in self.texts if text in self.known}
        try:
            for start in range(0, len(new), AT_ONCE):
                part = new[start : start + AT_ONCE]
                found |= dict(zip(part, await self.vectors(part), strict=True))
        except (RightseatError, Unusable) as error:
            log.warning("Tools are chosen by words alone: their embeddings cannot be had. %s", error)
            return
        self.known = found
        self.exact = [found[text] for text in self.texts]
        if len({len(vector) for vector in self.exact}) != 1:
            self.exact = []
            return
        count = len(self.exact)
        self.mean = array("f", (sum(column) / count for column in zip(*self.exact, strict=True)))
        self.signs = [self.sign(vector) for vector in self.exact]

    async def vectors(self, texts: Sequence[str]) -> list[array[float]]:
        """Return unit vectors in the order of the texts."""
        answer = await self.embed({"input": list(texts), "encoding_format": "float"})
        found: dict[int, array[float]] = {}
        for place, item in enumerate(answer.get("data") or ()):
            match item:
                case {"embedding": [float() | int(), *_] as numbers, "index": int(index)}:
                    found[index] = unit(numbers)
                case {"embedding": [float() | int(), *_] as numbers}:
                    found[place] = unit(numbers)
                case _:
                    raise Unusable("They are not in the form of OpenAI's API.")
        if sorted(found) != list(range(len(texts))):
            raise Unusable("There are fewer of them than texts.")
        return [found[place] for place in range(len(texts))]

    def sign(self, vector: array[float]) -> int:
        bits = "".join("1" if number > mean else "0" for number, mean in zip(vector, self.mean, strict=True))
        return int(bits, 2)

    async def search(self, query: str, among: Set[int] | None = None) -> list[int]:
        """Return the numbers of the nearest texts, best first; empty without vectors."""
        if not self.signs:
            return []
        try:
            async with asyncio.timeout(SECONDS):
                (asked,) = await self.vectors([query[:LONGEST]])
        except (RightseatError, Unusable, TimeoutError) as error:
            log.warning("A turn's tools are chosen by words alone: no embedding of the question. %s", error)
            return []
        if len(asked) != len(self.mean):
            return []
        sign = self.sign(asked)
        apart = [(other ^ sign).bit_count() for other in self.signs]
        numbers = range(len(apart)) if among is None else sorted(among)
        near = sorted(numbers, key=apart.__getitem__)[:NEAREST]
        closeness = {number: sum(map(operator.mul, asked, self.exact[number])) for number in near}
        return sorted(near, key=lambda number: -closeness[number])


class Unusable(Exception):
    """The embedding response is incomplete or malformed."""


def unit(numbers: Sequence[float]) -> array[float]:
    length = math.hypot(*numbers) or 1.0
    return array("f", (number / length for number in numbers))


def fused(*rankings: Sequence[int]) -> list[int]:
    """Combine rankings by reciprocal rank fusion."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, number in enumerate(ranking):
            scores[number] = scores.get(number, 0.0) + 1 / (10 + place)
    return sorted(scores, key=lambda number: -scores[number])
