"""Probabilities of tokens, as OpenAI's chat answers have them."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.wire import Piece

# What OpenAI says of a token that had no chance: JSON has no infinity.
NEVER = -9999.0


def logprobs(piece: Piece, most: int | None) -> dict[str, Any] | None:
    """`most`: how many likely tokens are told beside each one; None: nobody asked."""
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
