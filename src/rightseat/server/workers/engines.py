"""Engines of local models that all workers share: the supervisor starts each once and stops it after its last user."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from msgspec import DecodeError, json

from rightseat.errors import LocalModelDied, LocalModelNotStarted

ENGINES_SOCKET = "engines"


class EngineBroker:
    """Serves the socket on which workers ask for engines."""

    def __init__(self, run_folder: Path) -> None:
        self.path = run_folder / ENGINES_SOCKET
        self._users: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until it is cancelled. No engine runs then."""
        server = await asyncio.start_unix_server(self._accept, self.path)
        try:
            async with server:
                await server.serve_forever()
        finally:
            for task in self._users:
                task.cancel()
            await asyncio.gather(*self._users, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve_user(reader, writer))
        self._users.add(task)
        task.add_done_callback(self._users.discard)

    async def _serve_user(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep an engine for one worker until it closes its connection, or is killed."""
        # Imported here: servers without a local model need nothing of it.
        from rightseat.models.llamacpp.brokered import AddressRequest, EngineReply, EngineRequest
        from rightseat.models.llamacpp.supervision import SharedServer

        with contextlib.closing(writer), contextlib.suppress(OSError, DecodeError):
            request = EngineRequest.decode(await reader.readline())
            engine = SharedServer(request.launch, request.policy)
            try:
                while line := await reader.readline():
                    asked = json.decode(line, type=AddressRequest)
                    try:
                        await engine.start()
                        reply = EngineReply(await engine.find_address(lost=asked.lost))
                    except LocalModelNotStarted as error:
                        reply = EngineReply(failed=error.message)
                    except LocalModelDied as error:
                        reply = EngineReply(died=error.message)
                    writer.write(json.encode(reply) + b"\n")
                    await writer.drain()
            finally:
                await engine.close()
