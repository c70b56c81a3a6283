"""What the workspace shows, as tools and agents of the author see it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.types.events import Event, RunFinished, TextDelta, TextEnd, TextStart
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, WIDGETS, OpenBBChat, post_query

pytestmark = pytest.mark.io
DASHBOARD = {"current_dashboard_info": {"id": "d", "name": "Shares", "current_tab_id": "news", "tabs": []}}


@pytest.mark.demand("openbb.widgets_seen_by_tools")
async def test_a_tool_sees_the_widgets_by_group_and_the_dashboard() -> None:
    seen: list[dict[str, Any]] = []

    @tool
    def look(ctx: ToolContext) -> str:
        """Look at the workspace."""
        seen.append(ctx.turn.client.workspace)
        return "seen"

    model = FakeModel(reply_calls(("look", "{}")), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[look])) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, workspace_state=DASHBOARD)
        assert (await chat.send_text("go")).text == "Done."
    assert seen == [{"widgets": WIDGETS, "state": DASHBOARD}]


@pytest.mark.demand("openbb.widgets_seen_by_tools")
@pytest.mark.parametrize(
    ("fields", "widgets"),
    [
        ({"widgets": LEGACY_WIDGETS}, {"primary": [], "secondary": LEGACY_WIDGETS, "extra": []}),
        ({}, {"primary": [], "secondary": [], "extra": []}),
        (
            {"widgets": {"primary": None, "extra": [1, {"name": "a"}]}},
            {"primary": [], "secondary": [], "extra": [{"name": "a"}]},
        ),
    ],
)
async def test_an_agent_sees_each_group_as_a_list_of_objects(fields: dict[str, Any], widgets: dict[str, Any]) -> None:
    turns: list[Turn] = []

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        turns.append(turn)
        yield TextStart("m")
        yield TextDelta("m", "Seen.")
        yield TextEnd("m")
        yield RunFinished("stop")

    async with serve_runtime(Runtime(agents={"agent": agent})) as server:
        answer = await post_query(server.url, {"messages": [{"role": "human", "content": "hi"}], **fields})
    assert answer.text == "Seen."
    assert turns[0].client.workspace == {"widgets": widgets, "state": {}}
