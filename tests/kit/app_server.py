"""A Runtime behind its real HTTP server, in the test's own loop: sockets are real, models are the test's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from rightseat.config.settings import ServerSettings
from rightseat.http.auth import Authenticator
from rightseat.server.app import App
from rightseat.server.uvicorn_protocol import LimitedHttpProtocol
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from rightseat.wiring.lookup import load_all
from rightseat.wiring.runtime import Runtime
from tests.kit.waiting import wait_until

ModelReply = Iterable[ModelChunk] | Callable[[Prompt], AsyncIterator[ModelChunk]]


class FakeModel(Model):
    """A model that says the given lines, one per model call, and keeps what it was asked."""

    def __init__(self, *replies: ModelReply) -> None:
        self.replies = list(replies)
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        reply = self.replies.pop(0)
        if callable(reply):
            async with closing(reply(prompt)) as chunks:
                async for chunk in chunks:
                    yield chunk
        else:
            for chunk in reply:
                yield chunk


def reply_text(*texts: str, finish: str = "stop") -> list[ModelChunk]:
    return [*(TextChunk(text) for text in texts), FinishChunk(finish)]  # type: ignore[arg-type]


def reply_calls(*pairs: tuple[str, str], text: str = "", enforced: bool = False) -> list[ModelChunk]:
    """A model turn that calls tools: (name, arguments as JSON text) each."""
    chunks: list[ModelChunk] = [TextChunk(text)] if text else []
    for index, (name, arguments) in enumerate(pairs):
        chunks += [ToolCallStart(index, name, enforced), ToolCallArgs(index, arguments)]
    return [*chunks, FinishChunk("calls")]


@dataclass(frozen=True, slots=True)
class AppServer:
    url: str
    app: App


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    """Any ASGI app behind the protocol that `rightseat serve` uses; gives its URL."""
    config = uvicorn.Config(
        app,
        port=0,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        http=LimitedHttpProtocol,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        await shut_down_server(server)


async def shut_down_server(server: uvicorn.Server) -> None:
    """As uvicorn's own shutdown, but it looks every millisecond and not every tenth of a second: nearly all
    that these tests would do otherwise is wait for it."""
    for listener in server.servers:
        listener.close()
    state = server.server_state
    for connection in list(state.connections):
        connection.shutdown()
    await wait_until(lambda: not (state.connections or state.tasks))
    for listener in server.servers:
        await listener.wait_closed()
    # Transports that were closed say so to their loop one step later.
    await asyncio.sleep(0)


@asynccontextmanager
async def serve_runtime(
    runtime: Runtime, settings: ServerSettings | None = None, authenticate: Authenticator | None = None
) -> AsyncIterator[AppServer]:
    settings = settings or ServerSettings(port=0)
    app = App(runtime, settings, load_all("doors"), authenticate=authenticate)
    try:
        async with serve_app(app) as url:
            yield AppServer(url, app)
    finally:
        await runtime.close()
