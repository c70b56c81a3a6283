"""MCP servers from [mcp.NAME], agent sources from [agents.NAME], and the assistants that may use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rightseat.config.installation import format_extra_command
from rightseat.config.settings import AgentSettings, Config, McpSettings
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import CombinedToolset, RemoteActions
from rightseat.errors import ConfigError
from rightseat.runtime.threads import ThreadRuns
from rightseat.types.agents import AgentSource
from rightseat.types.text import closest_match
from rightseat.types.tools import Toolset
from rightseat.wiring.lookup import find, reveal_secrets

if TYPE_CHECKING:
    from rightseat.mcp.tool_sources import McpServers

COPILOTKIT_KIND = "copilotkit"


def make_mcp_servers(
    config: Config, previous: McpServers | None = None, threads: ThreadRuns | None = None
) -> McpServers | None:
    """Make the configured MCP servers; one unchanged since `previous` keeps its connection."""
    if not config.mcp and not config.server.mcp_allow:
        return None
    try:
        from rightseat.mcp.connect import McpServerConfig
        from rightseat.mcp.held_calls import HeldCallLink
        from rightseat.mcp.tool_sources import McpServers, RequestMcpToolSource
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"[mcp] in {config.path} needs {error.name!r}, which is not installed. "
            f"Install it: {format_extra_command('mcp')}"
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

    link = previous.link if previous else None
    if link is None and threads is not None and threads.plane is not None:
        # Imported here: one worker alone needs none.
        from rightseat.runtime.worker_messages import WorkerMessages

        link = HeldCallLink(WorkerMessages(threads.plane, threads.store))
    request_source = RequestMcpToolSource(config.server.mcp_allow, link) if config.server.mcp_allow else None
    return McpServers((make_server(*item) for item in config.mcp.items()), request_source, previous, link)


def attach_mcp_servers(
    assistants: dict[str, Assistant], config: Config, previous: McpServers | None, threads: ThreadRuns | None = None
) -> tuple[dict[str, Assistant], McpServers | None]:
    """Attach to each assistant the MCP servers it may use, by default all; returns both."""
    servers = make_mcp_servers(config, previous, threads)
    if servers is None:
        return assistants, None
    attached = {name: _attach_allowed_servers(assistant, servers, config) for name, assistant in assistants.items()}
    return attached, servers


def _attach_allowed_servers(assistant: Assistant, servers: McpServers, config: Config) -> Assistant:
    settings = config.find_assistant(assistant.name)
    if settings is None:
        return assistant
    allowed = settings.mcp
    for name in allowed or ():
        if name not in servers.connections:
            near = closest_match(name, servers.connections)
            hint = f"Did you mean {near!r}?" if near else f"Write [mcp.{name}]."
            where = f"[assistants.{assistant.name}] in {config.path}"
            raise ConfigError(f"{where}: mcp: there is no server {name!r}. {hint}")
    allowed_servers = None if allowed == () else servers.select(allowed)
    return replace(assistant, toolset=combine_toolsets(assistant.toolset, allowed_servers, servers.request_source))


def attach_remote_actions(
    assistants: Mapping[str, Assistant], sources: Sequence[AgentSource], config: Config
) -> dict[str, Assistant]:
    """Attach the actions of CopilotKit endpoints to every assistant, as CopilotKit's runtime does; to one whose `tools`
    name actions of an endpoint, only those of it."""
    if not any(agent.kind == COPILOTKIT_KIND for agent in config.agents.values()):
        return dict(assistants)
    attached = {}
    for name, assistant in assistants.items():
        settings = config.find_assistant(name)
        actions = RemoteActions(sources, choose_actions(settings.tools if settings else (), config))
        attached[name] = replace(assistant, toolset=combine_toolsets(assistant.toolset, actions))
    return attached


def is_remote_action(target: str, config: Config) -> bool:
    """Whether an entry of `tools` is ENDPOINT:ACTION, with an endpoint of [agents]."""
    agent = config.agents.get(target.partition(":")[0])
    return ":" in target and agent is not None and agent.kind == COPILOTKIT_KIND


def choose_actions(targets: Iterable[str], config: Config) -> dict[int, set[str]]:
    """Return the actions that an assistant's `tools` name, by the index of their endpoint in [agents]."""
    names = list(config.agents)
    chosen: dict[int, set[str]] = {}
    for target in targets:
        if is_remote_action(target, config):
            agent, _, action = target.partition(":")
            chosen.setdefault(names.index(agent), set()).add(action)
    return chosen


def combine_toolsets(*toolsets: Toolset | None) -> Toolset | None:
    """Return the toolsets that are not None as one; None if there is none."""
    present = [toolset for toolset in toolsets if toolset is not None]
    return CombinedToolset(present) if len(present) > 1 else next(iter(present), None)


def make_agent_sources(config: Config) -> Iterator[AgentSource]:
    """Yield an agent source for each table; none connects before it is started."""
    for name, settings in config.agents.items():
        try:
            yield make_agent_source(name, settings)
        except ConfigError as error:
            raise ConfigError(f"[agents.{name}] in {config.path}: {error.message}") from error


def make_agent_source(name: str, settings: AgentSettings) -> AgentSource:
    display_options = {key: value for key in ("title", "description") if (value := getattr(settings, key))}
    make_source: Callable[[str, dict[str, Any]], AgentSource] = find("agents", settings.kind)
    return make_source(name, reveal_secrets(settings.options) | display_options)
