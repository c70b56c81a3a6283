"""`make eval`: how often a tool of the right plugin is shown, chosen by words and by a model.

`--model SPEC` takes any model; the embedded one is the default.
"""

import argparse
import asyncio
from pathlib import Path

from evals.plugin_choice.corpus import PLUGINS, QUESTIONS
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.plugin import Plugin
from rightseat.plugins.plugin_choice import PluginChooser
from rightseat.plugins.selection import ToolSelection
from rightseat.types.messages import text_message
from rightseat.types.model import Model
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn
from rightseat.wiring.lookup import make_model

SHOWN = 3


def make_catalog() -> PluginCatalog:
    loaded = []
    for id, (name, description, operations) in PLUGINS.items():
        plugin = Plugin(id=id, folder=Path("/nowhere") / id, name=name, description=description)
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        tools = (Tool(f"{id}_{key}", text, schema) for key, text in operations.items())
        loaded.append(LoadedPlugin(plugin, tuple(tools)))
    return PluginCatalog(loaded)


async def list_shown(selection: ToolSelection, question: str) -> list[str]:
    tools: dict[str, Tool] = {}
    await selection.add_tools(tools, Turn(messages=(text_message("user", question),)), ())
    return list(tools)


async def measure(model: Model) -> None:
    catalog = make_catalog()
    chooser = PluginChooser(model)
    ways = {
        "words": ToolSelection(catalog, max_tools=SHOWN),
        "model": ToolSelection(catalog, max_tools=SHOWN, chooser=chooser),
    }
    for way, selection in ways.items():
        found = 0
        for question, plugin in QUESTIONS:
            shown = await list_shown(selection, question)
            found += any(name.startswith(f"{plugin}_") for name in shown)
        print(f"{way}: a tool of the right plugin is among {SHOWN} for {found} of {len(QUESTIONS)} questions")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="local")
    model = make_model(parser.parse_args().model, {})
    await model.start()
    try:
        await measure(model)
    finally:
        await model.close()


if __name__ == "__main__":
    asyncio.run(main())
