"""Raw text completion: no chat template, no roles, optionally a grammar."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp import sessions
from rightseat.models.llamacpp.model import LlamaServer
from rightseat.models.llamacpp.request import build_sampling
from rightseat.models.llamacpp.wire import CompletionChunk
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import RawPrompt, SamplingSettings
from rightseat.types.streams import closing

# OpenAI's default: raw text has no natural end, and a small model would fill its context.
DEFAULT_MAX_TOKENS = 16
# The engine parses grammars recursively; unbounded nesting would crash its process.
MAX_GRAMMAR_CHARS = 256 << 10
MAX_GRAMMAR_DEPTH = 200


async def stream_raw_completion(
    server: LlamaServer, raw: RawPrompt, settings: SamplingSettings
) -> AsyncIterator[ModelChunk]:
    body = build_raw_request(raw, settings)
    if raw.echo:
        text = raw.text
        yield TextChunk(text if isinstance(text, str) else await (await server.client()).detokenize([*text]))
    async with closing(sessions.stream_in_slot(server, body)) as pieces:
        async for piece in pieces:
            token_logprobs = None if raw.logprobs is None else format_raw_logprobs(piece, raw.logprobs)
            if piece.content or token_logprobs:
                yield TextChunk(piece.content, token_logprobs and {"content": token_logprobs})
            if piece.stop:
                yield UsageChunk(Usage(piece.tokens_evaluated, piece.tokens_predicted))
                yield FinishChunk("stop" if piece.stop_type in ("eos", "word") else "length")


def build_raw_request(raw: RawPrompt, settings: SamplingSettings) -> dict[str, Any]:
    """Build the body of /completion; unset options are omitted."""
    check_raw_grammar(raw.grammar)
    body: dict[str, Any] = {
        "prompt": raw.text if isinstance(raw.text, str) else [*raw.text],
        "cache_prompt": True,
        **build_sampling(settings, default_max_tokens=DEFAULT_MAX_TOKENS),
    }
    if settings.stop:
        body["stop"] = list(settings.stop)
    if raw.grammar:
        body["grammar"] = raw.grammar
    if raw.logprobs is not None:
        # With logprobs = 0 the chosen token's own logprob is still wanted.
        body["n_probs"] = max(1, raw.logprobs)
    return body


def check_raw_grammar(grammar: str) -> None:
    depth = deepest = 0
    for sign in grammar:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    if len(grammar) > MAX_GRAMMAR_CHARS or deepest > MAX_GRAMMAR_DEPTH:
        raise CallerError("grammar: it is too long or too deeply nested. Simplify it.", param="grammar")


def format_raw_logprobs(chunk: CompletionChunk, top: int) -> list[dict[str, Any]]:
    """Return logprobs in the chat completions form; doors convert them as needed."""
    return [
        _format_raw_logprob(found)
        | {"top_logprobs": [_format_raw_logprob(one) for one in (found.get("top_logprobs") or [])[:top]]}
        for found in chunk.completion_probabilities
        # The end-of-text token has no text.
        if found.get("token")
    ]


def _format_raw_logprob(probability: dict[str, Any]) -> dict[str, Any]:
    return {
        "token": probability.get("token", ""),
        "logprob": probability.get("logprob", 0.0),
        "bytes": probability.get("bytes"),
    }
