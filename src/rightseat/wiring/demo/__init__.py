"""Demo for an unconfigured `serve`: two tools, and a plugin with a flow that draws a chart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from rightseat.config.settings import Config, PluginSettings
from rightseat.tools.function import tool
from rightseat.wiring.default_model import DEMO_MODEL, ModelChoice

PLUGINS = Path(__file__).parent / "plugins"


@tool(name="demo_clock")
def clock() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@tool(name="demo_book", confirm=True)
def book(people: int) -> str:
    """Book a table in a restaurant."""
    return f"A table for {people} is booked."


TOOLS = (clock, book)


def is_demo(config: Config, choice: ModelChoice) -> bool:
    """Tell whether no assistants, plugins, agents or models are configured and a demo model answers."""
    is_unconfigured = not (config.assistants or config.plugins or config.agents or config.models)
    return is_unconfigured and (choice.demo or choice.model == DEMO_MODEL)


def with_demo_plugin(config: Config) -> Config:
    """Return the configuration with the demo plugin, whose flow is listed."""
    return replace(config, plugins=(PluginSettings(path=str(PLUGINS), appears=True),))
