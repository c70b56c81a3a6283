"""ParserTarget: one parser under test, with what the fuzzer needs to know of it."""

import json
import random
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self, TypeVar

from tests.fuzz.mutations import VALUE_MUTATIONS

Text = TypeVar("Text", bytes, str)
# A value that is mutated beyond this is of no more use.
MAX_JSON_BYTES = 20_000


class PropertyViolated(Exception):
    """A parser gave a result that breaks one of its properties."""


class ParserTarget(ABC):
    """One parser. `parse` and `check` return for every input, or the parser has a fault: any exception is one."""

    name: ClassVar[str]
    traced: ClassVar[tuple[str, ...]]
    """Files and folders below src/rightseat whose lines guide the search."""
    words: ClassVar[tuple[bytes, ...]] = ()
    """Pieces of the parser's language, for mutations."""
    base_seconds: ClassVar[float] = 0.2
    """CPU seconds that any input may take, on a machine of slowness 1."""
    seconds_per_byte: ClassVar[float] = 20e-6
    max_bytes: ClassVar[int] = 100_000
    """Size up to which a part of an input is repeated, so that more than linear cost is seen."""

    @abstractmethod
    def parse(self, data: bytes) -> None:
        """Parse the input once, under coverage; an exception that leaves this method is a fault."""

    @abstractmethod
    def check(self, data: bytes) -> None:
        """Parse the input in every way and compare the results; an exception that leaves this method is a fault."""

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Return a mutant that only this parser's language can make; None if there is none for this input."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what the target holds; most hold nothing."""
        return


def require(condition: bool, problem: str, *values: object) -> None:
    """Raise PropertyViolated unless the condition holds."""
    if not condition:
        raise PropertyViolated("\n".join([problem, *(repr(value)[:600] for value in values)]))


def iter_splits(data: Text, most: int = 1_000) -> Iterator[Sequence[Text]]:
    """Yield ways to split a text: into pieces of one character, or `most` equal ones; and three that it decides."""
    size = len(data) // most + 1
    yield [data[start : start + size] for start in range(0, len(data), size)]
    rng = random.Random(zlib.crc32(repr(data).encode()))
    for count in (1, 3, 12):
        ends: list[int] = sorted(rng.randint(0, len(data)) for _ in range(count))
        yield [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


def mutate_json(rng: random.Random, data: bytes) -> bytes | None:
    """Return JSON with up to three of its values changed; None if the input is no JSON of a small size."""
    if len(data) > MAX_JSON_BYTES:
        return None
    try:
        value = json.loads(data)
        for _ in range(rng.randint(1, 3)):
            value = rng.choice(VALUE_MUTATIONS)(rng, value)
        return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None
