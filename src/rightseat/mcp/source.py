"""Configured MCP servers and the ToolSource of their tools."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence

import mcp_types as types
import msgspec

from rightseat.mcp.link import McpConnection
from rightseat.mcp.server import McpServerConfig
from rightseat.mcp.tool import has_valid_schema, make_tool, make_tool_name
from rightseat.types.messages import Message
from rightseat.types.tools import Tool, Toolset
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
MAX_SHOWN_TOOLS = 128
"""MCP tools that one turn is offered at most; the rest is left out with a log line."""


START_TIMEOUT = 5.0
"""Seconds that a start waits for servers; a child started by npx takes three or four."""


class ConnectionTools:
    """The Tools of one connection, rebuilt when the server's list changes."""

    def __init__(self, connection: McpConnection) -> None:
        self.connection = connection
        self.remote_tools: tuple[types.Tool, ...] = ()
        self.tools_by_name: dict[str, Tool] = {}

    @property
    def tools(self) -> Mapping[str, Tool]:
        if self.remote_tools is not self.connection.tools:
            self.remote_tools = self.connection.tools
            self.tools_by_name = {}
            for tool in self.remote_tools:
                if not has_valid_schema(tool):
                    where = self.connection.server.name
                    log.warning("mcp %s: %s is left out: its schema cannot be used.", where, tool.name[:64])
                    continue
                name = make_tool_name(self.connection.server.name, tool.name, self.tools_by_name)
                self.tools_by_name[name] = make_tool(self.connection, tool, name)
        return self.tools_by_name


class McpServers:
    """All configured servers with one connection each, and the source of servers that requests name. A server
    whose configuration equals that in `previous` keeps its connection, which this object owns from `start`
    on."""

    def __init__(
        self,
        servers: Iterable[McpServerConfig],
        request_source: Toolset | None = None,
        previous: McpServers | None = None,
    ) -> None:
        self.request_source = request_source
        self.connections: dict[str, ConnectionTools] = {}
        self.previous = previous
        self.handed_over: set[str] = set()
        for server in servers:
            previous_tools = previous.connections.get(server.name) if previous else None
            same = previous_tools is not None and previous_tools.connection.server == server
            self.connections[server.name] = (
                previous_tools
                if previous_tools is not None and same
                else ConnectionTools(McpConnection(server))
            )

    @property
    def down(self) -> dict[str, str]:
        """Reasons of the servers that are down, by name."""
        return {
            name: one.connection.down_reason
            for name, one in self.connections.items()
            if one.connection.down_reason
        }

    async def start(self) -> None:
        """Connect to all servers; slow ones go on connecting in the background."""
        if self.previous is not None:
            self.previous.handed_over |= {
                name for name, one in self.connections.items() if self.previous.connections.get(name) is one
            }
            self.previous = None
        await start_connections(self.connections.values())

    async def close(self) -> None:
        links = [one.connection for name, one in self.connections.items() if name not in self.handed_over]
        closers = [link.close() for link in links]
        if (close := getattr(self.request_source, "close", None)) is not None:
            closers.append(close())
        await asyncio.gather(*closers)

    def select(self, names: Sequence[str] | None = None) -> McpToolSource:
        return McpToolSource(
            [one for name, one in self.connections.items() if names is None or name in names]
        )


async def start_connections(connections: Iterable[ConnectionTools]) -> None:
    tasks = [asyncio.create_task(one.connection.start()) for one in connections]
    if tasks:
        _, slow = await asyncio.wait(tasks, timeout=START_TIMEOUT)
        for task in slow:
            task.cancel()


class McpToolSource:
    """A ToolSource of the servers that one assistant may use."""

    suggestions: tuple[str, ...] = ()

    def __init__(self, connections: Sequence[ConnectionTools]) -> None:
        self.connections = tuple(connections)
        self.warned = False

    def __contains__(self, name: object, /) -> bool:
        return any(name in one.tools for one in self.connections)

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def with_default_question(self, turn: Turn, /) -> Turn:
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        # A request limited to plugins gets no MCP tools.
        if turn.plugins:
            return
        # A Runtime that was not started connects with its first turn.
        await start_connections(one for one in self.connections if not one.connection.is_started)
        all_tools = {name: tool for one in self.connections for name, tool in one.tools.items()}
        if len(all_tools) > MAX_SHOWN_TOOLS and not self.warned:
            self.warned = True
            log.warning(
                "MCP servers have %d tools: only the first %d are shown.", len(all_tools), MAX_SHOWN_TOOLS
            )
        for name in list(all_tools)[:MAX_SHOWN_TOOLS]:
            tools.setdefault(name, all_tools[name])

    def fingerprint(self, names: Iterable[str], /) -> str:
        all_tools = {
            name: (one.connection.server, tool)
            for one in self.connections
            for name, tool in one.tools.items()
        }
        described = [
            (tool.spec, tool.confirm, server.command, server.args, server.url)
            for server, tool in (all_tools[name] for name in names if name in all_tools)
        ]
        return hashlib.sha256(msgspec.json.encode(described)).hexdigest()[:16] if described else ""
