"""Plugins through every door: their tools run, ask and go on; their question is asked where nobody asks."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.selection import ToolSelection
from rightseat.wiring.runtime import RuntimeParts
from tests.contract.doors.members import ASKING_MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.plugins.catalogs import make_large_catalog, make_plugin

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", ASKING_MEMBERS)]


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return ASKING_MEMBERS[member]


def make_runtime(model: FakeModel, catalog: PluginCatalog, max_tools: int = 3) -> Runtime:
    selection = ToolSelection(catalog, max_tools=max_tools)
    return Runtime(assistants=[Assistant("default", model, toolset=selection)], parts=RuntimeParts(plugins=catalog))


def make_catalog_with_confirmation() -> PluginCatalog:
    """Many tools, and one far from every question that a person must agree to."""
    bees = make_plugin("bees", "Beekeeping", {"smoke": "Smoke the hive"})
    confirming = LoadedPlugin(bees.plugin, tuple(replace(tool, confirm=True) for tool in bees.tools))
    return PluginCatalog(
        [*(one for one in make_large_catalog(5, 5).loaded.values() if one.plugin.id != "bees"), confirming]
    )


@pytest.mark.demand("plugins.selection_stable_order_prompt")
async def test_a_tool_that_was_found_asks_and_goes_on(make_client: Callable[[str], DoorClient]) -> None:
    model = FakeModel(
        reply_calls(("find_tools", '{"query": "smoke the hive"}')),
        reply_calls(("bees_smoke", "{}")),
        reply_text("Done."),
    )
    async with serve_runtime(make_runtime(model, make_catalog_with_confirmation())) as home:
        person = make_client(home.url)
        seen = await person.send_message("records of kind 3")
        assert len(seen.questions) == 1
        seen = await person.answer_question(True)
        assert "Done." in seen.text
    # The turn that went on had the tool again, though nothing but its own search had shown it.
    assert "bees_smoke" in [spec.name for spec in model.prompts[2].tools]
    assert any("was called" in message.text for message in model.prompts[2].messages if message.role == "tool")


@pytest.mark.demand("plugins.predefined_question_fills_empty")
async def test_an_empty_question_is_the_plugins_own(make_client: Callable[[str], DoorClient]) -> None:
    model = FakeModel(reply_text("Two."))
    shelf = PluginCatalog([make_plugin("hosts", "Hosts", {"list": "List hosts"}, question="主机有哪些？")])
    async with serve_runtime(make_runtime(model, shelf)) as home:
        assert "Two." in (await make_client(home.url).send_message("")).text
    assert [message.text for message in model.prompts[0].messages if message.role == "user"] == ["主机有哪些？"]


async def test_results_of_plugins_are_remembered_and_not_believed(make_client: Callable[[str], DoorClient]) -> None:
    model = FakeModel(reply_calls(("hosts_list", "{}")), reply_text("Two."), reply_text("Still two."))
    shelf = PluginCatalog([make_plugin("hosts", "Hosts", {"list": "List hosts"})])
    async with serve_runtime(make_runtime(model, shelf)) as home:
        person = make_client(home.url)
        assert "Two." in (await person.send_message("how many hosts?")).text
        assert "Still two." in (await person.send_message("and now?")).text
    assert len(model.prompts) == 3
