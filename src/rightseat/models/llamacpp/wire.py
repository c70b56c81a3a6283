"""Response structs of a llama-server: only the fields that are used; others are ignored."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from rightseat.types.events import Usage

ItemT = TypeVar("ItemT")


class Timings(Struct, frozen=True):
    """Token counts and times: `cache_n` cached prompt tokens, `prompt_n` read, `predicted_n` generated."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0
    predicted_n: int = 0
    predicted_ms: float = 0


class CompletionChunk(Struct, frozen=True):
    """A chunk of a completion. Counts, timings and stop reason are set in the last one (`stop`)."""

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
    def cached_tokens(self) -> int:
        """Prompt tokens served from the KV cache."""
        return 0 if self.timings is None else self.timings.cache_n

    @property
    def usage(self) -> Usage:
        return Usage(self.tokens_evaluated, self.tokens_predicted, self.cached_tokens)


class TokenPiece(Struct, frozen=True):
    """A token id with its text; `piece` is a list of bytes if the token is not valid UTF-8."""

    id: int
    piece: str | list[int]


class TokenizeResponse(Struct, Generic[ItemT], frozen=True):
    tokens: list[ItemT]
