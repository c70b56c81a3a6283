"""A real MCP server by the SDK, over stdio where it is run: what it does is said by its tools' names."""

import asyncio
import os
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("things", log_level="ERROR")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Colour(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("the disk is full")


@server.tool()
def environment() -> dict[str, str]:
    """What the process finds in its environment."""
    return dict(os.environ)


@server.tool()
def picture() -> list[TextContent | ImageContent]:
    """Draws."""
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    return [TextContent(type="text", text="Here."), image]


@server.tool()
async def slow(ctx: Context, steps: int = 3) -> str:
    """Takes its time and tells how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def hang() -> str:
    """Never ends."""
    print("hang begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        print("hang was cancelled", file=sys.stderr, flush=True)
        raise
    return "never"


def elicit_colour() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool()
async def paint(colour: Annotated[Colour, Resolve(elicit_colour)]) -> str:
    """Asks which colour, as its era does."""
    return f"painted {colour.colour}"


@server.tool()
async def stroke(ctx: Context) -> str:
    """Asks in the middle of the call: the older era's way."""
    print("stroke begins", file=sys.stderr, flush=True)
    found = await ctx.elicit("Which colour?", Colour)
    return f"painted {found.data.colour}" if found.action == "accept" else f"not painted: {found.action}"


@server.tool()
async def grow(ctx: Context) -> str:
    """Gets another tool, and says so as its era does."""
    server.add_tool(look, name="grown")
    await ctx.notify_tools_changed()
    if ctx.protocol_version != "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    """Removes everything."""
    return "all gone"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> str:
    """Looks."""
    return "seen"


if __name__ == "__main__":
    print("things are ready", os.environ.get("TOKEN", ""), file=sys.stderr, flush=True)
    server.run("stdio")
