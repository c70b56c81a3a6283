"""Which client asks: Terminal Pro of 2024 gets text, Workspace what it shows."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Artifact, Event, Result, Runtime, tool
from rightseat.types.tools import Pause
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, WIDGETS, QueryAnswer, post_query

pytestmark = pytest.mark.io
QUESTION = {"role": "human", "content": "the chart, please"}
CALL = '{"function": "get_widget_data", "input_arguments": {"widget_uuid": "w"}, "copilot_function_call_arguments": {}}'


@tool
async def draw() -> AsyncIterator[Event | Result | Pause]:
    """Draw the sales."""
    rows = [{"month": "May", "sales": 12}, {"month": "June", "sales": 31}]
    yield Artifact("c1", "chart", "Sales", {"data": rows, "chart": {"type": "bar", "x": "month", "y": "sales"}})
    yield Result("The chart is shown.")


async def ask(body: dict[str, Any], headers: dict[str, str] | None = None, *, legacy: bool) -> tuple[QueryAnswer, str]:
    model = FakeModel(reply_calls(("draw", "{}")), reply_text("There."))
    async with serve_runtime(Runtime(model=model, tools=[draw])) as server:
        answer = await post_query(server.url, body, headers=headers, legacy=legacy)
    [result] = [message.text for message in model.prompts[1].messages if message.call_id][-1:]
    return answer, result


@pytest.mark.demand("openbb.messages_alone_are_today")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"context": None, "widgets": None},
        {"context": []},
        {"widgets": {"primary": [], "secondary": [], "extra": []}},
        {"timezone": "UTC", "use_docs": True},
        {"context": [{"name": "W", "data": {"items": [{"content": "x"}]}}]},
        {"widgets": WIDGETS, "context": "a text"},
        {"workspace_options": []},
    ],
)
async def test_workspace_draws_the_chart(more: dict[str, Any]) -> None:
    answer, result = await ask({"messages": [QUESTION], **more}, legacy=False)
    [chart] = answer.list_events("copilotMessageArtifact")
    assert chart["chart_params"] == {"chartType": "bar", "xKey": "month", "yKey": ["sales"]}
    assert result == "The chart is shown."
    assert answer.statuses


@pytest.mark.demand("openbb.messages_alone_are_today")
@pytest.mark.parametrize(
    "more",
    [
        {"widgets": LEGACY_WIDGETS},
        {"widgets": []},
        {"use_docs": False},
        {"context": "Pizza is a dish."},
        {"context": [{"uuid": "u", "name": "W", "description": "d", "data": {"content": "x"}}]},
        {"messages": [{"role": "ai", "content": CALL}, {"role": "tool", "function": "f", "content": "1"}, QUESTION]},
    ],
)
async def test_terminal_pro_gets_the_table_as_text(more: dict[str, Any]) -> None:
    answer, result = await ask({"messages": [QUESTION], **more}, legacy=True)
    assert "| month | sales |\n| --- | --- |\n| May | 12 |\n| June | 31 |" in answer.text
    assert answer.text.endswith("There.")
    assert result.startswith("The chart is shown.\n\n")
    assert "this client does not draw it. The person sees its numbers as a table." in result


@pytest.mark.demand("openbb.messages_alone_are_today")
async def test_a_trace_id_is_of_today() -> None:
    body = {"messages": [QUESTION], "context": "Pizza is a dish."}
    answer, _ = await ask(body, {"X-Trace-Id": "chat-1"}, legacy=False)
    assert answer.list_events("copilotMessageArtifact")
