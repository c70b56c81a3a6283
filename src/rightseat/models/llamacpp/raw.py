"""A text that is gone on with as it is: no chat template, no roles, a grammar if one is given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp import sessions
from rightseat.models.llamacpp.model import Server
from rightseat.models.llamacpp.request import sampling
from rightseat.models.llamacpp.wire import Piece
from rightseat.types.chunks import Finish, Fragment, Text, Used
from rightseat.types.events import Usage
from rightseat.types.model import Raw, Settings
from rightseat.types.streams import closing

# As OpenAI's: a text has no end of its own, and a small model goes on until its context is full.
MAX_TOKENS = 16
# The engine reads a grammar by recursion, and one that is nested without end would end its process.
LONGEST_GRAMMAR = 256 << 10
DEEPEST_GRAMMAR = 200


async def complete(server: Server, raw: Raw, settings: Settings) -> AsyncIterator[Fragment]:
    asked = request(raw, settings)
    if raw.echo:
        text = raw.text
        yield Text(text if isinstance(text, str) else await (await server.client()).detokenize([*text]))
    async with closing(sessions.completion(server, asked)) as pieces:
        async for piece in pieces:
            told = None if raw.logprobs is None else logprobs(piece, raw.logprobs)
            if piece.content or told:
                yield Text(piece.content, told and {"content": told})
            if piece.stop:
                yield Used(Usage(piece.tokens_evaluated, piece.tokens_predicted))
                yield Finish("stop" if piece.stop_type in ("eos", "word") else "length")


def request(raw: Raw, settings: Settings) -> dict[str, Any]:
    """What /completion takes; only what was given travels."""
    check(raw.grammar)
    asked: dict[str, Any] = {
        "prompt": raw.text if isinstance(raw.text, str) else [*raw.text],
        "cache_prompt": True,
        **sampling(settings, most=MAX_TOKENS),
    }
    if settings.stop:
        asked["stop"] = list(settings.stop)
    if raw.grammar:
        asked["grammar"] = raw.grammar
    if raw.logprobs is not None:
        # Where no others are wanted, the token's own probability still is.
        asked["n_probs"] = max(1, raw.logprobs)
    return asked


def check(grammar: str) -> None:
    depth = deepest = 0
    for sign in grammar:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    if len(grammar) > LONGEST_GRAMMAR or deepest > DEEPEST_GRAMMAR:
        raise CallerError("grammar: it is too long or too deeply nested. Simplify it.", param="grammar")


def logprobs(piece: Piece, most: int) -> list[dict[str, Any]]:
    """As a chat answer has them: what a door makes of it is its own."""
    return [
        _token(found) | {"top_logprobs": [_token(one) for one in (found.get("top_logprobs") or [])[:most]]}
        for found in piece.completion_probabilities
        # The end is a token too, but no text.
        if found.get("token")
    ]


def _token(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "token": found.get("token", ""),
        "logprob": found.get("logprob", 0.0),
        "bytes": found.get("bytes"),
    }
