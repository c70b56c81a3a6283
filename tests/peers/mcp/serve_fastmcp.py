"""A FastMCP server: over stdio, or with `http` over HTTP on a free port, which it says."""

import asyncio
import importlib
import socket
import sys
from dataclasses import dataclass
from typing import Any

# Installed in this peer's own environment only, so the project's type checker cannot know them.
fastmcp: Any = importlib.import_module("fastmcp")
context: Any = importlib.import_module("fastmcp.server.dependencies").get_context
ToolError: Any = importlib.import_module("fastmcp.exceptions").ToolError
uvicorn: Any = importlib.import_module("uvicorn")

server: Any = fastmcp.FastMCP("peer")


@dataclass
class Colour:
    colour: str


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail() -> str:
    """Fails."""
    raise ToolError("the disk is full")


async def slow() -> str:
    """Tells how far it is."""
    await context().report_progress(progress=1, total=2, message="half")
    return "done"


async def paint() -> str:
    """Asks which colour, in the middle of the call."""
    answer = await context().elicit("Which colour?", response_type=Colour)
    return f"painted {answer.data.colour}" if answer.action == "accept" else f"not: {answer.action}"


def wipe() -> str:
    """Removes everything."""
    return "all gone"


for function in (add, fail, slow, paint):
    server.tool(function)
server.tool(wipe, annotations={"destructiveHint": True})


def over_http() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.http_app(), log_level="error")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        over_http()
    else:
        server.run(show_banner=False)
