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
from tests.kit.house import serving
from tests.unit.mcp import serving as program

PROGRAM = Path(__file__).with_name("serving.py")
TURN = Turn(messages=())


def things(**settings: Any) -> McpServerConfig:
    """The program beside this one, as a child."""
    given = {"name": "things", "command": sys.executable, "args": (str(PROGRAM),), **settings}
    return McpServerConfig(**given)


@asynccontextmanager
async def started(*servers: McpServerConfig) -> AsyncIterator[McpServers]:
    made = McpServers(servers)
    await made.start()
    try:
        # On a busy machine a child takes longer than a start waits for it.
        for known in made.connections.values():
            await known.connection.start()
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def over_http(app: Any) -> AsyncIterator[str]:
    """The SDK's server behind a socket; gives its address. What it opens must be closed by the task that
    opened it, and fixtures begin and end in two."""
    open_, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            open_.set()
            await over.wait()

    living = asyncio.create_task(live())
    await open_.wait()
    try:
        async with serving(app) as url:
            yield f"{url}/mcp"
    finally:
        over.set()
        await living
        await unwatched()


async def unwatched() -> None:
    """Ends what the SDK's server leaves in the loop to watch for the process's end."""
    watchers = [task for task in asyncio.all_tasks() if "_shutdown_watcher" in repr(task.get_coro())]
    for task in watchers:
        task.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)


@asynccontextmanager
async def near(**settings: Any) -> AsyncIterator[McpServers]:
    """The same server in this process, over HTTP: no child has to be started."""
    async with (
        over_http(program.server.streamable_http_app()) as url,
        started(McpServerConfig(**{"name": "things", "url": url, **settings})) as made,
    ):
        yield made


async def offered(servers: McpServers, turn: Turn = TURN) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    await servers.select().add_tools(tools, turn, ())
    return tools


async def seen(
    servers: McpServers,
    name: str,
    args: dict[str, Any] | None = None,
    pause: Pause | None = None,
    answers: Sequence[Any] = (),
) -> list[Event | Result | Pause]:
    """All that a call yields; `pause` is the one that it goes on from."""
    tool = (await offered(servers))[f"things__{name}"]
    assert tool.call is not None
    context = ToolContext(TURN, "c", pause.state if pause else None, tuple(answers))
    async with closing(tool.call(args or {}, context)) as items:
        return [item async for item in items]


async def last(servers: McpServers, name: str, args: dict[str, Any] | None = None, **more: Any) -> Any:
    return (await seen(servers, name, args, **more))[-1]
