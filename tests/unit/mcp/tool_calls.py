"""Servers for a test, and a call of one of their tools as an engine makes it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.tool_sources import McpServers
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn
from tests.kit.app_server import serve_app
from tests.unit.mcp import things_server as program

SERVER_SCRIPT = Path(__file__).with_name("things_server.py")
TURN = Turn(messages=())


def make_stdio_config(**settings: Any) -> McpServerConfig:
    """The program beside this one, as a child."""
    given = {"name": "things", "command": sys.executable, "args": (str(SERVER_SCRIPT),), **settings}
    return McpServerConfig(**given)


@asynccontextmanager
async def connect_servers(*servers: McpServerConfig) -> AsyncIterator[McpServers]:
    connected = McpServers(servers)
    await connected.start()
    try:
        # On a busy machine a child takes longer than a start waits for it.
        for known in connected.connections.values():
            await known.connection.start()
        yield connected
    finally:
        await connected.close()


@asynccontextmanager
async def serve_over_http(app: Any) -> AsyncIterator[str]:
    """The SDK's server behind a socket; gives its address. What it opens must be closed by the task that
    opened it, and fixtures begin and end in two."""
    ready, stop = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            ready.set()
            await stop.wait()

    lifespan_task = asyncio.create_task(live())
    await ready.wait()
    try:
        async with serve_app(app) as url:
            yield f"{url}/mcp"
    finally:
        stop.set()
        await lifespan_task
        await cancel_shutdown_watchers()


async def cancel_shutdown_watchers() -> None:
    """Ends what the SDK's server leaves in the loop to watch for the process's end."""
    watchers = [task for task in asyncio.all_tasks() if "_shutdown_watcher" in repr(task.get_coro())]
    for task in watchers:
        task.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)


@asynccontextmanager
async def connect_over_http(**settings: Any) -> AsyncIterator[McpServers]:
    """The same server in this process, over HTTP: no child has to be started."""
    async with (
        serve_over_http(program.server.streamable_http_app()) as url,
        connect_servers(McpServerConfig(**{"name": "things", "url": url, **settings})) as servers,
    ):
        yield servers


async def list_tools(servers: McpServers, turn: Turn = TURN) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    await servers.select().add_tools(tools, turn, ())
    return tools


async def call_tool(
    servers: McpServers,
    name: str,
    args: dict[str, Any] | None = None,
    pause: Pause | None = None,
    answers: Sequence[Any] = (),
) -> list[Event | Result | Pause]:
    """All that a call yields; `pause` is the one that it goes on from."""
    tool = (await list_tools(servers))[f"things__{name}"]
    assert tool.call is not None
    context = ToolContext(TURN, "c", pause.state if pause else None, tuple(answers))
    async with closing(tool.call(args or {}, context)) as items:
        return [item async for item in items]


async def get_tool_result(servers: McpServers, name: str, args: dict[str, Any] | None = None, **more: Any) -> Any:
    return (await call_tool(servers, name, args, **more))[-1]
