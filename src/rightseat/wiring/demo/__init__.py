"""Demo for an unconfigured `serve`: two tools, and a plugin with a flow that draws a chart.

- tools: the tools. Imported for a demo only: making a tool of a function loads pydantic.
- offer: which turns get the demo tools.
- sales: the flow as a tool of the default assistant.
- recognize: questions for the demo tools, recognized by rules.
- shortcuts: the calls that the embedded model makes for such questions.
- plugins: the folder of the plugin.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from rightseat.config.settings import Config, ModelSettings, PluginSettings
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.types.language import Language
from rightseat.wiring.default_model import DEMO_MODEL, ModelChoice, choose_model, find_model_table
from rightseat.wiring.lookup import LOCAL, split_spec

PLUGINS = Path(__file__).parent / "plugins"
CLOCK_TOOL, BOOKING_TOOL, SALES_TOOL = "demo_clock", "demo_book", "demo_sales"
DESCRIPTIONS: dict[str, dict[Language, str]] = {
    CLOCK_TOOL: {"en": "Tell the time in UTC.", "zh": "告诉您现在的 UTC 时间和日期。"},
    BOOKING_TOOL: {"en": "Book a table in a restaurant.", "zh": "在餐厅预订餐桌（演示，执行前会请您确认）。"},
    SALES_TOOL: {
        "en": "Draw the sales of this year by month as a chart.",
        "zh": "用图表显示今年各月的销售额（演示数据）。",
    },
}
"""What each demo tool does, for a person, by language. The models read the English sentence."""


def is_demo(config: Config, choice: ModelChoice) -> bool:
    """Tell whether nothing of one's own is configured and a demo model answers, or one that was chosen on the page."""
    if config.keeps_demo:
        return True
    own = (config.assistants, config.plugins, config.agents, config.chat_models, config.mcp, config.databases)
    return not any(own) and (choice.demo or choice.model == DEMO_MODEL)


def with_page_model(config: Config, settings: ModelSettings) -> Config:
    """Return the configuration with the model that a person has chosen on the page as the default one. An unconfigured
    server keeps its demo, so that the page's examples still work."""
    name = find_model_table(config) or DEFAULT_ASSISTANT
    is_local = split_spec(settings.spec)[0] == LOCAL
    return structs.replace(
        config,
        models={**config.models, name: settings},
        model=name,
        model_from="the page",
        flags=config.flags if is_local else {},
        keeps_demo=is_demo(config, choose_model(config)),
    )


def with_demo_plugin(config: Config) -> Config:
    """Return the configuration with the demo plugin, whose flow is listed."""
    # Its code is part of this package, and runs on machines too that cannot confine code.
    return structs.replace(config, plugins=(PluginSettings(path=str(PLUGINS), appears=True, lib="trusted"),))
