"""Agent sources from [agents.NAME]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rightseat.config.settings import AgentSettings, Config
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import Actions, Sources
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource
from rightseat.wiring.names import find, revealed

ENDPOINT = "copilotkit"


def handing(
    assistants: Mapping[str, Assistant], places: Sequence[AgentSource], config: Config
) -> dict[str, Assistant]:
    """Attach the actions of CopilotKit endpoints to every assistant, as CopilotKit's runtime does."""
    if not any(agent.kind == ENDPOINT for agent in config.agents.values()):
        return dict(assistants)
    actions = Actions(places)
    return {
        name: replace(one, source=Sources([one.source, actions]) if one.source else actions)
        for name, one in assistants.items()
    }


def agent_sources(config: Config) -> Iterator[AgentSource]:
    """Yield an agent source for each table; none connects before it is started."""
    for name, settings in config.agents.items():
        if name in config.assistants:
            raise ConfigError(
                f"[agents.{name}] in {config.path}: an assistant has this name too. Give one of them another."
            )
        try:
            yield source(name, settings)
        except ConfigError as error:
            raise ConfigError(f"[agents.{name}] in {config.path}: {error.message}") from error


def source(name: str, settings: AgentSettings) -> AgentSource:
    own = {key: value for key in ("title", "description") if (value := getattr(settings, key))}
    options: dict[str, Any] = revealed(settings.options) | own
    made: AgentSource = find("agents", settings.kind)(name, options)
    return made
