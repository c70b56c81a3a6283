"""The complete local model: chat, raw completion, tokenization and embeddings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rightseat.errors import CallerError, NotConfigured, UpstreamError
from rightseat.models.llamacpp.embedding import Embedder
from rightseat.models.llamacpp.model import Llama, Manner, Server, Source
from rightseat.models.llamacpp.raw import complete
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt, Raw, Settings
from rightseat.types.streams import closing


class Local(Llama):
    """A local model. `rightseat doctor` reads `address` (of an attached server) and `weights` (the file)."""

    completes = True

    def __init__(
        self,
        name: str,
        server: Server,
        known: Source,
        *,
        manner: Manner,
        embedder: Embedder | None = None,
        address: str | None = None,
        weights: Path | None = None,
        context: int | None = None,
    ) -> None:
        super().__init__(name, server, known, manner=manner)
        self.context = context
        self.address = address
        self.weights = weights
        self._embedder = embedder
        self._tried = False

    @property
    def ready(self) -> bool:
        """True before the first start attempt: models start lazily, so nothing is down until then."""
        return not self._tried or super().ready

    async def start(self) -> None:
        self._tried = True
        await super().start()

    async def close(self) -> None:
        await super().close()
        if self._embedder is not None:
            await self._embedder.close()

    def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        return super().stream(prompt) if prompt.raw is None else self._completed(prompt.raw, prompt.settings)

    async def _completed(self, raw: Raw, settings: Settings) -> AsyncIterator[Fragment]:
        await self.start()
        async with closing(complete(self._server, raw, settings)) as fragments:
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
        found = [{"id": one.id, "piece": one.piece} for one in await client.pieces(text, special=special)]
        # Tokens that the server prepends (BOS) come only as ids.
        extra = len(numbers) - len(found)
        first = [{"id": number, "piece": await client.detokenize([number])} for number in numbers[:extra]]
        return [*first, *found]

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
