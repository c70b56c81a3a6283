"""Configuration of the demo that runs when nothing is configured."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.config.settings import Config, PluginSettings
from rightseat.wiring.choice import DEMO, Choice
from rightseat.wiring.demo import PLUGINS


def demonstrates(config: Config, choice: Choice) -> bool:
    """Tell whether no assistants, plugins, agents or models are configured and a demo model answers."""
    bare = not (config.assistants or config.plugins or config.agents or config.models)
    return bare and (choice.demo or choice.model == DEMO)


def demonstrating(config: Config) -> Config:
    """Return the configuration with the demo plugin, whose flow is listed."""
    return replace(config, plugins=(PluginSettings(path=str(PLUGINS), appears=True),))
