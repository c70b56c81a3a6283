"""Plugins written into a test's folder."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from rightseat.plugins.plugin import Plugin
from rightseat.plugins.python.find import find_scripts
from rightseat.types.messages import Message, text_message
from rightseat.types.streams import closing
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import Turn


def write_scripts(folder: Path, **files: str) -> Path:
    """A plugin's folder with these files in lib/, by their names without `.py`."""
    for name, text in files.items():
        path = folder / "lib" / f"{name.replace('__slash__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    return folder


def load_script_plugin(folder: Path, **files: str) -> Plugin:
    write_scripts(folder, **files)
    found, problems = find_scripts(folder)
    return Plugin(
        id=folder.name, folder=folder, name="Tools", description="Tools of a test.", scripts=found, problems=problems
    )


async def call_once(tool: Tool, args: dict[str, Any], *messages: Message) -> Result:
    assert tool.call is not None
    assert tool.close is not None
    context = ToolContext(
        Turn(messages=messages), turn_messages=(text_message("tool", "from the step before", call_id="c"),)
    )
    try:
        async with closing(tool.call(args, context)) as items:
            found = [item async for item in items]
    finally:
        await tool.close()
    assert isinstance(found[-1], Result)
    return found[-1]
