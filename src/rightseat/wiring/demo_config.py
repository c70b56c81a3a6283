"""What there is to see before anything is set up: tools to call, and a flow that draws a chart."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.config.settings import Config, PluginSettings
from rightseat.wiring.choice import DEMO, Choice
from rightseat.wiring.demo import PLUGINS


def demonstrates(config: Config, choice: Choice) -> bool:
    """Whether nothing is set up but, at most, how to listen."""
    bare = not (config.assistants or config.plugins or config.agents or config.models)
    return bare and (choice.demo or choice.model == DEMO)


def demonstrating(config: Config) -> Config:
    """With the demo's plugin, whose flow stands in the lists."""
    return replace(config, plugins=(PluginSettings(path=str(PLUGINS), appears=True),))
