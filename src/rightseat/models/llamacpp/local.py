"""The complete local model: chat, raw completion, tokenization and embeddings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rightseat.errors import CallerError, NotConfigured, UpstreamError
from rightseat.models.llamacpp.embedding import Embedder
from rightseat.models.llamacpp.model import LlamaCppChatModel, LlamaServer, ModelDescriber, PromptOptions
from rightseat.models.llamacpp.raw import stream_raw_completion
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt, RawPrompt, SamplingSettings
from rightseat.types.streams import closing


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
        self.context = context
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

    async def tokenize(
        self, text: str, *, special: bool = True, add: bool = False, pieces: bool = False
    ) -> list[Any]:
        """Return token ids; with `pieces`, objects with `id` and `piece`."""
        numbers = await super().tokenize(text, special=special, add=add)
        if not pieces:
            return numbers
        client = await self._server.client()
        tokens = [
            {"id": one.id, "piece": one.piece}
            for one in await client.tokenize_with_pieces(text, special=special)
        ]
        # Tokens that the server prepends (BOS) come only as ids.
        extra = len(numbers) - len(tokens)
        leading_tokens = [
            {"id": number, "piece": await client.detokenize([number])} for number in numbers[:extra]
        ]
        return [*leading_tokens, *tokens]

    async def detokenize(self, tokens: list[int]) -> str:
        try:
            return await super().detokenize(tokens)
        except UpstreamError as error:
            # A llama-server fails with a plain 500 on an unknown token id.
            if type(error) is not UpstreamError:
                raise
            raise CallerError("tokens: the model has no such tokens.", param="tokens") from error

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._embedder is None:
            raise NotConfigured(
                "No embedding model is set up here. Give the local model one: embedding = PATH.gguf, "
                'or pooling = "mean" to use its own weights.'
            )
        return await self._embedder.embed(body)
