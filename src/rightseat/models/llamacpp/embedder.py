"""Embedder: OpenAI embeddings by a llama-server. A text over the server's window is refused, cut or averaged."""

from __future__ import annotations

import asyncio
import base64
import math
import struct
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from rightseat.errors import CallerError, ContextTooLong
from rightseat.models.llamacpp.client import LlamaServer, LlamaServerClient

EmbeddingOverflow = Literal["refuse", "cut", "average"]
EmbeddingInput = str | list[int]
NOT_NORMALIZED = -1
"""llama-server's `embd_normalize` for vectors as they are."""
_TOKENIZED_AT_ONCE = 4


class EndTokens(Struct, frozen=True):
    """Tokens that a model's tokenizer puts before and after every text."""

    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    def surround(self, tokens: list[int]) -> bool:
        """Return whether the tokens have these ends; a client's own tokens may have none."""
        first, last = tokens[: len(self.first)], tokens[len(tokens) - len(self.last) :]
        return (tuple(first), tuple(last)) == (self.first, self.last)

    def strip(self, tokens: list[int]) -> list[int]:
        """Return the tokens of the text itself."""
        return tokens[len(self.first) : len(tokens) - len(self.last)]

    def wrap(self, tokens: Sequence[int]) -> list[int]:
        return [*self.first, *tokens, *self.last]


# Fields of a request that the engine knows.
ENGINE_FIELDS = ("input", "encoding_format", "embd_normalize")


class Embedder:
    """Computes embeddings, by a server that starts with the first request. `owns_server`: the embedder starts and
    closes it. `window`: the most tokens of a text; None: as the server says when it refuses one."""

    def __init__(
        self,
        server: LlamaServer,
        *,
        owns_server: bool = True,
        overflow: EmbeddingOverflow = "refuse",
        window: int | None = None,
    ) -> None:
        self._server = server
        self._owns_server = owns_server
        self._overflow = overflow
        self._window = window

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Handle an OpenAI embeddings request. `input` is a text, token ids, or a list of either."""
        if "dimensions" in body:
            raise CallerError(
                "dimensions: the vector length of a local model cannot be changed. Leave it out.", param="dimensions"
            )
        value = body.get("input")
        items = value if isinstance(value, list) else [value]
        if not items or any(item in ("", []) for item in items):
            raise CallerError("input: an empty text has no vector. Leave it out.", param="input")
        if len({type(item) for item in items}) > 1:
            raise CallerError("input: do not mix texts and tokens. Send one kind.", param="input")
        if self._owns_server:
            await self._server.start()
        client = await self._server.client()
        inputs: list[EmbeddingInput] = [[*items]] if isinstance(items[0], int) else [*items]
        # Other keys that OpenAI's API has, such as `user`, are dropped.
        request: dict[str, Any] = {name: body[name] for name in ENGINE_FIELDS if name in body}
        try:
            if self._window is not None and await self._find_too_long(inputs, self._window, client):
                return await self._embed_in_pieces(inputs, self._window, request, client)
            return await client.embed(request)
        except ContextTooLong as error:
            if error.window is None or self._window is not None:
                raise
            # An attached server says how much it takes only when it refuses a text.
            return await self._embed_in_pieces(inputs, error.window, request, client)

    async def close(self) -> None:
        if self._owns_server:
            await self._server.close()

    async def _find_too_long(self, inputs: Sequence[EmbeddingInput], window: int, client: LlamaServerClient) -> bool:
        # A token has at least one byte; two more may stand around a text.
        sizes = (len(item) if isinstance(item, list) else len(item.encode(errors="replace")) + 2 for item in inputs)
        candidates = [item for item, size in zip(inputs, sizes, strict=True) if size > window]
        return any(len(tokens) > window for tokens in await _tokenize_inputs(candidates, client))

    async def _embed_in_pieces(
        self, inputs: Sequence[EmbeddingInput], window: int, request: dict[str, Any], client: LlamaServerClient
    ) -> dict[str, Any]:
        """Embed inputs of which one is too long: cut, or averaged over its pieces."""
        tokenized = await _tokenize_inputs(inputs, client)
        too_long = {number: len(tokens) for number, tokens in enumerate(tokenized) if len(tokens) > window}
        if self._overflow == "refuse" and too_long:
            raise _make_refusal(too_long, window, several=len(inputs) > 1)
        ends = await _find_end_tokens(client)
        pieces = [self._split(tokens, window, ends) for tokens in tokenized]
        flat = [piece for group in pieces for piece in group]
        response = await client.embed({**request, "input": flat, "encoding_format": "float"})
        vectors = iter([entry["embedding"] for entry in response["data"]])
        averaged = [_average([(next(vectors), len(piece)) for piece in group]) for group in pieces]
        if request.get("embd_normalize") != NOT_NORMALIZED:
            averaged = [
                _normalize(vector) if len(group) > 1 else vector for vector, group in zip(averaged, pieces, strict=True)
            ]
        packed = request.get("encoding_format") == "base64"
        embeddings = [_encode_base64(vector) if packed else vector for vector in averaged]
        data = [{"object": "embedding", "index": number, "embedding": item} for number, item in enumerate(embeddings)]
        return response | {"data": data}

    def _split(self, tokens: list[int], window: int, ends: EndTokens) -> list[list[int]]:
        """Return the pieces of a text that are embedded: one if it fits or is cut."""
        if len(tokens) <= window:
            return [tokens]
        ends = ends if ends.surround(tokens) else EndTokens()
        text, size = ends.strip(tokens), max(window - len(ends.first) - len(ends.last), 1)
        count = 1 if self._overflow == "cut" else math.ceil(len(text) / size)
        return [ends.wrap(text[number * size : (number + 1) * size]) for number in range(count)]


async def _tokenize_inputs(inputs: Sequence[EmbeddingInput], client: LlamaServerClient) -> list[list[int]]:
    requests = asyncio.Semaphore(_TOKENIZED_AT_ONCE)

    async def tokenize(item: EmbeddingInput) -> list[int]:
        if isinstance(item, list):
            return item
        async with requests:
            return await client.tokenize(item, add=True)

    return await asyncio.gather(*map(tokenize, inputs))


async def _find_end_tokens(client: LlamaServerClient) -> EndTokens:
    """Return the tokens around every text: those of an empty one."""
    around = await client.tokenize("", add=True)
    if len(around) > 1:
        return EndTokens(tuple(around[:1]), tuple(around[1:]))
    sample = await client.tokenize("a", add=True)
    return EndTokens(tuple(around)) if sample[:1] == around else EndTokens((), tuple(around))


def _make_refusal(too_long: dict[int, int], window: int, *, several: bool) -> ContextTooLong:
    number, tokens = next(iter(too_long.items()))
    name = f"input[{number}]" if several else "input"
    return ContextTooLong(
        f"{name}: the text has {tokens} tokens, and the embedding model takes {window}. Send less at once, or set "
        'embedding_overflow of the model to "cut" or "average".',
        param=name,
        tokens=tokens,
        window=window,
    )


def _average(weighted: Sequence[tuple[Sequence[float], int]]) -> list[float]:
    """Return the mean of vectors by their weights; a single vector as it is."""
    if len(weighted) == 1:
        return list(weighted[0][0])
    total = sum(weight for _, weight in weighted)
    return [
        math.fsum(value * weight for value, (_, weight) in zip(column, weighted, strict=True)) / total
        for column in zip(*(vector for vector, _ in weighted), strict=True)
    ]


def _normalize(vector: Sequence[float]) -> list[float]:
    """Return the vector with a length of 1."""
    length = math.sqrt(math.fsum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _encode_base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
