"""MCP servers that a request names (CopilotKit's `mcpServers` and `mcpEndpoints`): only URLs that the
operator allows, never a command."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from rightseat.errors import CallerError
from rightseat.mcp.link import McpConnection
from rightseat.mcp.server import McpServerConfig
from rightseat.mcp.source import ConnectionTools, McpToolSource
from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

REQUEST_KEYS = ("mcpServers", "mcpEndpoints")
MAX_CONNECTIONS = 32
"""Connections that are kept open at most."""
IDLE_TIMEOUT = 300.0
"""Seconds after which an unused connection is closed."""
CONNECT_TIMEOUT = 10.0
ConnectionKey = tuple[str, str, str]


class RequestMcpToolSource:
    """A ToolSource of servers that requests name. Connections are per owner, URL and key."""

    suggestions: tuple[str, ...] = ()

    def __init__(self, allowed_urls: Iterable[str]) -> None:
        self.allowed_urls = frozenset(allowed_urls)
        self.connections: dict[ConnectionKey, ConnectionTools] = {}
        self.last_used: dict[ConnectionKey, float] = {}

    def __contains__(self, name: object, /) -> bool:
        return any(name in one.tools for one in self.connections.values())

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def with_default_question(self, turn: Turn, /) -> Turn:
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        servers = dict.fromkeys(parse_request_servers(turn.forwarded.properties))
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
        connections = [self.get_connection((turn.owner.name, url, key), now) for url, key in servers]
        await McpToolSource(connections).add_tools(tools, turn, said)
        await self.close_unused(now)

    def get_connection(self, key: ConnectionKey, now: float) -> ConnectionTools:
        self.last_used[key] = now
        if key not in self.connections:
            _, url, secret = key
            host = re.sub(r"[^A-Za-z0-9]+", "_", urlsplit(url).hostname or "mcp")[:24]
            name = f"{host}_{hashlib.sha256(url.encode()).hexdigest()[:4]}"
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            self.connections[key] = ConnectionTools(
                McpConnection(McpServerConfig(name=name, url=url, headers=headers, start=CONNECT_TIMEOUT))
            )
        return self.connections[key]

    async def close_unused(self, now: float) -> None:
        """Close idle connections and the oldest of too many; connections in use stay open."""
        by_age = sorted(self.connections, key=lambda key: self.last_used[key])
        spare = len(by_age) - MAX_CONNECTIONS
        for number, key in enumerate(by_age):
            link = self.connections[key].connection
            if (number < spare or now - self.last_used[key] > IDLE_TIMEOUT) and not (
                link.active_calls or link.held_calls
            ):
                del self.connections[key], self.last_used[key]
                await link.close()

    def fingerprint(self, names: Iterable[str], /) -> str:
        return McpToolSource(list(self.connections.values())).fingerprint(names)

    async def close(self) -> None:
        for one in self.connections.values():
            await one.connection.close()


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
                    raise CallerError(
                        f"{key}: a request cannot start a program. Write [mcp.NAME].", param=key
                    )
                case _:
                    raise CallerError(f"{key}: each needs an endpoint.", param=key)
