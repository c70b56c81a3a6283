"""Agent sources from [agents.NAME]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rightseat.config.settings import AgentSettings, Config
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import CombinedToolset, RemoteActions
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource
from rightseat.wiring.names import find, reveal_secrets

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
