"""Raw text completion: no chat template, no roles, optionally a grammar."""

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

# OpenAI's default: raw text has no natural end, and a small model would fill its context.
MAX_TOKENS = 16
# The engine parses grammars recursively; unbounded nesting would crash its process.
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
    """Build the body of /completion; unset options are omitted."""
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
        # With logprobs = 0 the chosen token's own logprob is still wanted.
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
    """Return logprobs in the chat completions form; doors convert them as needed."""
    return [
        _token(found) | {"top_logprobs": [_token(one) for one in (found.get("top_logprobs") or [])[:most]]}
        for found in piece.completion_probabilities
        # The end-of-text token has no text.
        if found.get("token")
    ]


def _token(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "token": found.get("token", ""),
        "logprob": found.get("logprob", 0.0),
        "bytes": found.get("bytes"),
    }
