"""A question that a plugin asked can be answered after a reload, unless that very tool has changed."""

from dataclasses import replace

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.selection import ToolSelection
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import CallResult, Event, Interrupt, RunFailed
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.plugins.catalogs import make_plugin


def make_catalog(hosts: str = "1", books: str = "1", description: str = "Erase a host") -> PluginCatalog:
    """Two plugins, of which the versions are told; one asks before it does anything."""
    first = make_plugin("hosts", "Hosts", {"erase": description})
    asking = tuple(replace(tool, confirm=True, fingerprint=hosts) for tool in first.tools)
    second = make_plugin("books", "Books", {"find": "Find a book"})
    others = tuple(replace(tool, fingerprint=books) for tool in second.tools)
    return PluginCatalog([LoadedPlugin(first.plugin, asking), LoadedPlugin(second.plugin, others)])


async def run_turn(store: MemoryStore, catalog: PluginCatalog, model: FakeModel, turn: Turn) -> list[Event]:
    runtime = Runtime(assistants=[Assistant("default", model, toolset=ToolSelection(catalog))], store=store)
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


@pytest.mark.demand("plugins.plugins_reloaded_files_change")
@pytest.mark.parametrize(
    ("after", "goes_on"),
    [
        (make_catalog(), True),
        (make_catalog(books="2"), True),
        (make_catalog(hosts="2"), False),
        (make_catalog(description="Erase everything"), False),
        (PluginCatalog([make_plugin("books", "Books", {"find": "Find a book"})]), False),
    ],
)
async def test_an_answer_after_a_reload(after: PluginCatalog, goes_on: bool) -> None:
    store = MemoryStore()
    asked = (text_message("user", "erase it"),)
    events = await run_turn(
        store, make_catalog(), FakeModel(reply_calls(("hosts_erase", '{"q": "web-01"}'))), Turn(messages=asked)
    )
    (question,) = [event for event in events if isinstance(event, Interrupt)]
    answer = InterruptAnswer(question.id, payload={"approved": True})
    events = await run_turn(store, after, FakeModel(reply_text("Done.")), Turn(messages=asked, answers=(answer,)))
    called = [event.content for event in events if isinstance(event, CallResult)]
    if goes_on:
        assert "was called" in called[0]
    else:
        assert called == []
        assert isinstance(events[-1], RunFailed)
        assert "has changed since it asked" in events[-1].message
