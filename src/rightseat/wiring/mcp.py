"""MCP servers from [mcp.NAME], and the assistants that may use them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rightseat.config.settings import Config, McpSettings
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import Sources
from rightseat.errors import ConfigError
from rightseat.types.nearest import nearest
from rightseat.types.tools import ToolSource

if TYPE_CHECKING:
    from rightseat.mcp.source import Servers

DEFAULT = "default"


def servers_of(config: Config, before: Servers | None = None) -> Servers | None:
    """Make the configured MCP servers; one unchanged since `previous` keeps its connection."""
    if not config.mcp and not config.server.mcp_allow:
        return None
    try:
        from rightseat.mcp.server import Server
        from rightseat.mcp.source import Servers
        from rightseat.mcp.visitors import Visitors
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"[mcp] in {config.path} needs {error.name!r}, which is not installed. "
            "Install it: pip install 'rightseat[mcp]'"
        ) from error

    def server(name: str, settings: McpSettings) -> Server:
        return Server(
            name=name,
            command=settings.command,
            args=settings.args,
            env={key: value.reveal() for key, value in settings.env.items()},
            folder=config.folder.resolve(),
            url=settings.url,
            headers={key: value.reveal() for key, value in settings.headers.items()},
            older=settings.older,
            timeout=settings.timeout,
            start=settings.start,
            refresh=settings.refresh,
            confirm=settings.confirm,
            tools=settings.tools,
        )

    allowed = config.server.mcp_allow
    visitors = Visitors(allowed) if allowed else None
    return Servers((server(name, one) for name, one in config.mcp.items()), visitors, before)


def supplied(
    assistants: dict[str, Assistant], config: Config, before: Servers | None
) -> tuple[dict[str, Assistant], Servers | None]:
    """Attach to each assistant the MCP servers it may use, by default all; returns both."""
    servers = servers_of(config, before)
    if servers is None:
        return assistants, None
    return {name: _supplied(one, servers, config) for name, one in assistants.items()}, servers


def _supplied(assistant: Assistant, servers: Servers, config: Config) -> Assistant:
    settings = config.assistants.get(assistant.name)
    if config.assistants and settings is None:
        if assistant.name != DEFAULT:
            return assistant  # a plain model, addressed by its name
        settings = next(iter(config.assistants.values()))
    mine = settings.mcp if settings else None
    for name in mine or ():
        if name not in servers.known:
            near = nearest(name, servers.known)
            hint = f"Did you mean {near!r}?" if near else f"Write [mcp.{name}]."
            where = f"[assistants.{assistant.name}] in {config.path}"
            raise ConfigError(f"{where}: mcp: there is no server {name!r}. {hint}")
    every: list[ToolSource] = [assistant.source] if assistant.source is not None else []
    if mine is None or mine:
        every.append(servers.view(mine))
    if servers.visitors is not None:
        every.append(servers.visitors)
    if not every:
        return assistant
    return replace(assistant, source=every[0] if len(every) == 1 else Sources(every))
