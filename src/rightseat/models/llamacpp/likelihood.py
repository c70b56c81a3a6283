"""Token logprobs in the form of OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.wire import CompletionChunk

# OpenAI's value for an impossible token: JSON has no infinity.
IMPOSSIBLE_LOGPROB = -9999.0


def format_chat_logprobs(piece: CompletionChunk, most: int | None) -> dict[str, Any] | None:
    """Return `{"content": […]}` with `most` top logprobs per token; None if `most` is None."""
    return None if most is None else {"content": format_logprobs(piece, most)}


def format_logprobs(chunk: CompletionChunk, top: int) -> list[dict[str, Any]]:
    return [
        _format_logprob(found)
        | {"top_logprobs": [_format_logprob(one) for one in (found.get("top_logprobs") or [])[:top]]}
        for found in chunk.completion_probabilities
    ]


def _format_logprob(probability: dict[str, Any]) -> dict[str, Any]:
    logprob = probability.get("logprob")
    return {
        "token": probability.get("token", ""),
        "logprob": IMPOSSIBLE_LOGPROB if logprob is None else logprob,
        "bytes": probability.get("bytes"),
    }
