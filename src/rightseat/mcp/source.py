"""Configured MCP servers and the ToolSource of their tools."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence

import mcp_types as types
import msgspec

from rightseat.mcp.link import Link
from rightseat.mcp.server import Server
from rightseat.mcp.tool import named, tool_of, usable
from rightseat.types.messages import Message
from rightseat.types.tools import Tool, ToolSource
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
SHOWN = 128
"""MCP tools that one turn is offered at most; the rest is left out with a log line."""


PATIENCE = 5.0
"""Seconds that a start waits for servers; a child started by npx takes three or four."""


class Known:
    """The Tools of one connection, rebuilt when the server's list changes."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.listed: tuple[types.Tool, ...] = ()
        self.made: dict[str, Tool] = {}

    @property
    def tools(self) -> Mapping[str, Tool]:
        if self.listed is not self.link.tools:
            self.listed = self.link.tools
            self.made = {}
            for tool in self.listed:
                if not usable(tool):
                    where = self.link.server.name
                    log.warning("mcp %s: %s is left out: its schema cannot be used.", where, tool.name[:64])
                    continue
                name = named(self.link.server.name, tool.name, self.made)
                self.made[name] = tool_of(self.link, tool, name)
        return self.made


class Servers:
    """All configured servers with one connection each, and the source of servers that requests name. A server
    whose configuration equals that in `previous` keeps its connection, which this object owns from `start`
    on."""

    def __init__(
        self,
        servers: Iterable[Server],
        visitors: ToolSource | None = None,
        before: Servers | None = None,
    ) -> None:
        self.visitors = visitors
        self.known: dict[str, Known] = {}
        self.before = before
        self.handed: set[str] = set()
        for server in servers:
            kept = before.known.get(server.name) if before else None
            same = kept is not None and kept.link.server == server
            self.known[server.name] = kept if kept is not None and same else Known(Link(server))

    @property
    def down(self) -> dict[str, str]:
        """Reasons of the servers that are down, by name."""
        return {name: one.link.down for name, one in self.known.items() if one.link.down}

    async def start(self) -> None:
        """Connect to all servers; slow ones go on connecting in the background."""
        if self.before is not None:
            self.before.handed |= {
                name for name, one in self.known.items() if self.before.known.get(name) is one
            }
            self.before = None
        await reached(self.known.values())

    async def close(self) -> None:
        links = [one.link for name, one in self.known.items() if name not in self.handed]
        closers = [link.close() for link in links]
        if (close := getattr(self.visitors, "close", None)) is not None:
            closers.append(close())
        await asyncio.gather(*closers)

    def view(self, names: Sequence[str] | None = None) -> View:
        return View([one for name, one in self.known.items() if names is None or name in names])


async def reached(known: Iterable[Known]) -> None:
    tasks = [asyncio.create_task(one.link.start()) for one in known]
    if tasks:
        _, slow = await asyncio.wait(tasks, timeout=PATIENCE)
        for task in slow:
            task.cancel()


class View:
    """A ToolSource of the servers that one assistant may use."""

    questions: tuple[str, ...] = ()

    def __init__(self, known: Sequence[Known]) -> None:
        self.known = tuple(known)
        self.said = False

    def __contains__(self, name: object, /) -> bool:
        return any(name in one.tools for one in self.known)

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def asked(self, turn: Turn, /) -> Turn:
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        # A request limited to plugins gets no MCP tools.
        if turn.plugins:
            return
        # A Runtime that was not started connects with its first turn.
        await reached(one for one in self.known if not one.link.begun)
        every = {name: tool for one in self.known for name, tool in one.tools.items()}
        if len(every) > SHOWN and not self.said:
            self.said = True
            log.warning("MCP servers have %d tools: only the first %d are shown.", len(every), SHOWN)
        for name in list(every)[:SHOWN]:
            tools.setdefault(name, every[name])

    def digest(self, names: Iterable[str], /) -> str:
        every = {name: (one.link.server, tool) for one in self.known for name, tool in one.tools.items()}
        told = [
            (tool.spec, tool.confirm, server.command, server.args, server.url)
            for server, tool in (every[name] for name in names if name in every)
        ]
        return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16] if told else ""
