"""One engine for several workers: the supervisor of `serve --workers` starts it, and each worker asks for its address.

A worker holds one connection to the supervisor's socket for each engine that it uses; the supervisor stops the engine
when the last one closes. Slots are chosen by the engine: no worker knows what the others have in them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from rightseat.config.secret import Secret
from rightseat.errors import Incomplete, LocalModelDied, LocalModelNotStarted, UpstreamRefused
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import ChatEvent, ChunkT, CompletionChunk, LlamaServerClient
from rightseat.models.llamacpp.process import EngineAddress, SupervisionPolicy
from rightseat.types.streams import closing

ENGINES_VARIABLE = "RIGHTSEAT_ENGINES"
"""The variable of a worker's environment that has the path of the supervisor's socket."""


class EngineRequest(Struct, frozen=True):
    """The first line to the supervisor. Each further line is an AddressRequest."""

    launch: LaunchOptions
    policy: SupervisionPolicy

    def encode(self) -> bytes:
        return json.encode(self, enc_hook=str) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> EngineRequest:
        return json.decode(line, type=cls, dec_hook=lambda kind, value: kind(value))


class AddressRequest(Struct, frozen=True):
    """Ask for the engine's address. `lost`: its connection broke, so its process may have ended."""

    lost: bool = False


class EngineReply(Struct, frozen=True, omit_defaults=True):
    address: EngineAddress | None = None
    died: str = ""
    failed: str = ""
    """Why the engine could not be started."""


def find_engines_socket() -> Path | None:
    """Return the supervisor's socket where this process is one of several workers."""
    path = os.environ.get(ENGINES_VARIABLE)
    return Path(path) if path else None


class BrokeredServer:
    """An engine that the supervisor runs for all workers."""

    pid = None

    def __init__(self, launch: LaunchOptions, policy: SupervisionPolicy, path: Path) -> None:
        self.launch = launch
        self._policy = policy
        self._path = path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._asking = asyncio.Lock()
        self._unread = 0
        """Replies that are on their way: whoever stopped waiting for one has left it."""
        self._address: EngineAddress | None = None
        self._client: LlamaServerClient | None = None

    @property
    def ready(self) -> bool:
        return self._client is not None

    async def start(self) -> None:
        """Let the supervisor start the engine, or join it; raises LocalModelNotStarted if it cannot be loaded."""
        try:
            self._streams = await asyncio.open_unix_connection(self._path)
            self._unread = 0
            self._streams[1].write(EngineRequest(self.launch, self._policy).encode())
            await self._ask()
        except OSError as error:
            raise LocalModelNotStarted(f"The supervisor does not answer: {error.strerror}. Start again.") from error

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def client(self) -> LlamaServerClient:
        if self._client is None:
            raise LocalModelDied("The local model's process is gone: try again.", retry_after=1)
        return self._client

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        return self._stream(lambda client: client.stream_completion(request))

    def stream_chat(self, request: dict[str, Any]) -> AsyncIterator[ChatEvent]:
        return self._stream(lambda client: client.stream_chat(request))

    async def _stream(self, send: Callable[[LlamaServerClient], AsyncIterator[ChunkT]]) -> AsyncIterator[ChunkT]:
        """Stream an answer; raises LocalModelDied if the process dies."""
        while True:
            address, client = self._address, await self.client()
            try:
                async with closing(send(client)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except UpstreamRefused:
                # The process died before it saw the request, so the next one can take it.
                if await self._ask(lost=address) == address:
                    raise
            except Incomplete:
                # No retry: the request itself may crash the process.
                if await self._ask(lost=address) == address:
                    raise
                words = "The local model's process died while it answered: try again."
                raise LocalModelDied(words, retry_after=1) from None

    async def _ask(self, lost: EngineAddress | None = None) -> EngineAddress | None:
        """Return the engine's address now; waits while it starts. `lost`: the one whose connection broke."""
        async with self._asking:
            if lost is not None and lost != self._address:
                # Another answer has asked already.
                return self._address
            reply = await self._exchange(AddressRequest(lost is not None))
            if reply.failed:
                raise LocalModelNotStarted(reply.failed)
            if reply.address is None:
                raise LocalModelDied(reply.died)
            if reply.address != self._address:
                self._set_address(reply.address)
            return self._address

    async def _exchange(self, request: AddressRequest) -> EngineReply:
        if self._streams is None:
            raise LocalModelNotStarted("The local model is not started, or was closed.")
        reader, writer = self._streams
        writer.write(json.encode(request) + b"\n")
        self._unread += 1
        line = b""
        while self._unread:
            line = await reader.readline()
            if not line:
                raise LocalModelDied("The supervisor has ended, and the local model with it.")
            self._unread -= 1
        return json.decode(line, type=EngineReply)

    def _set_address(self, address: EngineAddress) -> None:
        # The old client has no connection that is worth closing: its process has ended.
        self._address = address
        self._client = LlamaServerClient(
            address.url, Secret(address.key), own_server=self.launch.binary is None, timeouts=self._policy.timeouts
        )
