"""Configuration of the demo that runs when nothing is configured."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.config.settings import Config, PluginSettings
from rightseat.wiring.choice import DEMO_MODEL, ModelChoice
from rightseat.wiring.demo import PLUGINS


def is_demo(config: Config, choice: ModelChoice) -> bool:
    """Tell whether no assistants, plugins, agents or models are configured and a demo model answers."""
    is_unconfigured = not (config.assistants or config.plugins or config.agents or config.models)
    return is_unconfigured and (choice.demo or choice.model == DEMO_MODEL)


def with_demo_plugin(config: Config) -> Config:
    """Return the configuration with the demo plugin, whose flow is listed."""
    return replace(config, plugins=(PluginSettings(path=str(PLUGINS), appears=True),))
