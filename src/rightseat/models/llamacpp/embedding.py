"""Embeddings from a local model, by a second llama-server that starts with the first request."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from rightseat.errors import CallerError
from rightseat.models.llamacpp.client import LlamaServerClient

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
            raise CallerError("dimensions: a local model's vectors have one length.", param="dimensions")
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
        raise CallerError("input: texts and tokens do not go together. Send one kind.", param="input")
