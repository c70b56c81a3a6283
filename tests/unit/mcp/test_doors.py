"""A real server's tool through every door: what it asks is an Interrupt like any other, and so is our own
question before a tool that its server calls destructive."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.mcp.tool_sources import McpServers
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.mcp.tool_calls import connect_over_http

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module"), pytest.mark.parametrize("member", MEMBERS)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["newer", "older"])
async def servers(request: pytest.FixtureRequest) -> AsyncIterator[McpServers]:
    async with connect_over_http(older=request.param == "older") as made:
        yield made


@pytest.fixture
def make_visitor(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


def make_runtime(model: FakeModel, servers: McpServers) -> Runtime:
    return Runtime(assistants=[Assistant("default", model, toolset=servers.select())])


def format_form_answer(visitor: Any, name: str, value: str) -> Any:
    """A form's only value as this door's client sends it: a form, its JSON, or what a person types."""
    if hasattr(visitor, "resume"):
        return {name: value}
    return json.dumps({name: value}) if hasattr(visitor, "open") else value


def list_tool_results(model: FakeModel) -> list[str]:
    return [message.text for message in model.prompts[-1].messages if message.role == "tool"]


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
async def test_a_servers_question_is_asked_and_answered(
    make_visitor: Callable[[str], DoorClient], servers: McpServers
) -> None:
    model = FakeModel(reply_calls(("things__paint", "{}")), reply_text("Painted."))
    async with serve_runtime(make_runtime(model, servers)) as home:
        person = make_visitor(home.url)
        seen = await person.send_message("paint it")
        assert "Which colour?" in seen.questions[0]["message"]
        seen = await person.answer_question(format_form_answer(person, "colour", "red"))
    assert seen.text == "Painted."
    assert list_tool_results(model) == ['{"result":"painted red"}']


@pytest.mark.parametrize("approved", [True, False])
async def test_what_is_dangerous_needs_a_yes(
    make_visitor: Callable[[str], DoorClient], servers: McpServers, approved: bool
) -> None:
    model = FakeModel(reply_calls(("things__wipe", "{}")), reply_text("As you wish."))
    async with serve_runtime(make_runtime(model, servers)) as home:
        person = make_visitor(home.url)
        seen = await person.send_message("wipe it")
        assert "things__wipe" in seen.questions[0]["message"]
        seen = await person.answer_question(approved)
    assert seen.text == "As you wish."
    assert ("all gone" in list_tool_results(model)[0]) is approved


async def test_a_call_runs_here_and_its_result_goes_to_the_model(
    make_visitor: Callable[[str], DoorClient], servers: McpServers
) -> None:
    model = FakeModel(reply_calls(("things__add", '{"a": 1, "b": 2}')), reply_text("Three."))
    async with serve_runtime(make_runtime(model, servers)) as home:
        seen = await make_visitor(home.url).send_message("add")
    assert (seen.text, seen.calls) == ("Three.", {})
    assert list_tool_results(model) == ['{"result":3}']
