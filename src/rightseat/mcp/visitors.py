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
from rightseat.mcp.link import Link
from rightseat.mcp.server import Server
from rightseat.mcp.source import Known, View
from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

KEYS = ("mcpServers", "mcpEndpoints")
MOST = 32
"""Connections that are kept open at most."""
IDLE = 300.0
"""Seconds after which an unused connection is closed."""
PATIENCE = 10.0
Key = tuple[str, str, str]


class Visitors:
    """A ToolSource of servers that requests name. Connections are per owner, URL and key."""

    questions: tuple[str, ...] = ()

    def __init__(self, allow: Iterable[str]) -> None:
        self.allow = frozenset(allow)
        self.known: dict[Key, Known] = {}
        self.used: dict[Key, float] = {}

    def __contains__(self, name: object, /) -> bool:
        return any(name in one.tools for one in self.known.values())

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def asked(self, turn: Turn, /) -> Turn:
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        wanted = dict.fromkeys(named(turn.forwarded.properties))
        for url, _ in wanted:
            if url not in self.allow:
                raise CallerError(
                    f"mcpServers: {url[:200]!r} is not allowed here. The operator names those that are in "
                    "[server] mcp_allow.",
                    param="mcpServers",
                )
        if not wanted:
            return
        now = asyncio.get_running_loop().time()
        found = [self.at((turn.owner.name, url, key), now) for url, key in wanted]
        await View(found).offer(tools, turn, said)
        await self.tidy(now)

    def at(self, key: Key, now: float) -> Known:
        self.used[key] = now
        if key not in self.known:
            _, url, secret = key
            host = re.sub(r"[^A-Za-z0-9]+", "_", urlsplit(url).hostname or "mcp")[:24]
            name = f"{host}_{hashlib.sha256(url.encode()).hexdigest()[:4]}"
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            self.known[key] = Known(Link(Server(name=name, url=url, headers=headers, start=PATIENCE)))
        return self.known[key]

    async def tidy(self, now: float) -> None:
        """Close idle connections and the oldest of too many; connections in use stay open."""
        by_age = sorted(self.known, key=lambda key: self.used[key])
        spare = len(by_age) - MOST
        for number, key in enumerate(by_age):
            link = self.known[key].link
            if (number < spare or now - self.used[key] > IDLE) and not (link.flights or link.held):
                del self.known[key], self.used[key]
                await link.close()

    def digest(self, names: Iterable[str], /) -> str:
        return View(list(self.known.values())).digest(names)

    async def close(self) -> None:
        for one in self.known.values():
            await one.link.close()


def named(properties: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield URL and key of each server in the request's properties."""
    for key in KEYS:
        listed = properties.get(key)
        for item in listed if isinstance(listed, list) else ():
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
