"""Every kind of agent through every door: it speaks, has tools there and at the client, and asks."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.stores.memory import MemoryStore
from tests.contract.agents.members import CANNOT, MEMBERS
from tests.contract.doors.members import MEMBERS as DOORS
from tests.contract.doors.members import Visit
from tests.kit.house import house

pytestmark = pytest.mark.io

# A crew is a process of its own: one start is enough for all doors.
AGENTS = [name for name in MEMBERS if name not in ("engine", "flow", "crewai")]
every_door = pytest.mark.parametrize("door", DOORS)


def can(word: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", [name for name in AGENTS if word not in CANNOT.get(name, ())])


@asynccontextmanager
async def behind_doors(agent: str) -> AsyncIterator[str]:
    async with MEMBERS[agent]() as runtime:
        # What the doors' clients ask for.
        named = Runtime(agents={"default": runtime.responders.get_unlayered("desk")}, store=MemoryStore())
        async with house(named) as home:
            yield home.url


@pytest_asyncio.fixture
async def visit(agent: str, door: str) -> AsyncIterator[Callable[[], Visit]]:
    async with behind_doors(agent) as url:
        yield lambda: DOORS[door](url)


@pytest.mark.demand("agents.agent_behind_door_graphql", "agents.faults_agent_dies_mid")
@every_door
@pytest.mark.parametrize("agent", AGENTS)
async def test_it_speaks_has_tools_and_fails(visit: Callable[[], Visit]) -> None:
    await speaks(visit())


@pytest.mark.demand("agents.agent_behind_door_graphql")
@pytest.mark.long
async def test_a_crew_at_every_door() -> None:
    async with behind_doors("crewai") as url:
        for door in DOORS.values():
            await speaks(door(url))


async def speaks(person: Visit) -> None:
    assert "You said say hello." in (await person.say("say hello")).text
    assert "5" in (await person.say("add")).text
    seen = await person.say("boom")
    assert seen.error == "agent_failed"
    assert "secret words" not in seen.text


@pytest.mark.demand("agents.frontend_actions_reach_agent", "agents.agent_behind_door_graphql")
@every_door
@can("paint")
async def test_it_calls_the_client(visit: Callable[[], Visit]) -> None:
    person = visit()
    seen = await person.say("paint it")
    ((id, (name, arguments)),) = seen.calls.items()
    assert (name, arguments) == ("paint", {"colour": "red"})
    seen = await person.give({id: "painted"})
    assert "painted" in seen.text
    assert not seen.calls


@pytest.mark.demand("agents.agent_behind_door_graphql")
@every_door
@can("ask")
async def test_it_asks_and_goes_on(visit: Callable[[], Visit]) -> None:
    person = visit()
    seen = await person.say("ask me")
    assert len(seen.asks) == 1
    assert "Approve it?" in str(seen.asks[0])
    seen = await person.answer("yes")
    assert "You answered yes." in seen.text
    assert "Let me ask" not in seen.text, "what was said before the question is not said again"
