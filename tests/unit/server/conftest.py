"""A server in this process: our uvicorn, the real App, and one small door that streams a model's text."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from rightseat.config.load import load_config
from rightseat.errors import RightseatError
from rightseat.http.endpoint import Door, Host, Request, Route, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.models import scripted
from rightseat.server.app import App
from rightseat.server.service import Service, make_authenticator, open_listener
from rightseat.server.uvicorn_server import UvicornServer
from rightseat.types.events import RunFailed, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from tests.kit.timeouts import HANG_TIMEOUT


async def _stream_text(request: Request, host: Host) -> Reply:
    turn = Turn(messages=(text_message("user", request.body.decode()),), owner=request.owner)
    yield ResponseStart(200)
    async with closing(host.run(turn)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                yield event.text.encode()
            elif isinstance(event, RunFailed):
                yield f"!{event.code}".encode()


def _refuse(error: RightseatError) -> Reply:
    return make_reply(error.status, error.code.encode())


DOOR = Door("say", (Route("POST", "/say", _stream_text),), _refuse, lambda base: f"{base}/say")


@dataclass
class RunningServer:
    server: UvicornServer
    service: Service
    port: int
    config: Path
    task: asyncio.Task[None]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send_raw(self, data: bytes) -> bytes:
        """Everything that comes back until the server closes the connection."""
        reader, writer = await self.connect()
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(), HANG_TIMEOUT)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def get(self, path: str) -> bytes:
        return await self.send_raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    def format_say_request(self, text: str) -> bytes:
        head = f"POST /say HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(text)}\r\n"
        return f"{head}\r\n\r\n{text}".encode()


ServeConfig = Callable[..., AbstractAsyncContextManager[RunningServer]]


def write_script(folder: Path, text: str, pace_ms: int = 0) -> str:
    """A model that says `text` token by token, as a line of rightseat.toml."""
    file = folder / f"{abs(hash((text, pace_ms)))}.json"
    file.write_text(json.dumps({"turns": [{"when": {}, "say": text.split(), "pace_ms": pace_ms}]}))
    return f'[models.main]\nspec = "scripted:{file}"\n'


@pytest.fixture
def release_stream(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Scripts with a pace say one word, and the others when this is set."""
    released, started = asyncio.Event(), set[asyncio.Task[None] | None]()

    async def sleep(seconds: float) -> None:
        task = asyncio.current_task()
        if seconds and task in started:
            await released.wait()
        started.add(task)
        await asyncio.sleep(0)

    monkeypatch.setattr(scripted, "asyncio", SimpleNamespace(sleep=sleep))
    return released


@pytest.fixture
def serve(tmp_path: Path) -> ServeConfig:
    @contextlib.asynccontextmanager
    async def serving(toml: str = "") -> AsyncIterator[RunningServer]:
        path = tmp_path / "rightseat.toml"
        # The default model has weights that would have to be fetched.
        path.write_text(toml if "[models" in toml else f"{toml}\n{write_script(tmp_path, 'hello')}")

        config = load_config(path, env={})
        app = App(build_runtime(config), config.server, [DOOR], authenticate=make_authenticator(config))
        ready = asyncio.Event()
        service = Service(app, config, lambda: load_config(path, env={}))
        server = UvicornServer(service, config.server, ready.set)
        with open_listener("127.0.0.1", 0) as listener:
            port = listener.getsockname()[1]
            task = asyncio.create_task(server.serve(sockets=[listener]))
            await asyncio.wait_for(ready.wait(), HANG_TIMEOUT)
            try:
                yield RunningServer(server, service, port, path, task)
            finally:
                server.should_exit = True
                server.exiting.set()
                await asyncio.wait_for(task, HANG_TIMEOUT)

    return serving
