"""The complete local model: chat, raw completion, tokenization and embeddings.

Raw text completion: no chat template, no roles, optionally a grammar. Embeddings from a local model, by a second
llama-server that starts with the first request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from rightseat.errors import CallerError, NotConfigured, UpstreamError
from rightseat.models.llamacpp import slot_scheduler
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServerClient
from rightseat.models.llamacpp.completion import build_sampling
from rightseat.models.llamacpp.model import LlamaCppChatModel, LlamaServer, ModelDescriber, PromptOptions
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt, RawPrompt, SamplingSettings
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
    async with closing(slot_scheduler.stream_in_slot(server, body)) as pieces:
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


# Keys that a llama-server accepts; others such as `user` are dropped.
_FORWARDED_KEYS = ("input", "encoding_format")


class EmbeddingServer(Protocol):
    """A ManagedServer, SharedServer or AttachedServer."""

    def start(self) -> Awaitable[None]: ...
    def close(self) -> Awaitable[None]: ...
    def client(self) -> Awaitable[LlamaServerClient]: ...


class Embedder:
    """Computes embeddings. `owns_server`: the embedder starts and closes its server."""

    def __init__(self, server: EmbeddingServer, *, owns_server: bool = True) -> None:
        self._server = server
        self._owns_server = owns_server

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Handle an OpenAI embeddings request. `input` is a text, token ids, or a list of either."""
        if "dimensions" in body:
            raise CallerError(
                "dimensions: the vector length of a local model cannot be changed. Leave it out.", param="dimensions"
            )
        _check_input(body.get("input"))
        if self._owns_server:
            await self._server.start()
        client = await self._server.client()
        return await client.embed({name: body[name] for name in _FORWARDED_KEYS if name in body})

    async def close(self) -> None:
        if self._owns_server:
            await self._server.close()


def _check_input(value: object) -> None:
    items = value if isinstance(value, list) else [value]
    if not items or any(item in ("", []) for item in items):
        raise CallerError("input: an empty text has no vector. Leave it out.", param="input")
    if len({type(item) for item in items}) > 1:
        raise CallerError("input: do not mix texts and tokens. Send one kind.", param="input")


class LlamaCppModel(LlamaCppChatModel):
    """A local model. `rightseat doctor` reads `address` (of an attached server) and `weights` (the file)."""

    completes = True

    def __init__(
        self,
        name: str,
        server: LlamaServer,
        describe: ModelDescriber,
        *,
        options: PromptOptions,
        embedder: Embedder | None = None,
        address: str | None = None,
        weights: Path | None = None,
        context: int | None = None,
    ) -> None:
        super().__init__(name, server, describe, options=options)
        self.capabilities = replace(self.capabilities, enforced_context=context)
        self.address = address
        self.weights = weights
        self._embedder = embedder
        self._start_attempted = False

    @property
    def ready(self) -> bool:
        """True before the first start attempt: models start lazily, so nothing is down until then."""
        return not self._start_attempted or super().ready

    async def start(self) -> None:
        self._start_attempted = True
        await super().start()

    async def close(self) -> None:
        await super().close()
        if self._embedder is not None:
            await self._embedder.close()

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return super().stream(prompt) if prompt.raw is None else self._stream_raw(prompt.raw, prompt.settings)

    async def _stream_raw(self, raw: RawPrompt, settings: SamplingSettings) -> AsyncIterator[ModelChunk]:
        await self.start()
        async with closing(stream_raw_completion(self._server, raw, settings)) as fragments:
            async for fragment in fragments:
                yield fragment

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False, pieces: bool = False) -> list[Any]:
        """Return token ids; with `pieces`, objects with `id` and `piece`."""
        numbers = await super().tokenize(text, special=special, add=add)
        if not pieces:
            return numbers
        client = await self._server.client()
        tokens = [
            {"id": one.id, "piece": one.piece} for one in await client.tokenize_with_pieces(text, special=special)
        ]
        # Tokens that the server prepends (BOS) come only as ids.
        extra = len(numbers) - len(tokens)
        leading_tokens = [{"id": number, "piece": await client.detokenize([number])} for number in numbers[:extra]]
        return [*leading_tokens, *tokens]

    async def detokenize(self, tokens: list[int]) -> str:
        try:
            return await super().detokenize(tokens)
        except UpstreamError as error:
            # A llama-server fails with a plain 500 on an unknown token id.
            if type(error) is not UpstreamError:
                raise
            raise CallerError("tokens: one of the ids is not a token of this model.", param="tokens") from error

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._embedder is None:
            raise NotConfigured(
                "No embedding model is set up here. Give the local model one: embedding = PATH.gguf, "
                'or pooling = "mean" to use its own weights.'
            )
        return await self._embedder.embed(body)
