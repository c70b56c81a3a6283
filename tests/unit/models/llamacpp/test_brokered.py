"""An engine of the supervisor, as a worker asks for it."""

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec import json

from rightseat.models.llamacpp.brokered import BrokeredServer, EngineReply
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.process import EngineAddress, SupervisionPolicy

pytestmark = [pytest.mark.io, pytest.mark.skipif(sys.platform == "win32", reason="workers need Unix sockets")]


@pytest.mark.demand("scale.one_local_model_for_all")
async def test_who_stops_waiting_leaves_no_answer_to_the_next(tmp_path: Path) -> None:
    asked: asyncio.Queue[int] = asyncio.Queue()
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        number = 0
        while await reader.readline():
            number += 1
            asked.put_nowait(number)
            if number == 2:
                await go_on.wait()
            writer.write(json.encode(EngineReply(EngineAddress(f"http://127.0.0.1:{number}", "key"))) + b"\n")
        writer.close()

    async with await asyncio.start_unix_server(serve, tmp_path / "engines"):
        server = BrokeredServer(LaunchOptions(Path("model.gguf")), SupervisionPolicy(), tmp_path / "engines")
        await server.start()
        first = server._address
        leaving = asyncio.create_task(server._ask(lost=first))
        while await asked.get() != 2:
            pass
        leaving.cancel()
        await asyncio.wait([leaving])
        go_on.set()
        assert await server._ask(lost=first) == EngineAddress("http://127.0.0.1:3", "key")
        await server.close()
