"""What a llama-server sends: only the fields that are used; all others are passed over."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from rightseat.types.events import Usage

T = TypeVar("T")


class Timings(Struct, frozen=True):
    """`cache_n` tokens of the prompt were still there, `prompt_n` had to be read, `predicted_n` written."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0
    predicted_n: int = 0
    predicted_ms: float = 0


class Piece(Struct, frozen=True):
    """A piece of an answer. Counts, timings and the reason are there once `stop` is true."""

    content: str = ""
    tokens: list[int] = []
    index: int = 0
    id_slot: int = -1
    stop: bool = False
    stop_type: str = ""
    stopping_word: str = ""
    truncated: bool = False
    tokens_evaluated: int = 0
    tokens_predicted: int = 0
    completion_probabilities: list[dict[str, Any]] = []
    timings: Timings | None = None
    prompt_progress: Any = None
    error: Any = None

    @property
    def cached(self) -> int:
        """Tokens of the prompt that were not read again."""
        return 0 if self.timings is None else self.timings.cache_n

    @property
    def usage(self) -> Usage:
        return Usage(self.tokens_evaluated, self.tokens_predicted, self.cached)


class Token(Struct, frozen=True):
    """`piece` is a list of bytes where the token is no whole text."""

    id: int
    piece: str | list[int]


class Tokens(Struct, Generic[T], frozen=True):
    tokens: list[T]
