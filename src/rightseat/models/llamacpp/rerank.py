"""Reranker: the relevance of documents to a query, by a reranking model in an engine of its own."""

from __future__ import annotations

from rightseat.errors import ContextTooLong
from rightseat.models.llamacpp.client import ERRORS, LlamaServer
from rightseat.types.events import Usage


class Reranker:
    """Ranks by a server that starts with the first request. `owns_server`: the reranker starts and closes it."""

    def __init__(self, server: LlamaServer, *, owns_server: bool = True) -> None:
        self._server = server
        self._owns_server = owns_server

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], Usage]:
        """Return the relevance of each document, in the order of the documents."""
        if self._owns_server:
            await self._server.start()
        client = await self._server.client()
        try:
            response = await client.rerank(query, documents)
        except ContextTooLong:
            raise ContextTooLong(
                "A document with its query is longer than the reranker reads at once: send it in shorter parts."
            ) from None
        scores = {result.index: result.relevance_score for result in response.results}
        if scores.keys() != set(range(len(documents))):
            raise ERRORS.invalid_response("a document has no relevance")
        return [scores[index] for index in range(len(documents))], Usage(response.usage.prompt_tokens)

    async def close(self) -> None:
        if self._owns_server:
            await self._server.close()
