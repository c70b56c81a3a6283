"""Plugins chosen by a model: what it is asked, what its answer changes, and what happens without one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.errors import UpstreamRefused
from rightseat.plugins.plugin_choice import ListedPlugin, PluginChooser, parse_choice
from rightseat.plugins.selection import ToolSelection
from rightseat.types.chunks import FinishChunk, ModelChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.catalogs import make_large_catalog

pytestmark = pytest.mark.demand("plugins.chosen_by_a_model")
QUESTION = "Which records of kind 3 are there?"
PLUGINS = [ListedPlugin("a", "A", "Does a."), ListedPlugin("b", "B", "Does b.")]


async def list_tools(selection: ToolSelection, question: str = QUESTION, **more: Any) -> list[str]:
    tools: dict[str, Tool] = {}
    await selection.add_tools(tools, Turn(messages=(text_message("user", question),), **more), ())
    return list(tools)


async def test_the_tools_of_the_chosen_plugin_are_shown() -> None:
    catalog = make_large_catalog(6, 6)
    by_words = await list_tools(ToolSelection(catalog, max_tools=3))
    other = next(id for id in ("p5", "p4", "p3") if not any(name.startswith(f"{id}_") for name in by_words))
    model = FakeModel(reply_text(f'{{"plugins": ["{other}"]}}'))
    selection = ToolSelection(catalog, max_tools=3, chooser=PluginChooser(model))
    shown = await list_tools(selection)
    assert [name.startswith(f"{other}_") for name in shown] == [True, True, True, False]
    # Asked once: the resumed turn has the same tools.
    assert await list_tools(selection) == shown
    [prompt] = model.prompts
    assert all(id in prompt.messages[0].text for id in catalog.by_plugin)
    assert prompt.messages[-1].text == QUESTION
    assert prompt.output_schema is not None
    # Who is limited to plugins has chosen.
    await list_tools(selection, plugins=(other,))
    assert len(model.prompts) == 1


async def fail(_: Prompt) -> AsyncIterator[ModelChunk]:
    raise UpstreamRefused("The model is away.")
    yield FinishChunk("stop")


@pytest.mark.parametrize("reply", [reply_text("none of them"), reply_text('{"plugins": ["unknown"]}'), fail])
async def test_without_an_answer_words_choose(reply: Any) -> None:
    catalog = make_large_catalog(6, 6)
    by_words = await list_tools(ToolSelection(catalog, max_tools=3))
    selection = ToolSelection(catalog, max_tools=3, chooser=PluginChooser(FakeModel(reply)))
    assert await list_tools(selection) == by_words


async def test_no_model_is_asked_where_all_tools_fit() -> None:
    model = FakeModel()
    selection = ToolSelection(make_large_catalog(2, 2), max_tools=30, chooser=PluginChooser(model))
    assert len(await list_tools(selection)) == 5
    assert model.prompts == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('{"plugins": ["b", "a", "b"]}', ("b", "a")),
        ('Sure:\n```json\n{"plugins": ["a"]}\n```', ("a",)),
        ('{"plugins": "a"}', ()),
        ("}{", ()),
        ("", ()),
    ],
)
def test_answers_are_read(text: str, ids: tuple[str, ...]) -> None:
    assert parse_choice(text, {plugin.id for plugin in PLUGINS}) == ids
