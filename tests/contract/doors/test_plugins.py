"""Plugins through every door: their tools run, ask and go on; their question is asked where nobody asks."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.selection import ToolSelection
from rightseat.wiring.runtime import RuntimeParts
from tests.contract.doors.members import MEMBERS, Visit
from tests.kit.house import Lines, calls, house, says
from tests.unit.plugins.shelves import many, plugin

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]


@pytest.fixture
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


def runtime(model: Lines, shelf: PluginCatalog, shown: int = 3) -> Runtime:
    selection = ToolSelection(shelf, max_tools=shown)
    return Runtime(assistants=[Assistant("default", model, toolset=selection)], parts=RuntimeParts(plugins=shelf))


def guarded() -> PluginCatalog:
    """Many tools, and one far from every question that a person must agree to."""
    bees = plugin("bees", "Beekeeping", {"smoke": "Smoke the hive"})
    asking = LoadedPlugin(bees.plugin, tuple(replace(tool, confirm=True) for tool in bees.tools))
    return PluginCatalog([*(one for one in many(5, 5).loaded.values() if one.plugin.id != "bees"), asking])


@pytest.mark.demand("plugins.selection_stable_order_prompt")
async def test_a_tool_that_was_found_asks_and_goes_on(visit: Callable[[str], Visit]) -> None:
    model = Lines(calls(("find_tools", '{"query": "smoke the hive"}')), calls(("bees_smoke", "{}")), says("Done."))
    async with house(runtime(model, guarded())) as home:
        person = visit(home.url)
        seen = await person.say("records of kind 3")
        assert len(seen.asks) == 1
        seen = await person.answer(True)
        assert "Done." in seen.text
    # The turn that went on had the tool again, though nothing but its own search had shown it.
    assert "bees_smoke" in [spec.name for spec in model.asked[2].tools]
    assert any("was called" in message.text for message in model.asked[2].messages if message.role == "tool")


@pytest.mark.demand("plugins.predefined_question_fills_empty")
async def test_an_empty_question_is_the_plugins_own(visit: Callable[[str], Visit]) -> None:
    model = Lines(says("Two."))
    shelf = PluginCatalog([plugin("hosts", "Hosts", {"list": "List hosts"}, question="主机有哪些？")])
    async with house(runtime(model, shelf)) as home:
        assert "Two." in (await visit(home.url).say("")).text
    assert [message.text for message in model.asked[0].messages if message.role == "user"] == ["主机有哪些？"]


async def test_results_of_plugins_are_remembered_and_not_believed(visit: Callable[[str], Visit]) -> None:
    model = Lines(calls(("hosts_list", "{}")), says("Two."), says("Still two."))
    shelf = PluginCatalog([plugin("hosts", "Hosts", {"list": "List hosts"})])
    async with house(runtime(model, shelf)) as home:
        person = visit(home.url)
        assert "Two." in (await person.say("how many hosts?")).text
        assert "Still two." in (await person.say("and now?")).text
    assert len(model.asked) == 3
