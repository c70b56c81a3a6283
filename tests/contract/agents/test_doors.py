"""Every kind of agent through every door: it speaks, has tools there and at the client, and asks."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.stores.memory import MemoryStore
from tests.contract.agents.members import MEMBERS, UNSUPPORTED
from tests.contract.doors.members import MEMBERS as DOORS
from tests.contract.doors.members import DoorClient
from tests.kit.app_server import serve_runtime

pytestmark = pytest.mark.io

# A crew is a process of its own: one start is enough for all doors.
AGENTS = [name for name in MEMBERS if name not in ("engine", "flow", "crewai")]
over_doors = pytest.mark.parametrize("door", DOORS)


def over_agents_with(word: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", [name for name in AGENTS if word not in UNSUPPORTED.get(name, ())])


@asynccontextmanager
async def serve_agent(agent: str) -> AsyncIterator[str]:
    async with MEMBERS[agent]() as runtime:
        # What the doors' clients ask for.
        renamed = Runtime(agents={"default": runtime.responders.get_unlayered("desk")}, store=MemoryStore())
        async with serve_runtime(renamed) as server:
            yield server.url


@pytest_asyncio.fixture
async def make_client(agent: str, door: str) -> AsyncIterator[Callable[[], DoorClient]]:
    async with serve_agent(agent) as url:
        yield lambda: DOORS[door](url)


@pytest.mark.demand("agents.agent_behind_door_graphql", "agents.faults_agent_dies_mid")
@pytest.mark.spread("agent", "door")
@over_doors
@pytest.mark.parametrize("agent", AGENTS)
async def test_it_speaks_has_tools_and_fails(make_client: Callable[[], DoorClient]) -> None:
    await assert_answers(make_client())


@pytest.mark.demand("agents.agent_behind_door_graphql")
@pytest.mark.long
async def test_a_crew_at_every_door() -> None:
    async with serve_agent("crewai") as url:
        for door in DOORS.values():
            await assert_answers(door(url))


async def assert_answers(client: DoorClient) -> None:
    assert "You said say hello." in (await client.send_message("say hello")).text
    assert "5" in (await client.send_message("add")).text
    seen = await client.send_message("boom")
    assert seen.error == "agent_failed"
    assert "secret words" not in seen.text


@pytest.mark.demand("agents.frontend_actions_reach_agent", "agents.agent_behind_door_graphql")
@pytest.mark.spread("agent", "door")
@over_doors
@over_agents_with("paint")
async def test_it_calls_the_client(make_client: Callable[[], DoorClient]) -> None:
    person = make_client()
    seen = await person.send_message("paint it")
    ((id, (name, arguments)),) = seen.calls.items()
    assert (name, arguments) == ("paint", {"colour": "red"})
    seen = await person.send_results({id: "painted"})
    assert "painted" in seen.text
    assert not seen.calls


@pytest.mark.demand("agents.agent_behind_door_graphql")
@pytest.mark.spread("agent", "door")
@over_doors
@over_agents_with("ask")
async def test_it_asks_and_goes_on(make_client: Callable[[], DoorClient]) -> None:
    person = make_client()
    seen = await person.send_message("ask me")
    assert len(seen.questions) == 1
    assert "Approve it?" in str(seen.questions[0])
    seen = await person.answer_question("yes")
    assert "You answered yes." in seen.text
    assert "Let me ask" not in seen.text, "what was said before the question is not said again"
