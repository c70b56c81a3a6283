"""Token logprobs in the form of OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.wire import Piece

# OpenAI's value for an impossible token: JSON has no infinity.
NEVER = -9999.0


def logprobs(piece: Piece, most: int | None) -> dict[str, Any] | None:
    """Return `{"content": […]}` with `most` top logprobs per token; None if `most` is None."""
    return None if most is None else {"content": tokens(piece, most)}


def tokens(piece: Piece, most: int) -> list[dict[str, Any]]:
    return [
        _token(found) | {"top_logprobs": [_token(one) for one in (found.get("top_logprobs") or [])[:most]]}
        for found in piece.completion_probabilities
    ]


def _token(found: dict[str, Any]) -> dict[str, Any]:
    logprob = found.get("logprob")
    return {
        "token": found.get("token", ""),
        "logprob": NEVER if logprob is None else logprob,
        "bytes": found.get("bytes"),
    }
