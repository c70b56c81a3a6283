"""MCP servers from [mcp.NAME], and the assistants that may use them.

Agent sources from [agents.NAME].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rightseat.config.settings import AgentSettings, Config, McpSettings
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import CombinedToolset, RemoteActions
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource
from rightseat.types.text import closest_match
from rightseat.types.tools import Toolset
from rightseat.wiring.registry import find, reveal_secrets

if TYPE_CHECKING:
    from rightseat.mcp.tool_sources import McpServers


DEFAULT_ASSISTANT = "default"


def make_mcp_servers(config: Config, previous: McpServers | None = None) -> McpServers | None:
    """Make the configured MCP servers; one unchanged since `previous` keeps its connection."""
    if not config.mcp and not config.server.mcp_allow:
        return None
    try:
        from rightseat.mcp.connect import McpServerConfig
        from rightseat.mcp.tool_sources import McpServers, RequestMcpToolSource
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"[mcp] in {config.path} needs {error.name!r}, which is not installed. "
            "Install it: pip install 'rightseat[mcp]'"
        ) from error

    def make_server(name: str, settings: McpSettings) -> McpServerConfig:
        return McpServerConfig(
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
    visitors = RequestMcpToolSource(allowed) if allowed else None
    return McpServers((make_server(name, one) for name, one in config.mcp.items()), visitors, previous)


def attach_mcp_servers(
    assistants: dict[str, Assistant], config: Config, previous: McpServers | None
) -> tuple[dict[str, Assistant], McpServers | None]:
    """Attach to each assistant the MCP servers it may use, by default all; returns both."""
    servers = make_mcp_servers(config, previous)
    if servers is None:
        return assistants, None
    return {name: _attach_allowed_servers(one, servers, config) for name, one in assistants.items()}, servers


def _attach_allowed_servers(assistant: Assistant, servers: McpServers, config: Config) -> Assistant:
    settings = config.assistants.get(assistant.name)
    if config.assistants and settings is None:
        if assistant.name != DEFAULT_ASSISTANT:
            return assistant  # a plain model, addressed by its name
        settings = next(iter(config.assistants.values()))
    allowed = settings.mcp if settings else None
    for name in allowed or ():
        if name not in servers.connections:
            near = closest_match(name, servers.connections)
            hint = f"Did you mean {near!r}?" if near else f"Write [mcp.{name}]."
            where = f"[assistants.{assistant.name}] in {config.path}"
            raise ConfigError(f"{where}: mcp: there is no server {name!r}. {hint}")
    tool_sources: list[Toolset] = [assistant.toolset] if assistant.toolset is not None else []
    if allowed is None or allowed:
        tool_sources.append(servers.select(allowed))
    if servers.request_source is not None:
        tool_sources.append(servers.request_source)
    if not tool_sources:
        return assistant
    return replace(assistant, toolset=tool_sources[0] if len(tool_sources) == 1 else CombinedToolset(tool_sources))


COPILOTKIT_KIND = "copilotkit"


def attach_remote_actions(
    assistants: Mapping[str, Assistant], sources: Sequence[AgentSource], config: Config
) -> dict[str, Assistant]:
    """Attach the actions of CopilotKit endpoints to every assistant, as CopilotKit's runtime does."""
    if not any(agent.kind == COPILOTKIT_KIND for agent in config.agents.values()):
        return dict(assistants)
    actions = RemoteActions(sources)
    return {
        name: replace(one, toolset=CombinedToolset([one.toolset, actions]) if one.toolset else actions)
        for name, one in assistants.items()
    }


def make_agent_sources(config: Config) -> Iterator[AgentSource]:
    """Yield an agent source for each table; none connects before it is started."""
    for name, settings in config.agents.items():
        if name in config.assistants:
            raise ConfigError(
                f"[agents.{name}] in {config.path}: an assistant has this name too. Give one of them another."
            )
        try:
            yield make_agent_source(name, settings)
        except ConfigError as error:
            raise ConfigError(f"[agents.{name}] in {config.path}: {error.message}") from error


def make_agent_source(name: str, settings: AgentSettings) -> AgentSource:
    display_options = {key: value for key in ("title", "description") if (value := getattr(settings, key))}
    options: dict[str, Any] = reveal_secrets(settings.options) | display_options
    agent_source: AgentSource = find("agents", settings.kind)(name, options)
    return agent_source
