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
from tests.contract.doors.members import MEMBERS, Visit
from tests.kit.house import Lines, calls, house, says
from tests.unit.mcp.calling import near

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module"), pytest.mark.parametrize("member", MEMBERS)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["newer", "older"])
async def servers(request: pytest.FixtureRequest) -> AsyncIterator[McpServers]:
    async with near(older=request.param == "older") as made:
        yield made


@pytest.fixture
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


def answering(model: Lines, servers: McpServers) -> Runtime:
    return Runtime(assistants=[Assistant("default", model, toolset=servers.select())])


def filled(visitor: Any, name: str, value: str) -> Any:
    """A form's only value as this door's client sends it: a form, its JSON, or what a person types."""
    if hasattr(visitor, "resume"):
        return {name: value}
    return json.dumps({name: value}) if hasattr(visitor, "open") else value


def results(model: Lines) -> list[str]:
    return [message.text for message in model.asked[-1].messages if message.role == "tool"]


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
async def test_a_servers_question_is_asked_and_answered(visit: Callable[[str], Visit], servers: McpServers) -> None:
    model = Lines(calls(("things__paint", "{}")), says("Painted."))
    async with house(answering(model, servers)) as home:
        person = visit(home.url)
        seen = await person.say("paint it")
        assert "Which colour?" in seen.asks[0]["message"]
        seen = await person.answer(filled(person, "colour", "red"))
    assert seen.text == "Painted."
    assert results(model) == ['{"result":"painted red"}']


@pytest.mark.parametrize("approved", [True, False])
async def test_what_is_dangerous_needs_a_yes(
    visit: Callable[[str], Visit], servers: McpServers, approved: bool
) -> None:
    model = Lines(calls(("things__wipe", "{}")), says("As you wish."))
    async with house(answering(model, servers)) as home:
        person = visit(home.url)
        seen = await person.say("wipe it")
        assert "things__wipe" in seen.asks[0]["message"]
        seen = await person.answer(approved)
    assert seen.text == "As you wish."
    assert ("all gone" in results(model)[0]) is approved


async def test_a_call_runs_here_and_its_result_goes_to_the_model(
    visit: Callable[[str], Visit], servers: McpServers
) -> None:
    model = Lines(calls(("things__add", '{"a": 1, "b": 2}')), says("Three."))
    async with house(answering(model, servers)) as home:
        seen = await visit(home.url).say("add")
    assert (seen.text, seen.calls) == ("Three.", {})
    assert results(model) == ['{"result":3}']
