"""Tools of configured MCP servers, and of servers that a request names."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
import msgspec

from rightseat.errors import CallerError
from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.connection import McpConnection
from rightseat.mcp.held_calls import HeldCallLink
from rightseat.mcp.tool import has_valid_schema, make_name_prefix, make_tool, make_tool_name
from rightseat.types.messages import Message
from rightseat.types.tools import Tool, Toolset
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
REQUEST_KEYS = ("mcpServers", "mcpEndpoints")
MAX_CONNECTIONS = 32
"""Connections that are kept open at most."""
IDLE_TIMEOUT = 300.0
"""Seconds after which an unused connection is closed."""
CONNECT_TIMEOUT = 10.0
ConnectionKey = tuple[str, str, str]
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
        link: HeldCallLink | None = None,
    ) -> None:
        self.request_source = request_source
        self.link = link
        self.connections: dict[str, ConnectionTools] = {}
        self.previous = previous
        self.handed_over: set[str] = set()
        for server in servers:
            entry = previous.connections.get(server.name) if previous else None
            if entry is None or entry.connection.server != server:
                entry = ConnectionTools(McpConnection(server, link))
            self.connections[server.name] = entry

    @property
    def down(self) -> dict[str, str]:
        """Reasons of the servers that are down, by name."""
        reasons = {name: entry.connection.down_reason for name, entry in self.connections.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    async def start(self) -> None:
        """Connect to all servers; slow ones go on connecting in the background."""
        if self.previous is not None:
            entries = self.connections.items()
            self.previous.handed_over |= {name for name, e in entries if self.previous.connections.get(name) is e}
            self.previous = None
        await start_connections(self.connections.values())

    async def close(self) -> None:
        entries = (entry for name, entry in self.connections.items() if name not in self.handed_over)
        closers = [entry.connection.close() for entry in entries]
        if (close := getattr(self.request_source, "close", None)) is not None:
            closers.append(close())
        await asyncio.gather(*closers)

    def select(self, names: Sequence[str] | None = None) -> McpToolSource:
        return McpToolSource([entry for name, entry in self.connections.items() if names is None or name in names])


async def start_connections(entries: Iterable[ConnectionTools]) -> None:
    tasks = [asyncio.create_task(entry.connection.start()) for entry in entries]
    if tasks:
        _, slow = await asyncio.wait(tasks, timeout=START_TIMEOUT)
        for task in slow:
            task.cancel()


class McpToolSource(Toolset):
    """The tools of the servers that one assistant may use."""

    def __init__(self, entries: Collection[ConnectionTools]) -> None:
        self.entries = entries
        self.warned = False

    def __contains__(self, name: object, /) -> bool:
        return any(name in entry.tools for entry in self.entries)

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        # A request limited to plugins gets no MCP tools.
        if turn.plugins:
            return
        # A Runtime that was not started connects with its first turn.
        await start_connections(entry for entry in self.entries if not entry.connection.is_started)
        all_tools = {name: tool for entry in self.entries for name, tool in entry.tools.items()}
        if len(all_tools) > MAX_SHOWN_TOOLS and not self.warned:
            self.warned = True
            log.warning("MCP servers have %d tools: only the first %d are shown.", len(all_tools), MAX_SHOWN_TOOLS)
        for name in list(all_tools)[:MAX_SHOWN_TOOLS]:
            tools.setdefault(name, all_tools[name])

    async def wait_for_tools(self, names: Collection[str], /) -> None:
        for entry in self.entries:
            server = entry.connection.server
            prefix = make_name_prefix(server.name)
            if not entry.tools and any(name.startswith(prefix) for name in names):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(server.start):
                        await entry.connection.start()

    def fingerprint(self, names: Iterable[str], /) -> str:
        all_tools = {
            name: (tool.spec, tool.confirm, server.command, server.args, server.url)
            for entry in self.entries
            for server in (entry.connection.server,)
            for name, tool in entry.tools.items()
        }
        described = [all_tools[name] for name in names if name in all_tools]
        return hashlib.sha256(msgspec.json.encode(described)).hexdigest()[:16] if described else ""


class RequestMcpToolSource(McpToolSource):
    """A Toolset of servers that requests name (CopilotKit's `mcpServers` and `mcpEndpoints`): only URLs that
    the operator allows, never a command. Connections are per owner, URL and key."""

    def __init__(self, allowed_urls: Iterable[str], link: HeldCallLink | None = None) -> None:
        self.allowed_urls = frozenset(allowed_urls)
        self.link = link
        self.connections: dict[ConnectionKey, ConnectionTools] = {}
        self.last_used: dict[ConnectionKey, float] = {}
        super().__init__(self.connections.values())

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        servers = dict.fromkeys(parse_request_servers(turn.client.forwarded.properties))
        for url, _ in servers:
            if url not in self.allowed_urls:
                raise CallerError(
                    f"mcpServers: {url[:200]!r} is not allowed here. The operator names those that are in "
                    "[server] mcp_allow.",
                    param="mcpServers",
                )
        if not servers:
            return
        now = asyncio.get_running_loop().time()
        entries = [self.get_connection((turn.owner.name, url, key), now) for url, key in servers]
        await McpToolSource(entries).add_tools(tools, turn, turn_messages)
        await self.close_unused(now)

    def get_connection(self, key: ConnectionKey, now: float) -> ConnectionTools:
        self.last_used[key] = now
        if key not in self.connections:
            _, url, secret = key
            host = re.sub(r"[^A-Za-z0-9]+", "_", urlsplit(url).hostname or "mcp")[:24]
            name = f"{host}_{hashlib.sha256(url.encode()).hexdigest()[:4]}"
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            self.connections[key] = ConnectionTools(
                McpConnection(McpServerConfig(name=name, url=url, headers=headers, start=CONNECT_TIMEOUT), self.link)
            )
        return self.connections[key]

    async def close_unused(self, now: float) -> None:
        """Close idle connections and the oldest of too many; connections in use stay open."""
        by_age = sorted(self.connections, key=lambda key: self.last_used[key])
        spare = len(by_age) - MAX_CONNECTIONS
        for number, key in enumerate(by_age):
            connection = self.connections[key].connection
            is_spare = number < spare or now - self.last_used[key] > IDLE_TIMEOUT
            if is_spare and not (connection.active_calls or connection.held_calls):
                del self.connections[key], self.last_used[key]
                await connection.close()

    async def close(self) -> None:
        for entry in self.entries:
            await entry.connection.close()


def parse_request_servers(properties: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield URL and key of each server in the request's properties."""
    for key in REQUEST_KEYS:
        entries = properties.get(key)
        for item in entries if isinstance(entries, list) else ():
            match item:
                case {"endpoint": str(url)} | {"url": str(url)}:
                    secret = item.get("apiKey")
                    yield url, secret if isinstance(secret, str) else ""
                case {"command": _}:
                    raise CallerError(f"{key}: a request cannot start a program. Write [mcp.NAME].", param=key)
                case _:
                    raise CallerError(f"{key}: each needs an endpoint.", param=key)
