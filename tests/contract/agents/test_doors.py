"""Every kind of agent through every door: it speaks, has tools there and at the client, and asks."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.stores.memory import Memory
from tests.contract.agents.members import CANNOT, MEMBERS
from tests.contract.doors.members import MEMBERS as DOORS
from tests.contract.doors.members import Visit
from tests.kit.house import house

AGENTS = [name for name in MEMBERS if name not in ("engine", "flow")]
pytestmark = pytest.mark.parametrize("door", DOORS)


def can(word: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", [name for name in AGENTS if word not in CANNOT.get(name, ())])


@pytest_asyncio.fixture
async def visit(agent: str, door: str) -> AsyncIterator[Callable[[], Visit]]:
    async with MEMBERS[agent]() as runtime:
        # What the doors' clients ask for.
        named = Runtime(agents={"default": runtime.responders.inner("desk")}, store=Memory())
        async with house(named) as home:
            yield lambda: DOORS[door](home.url)


@pytest.mark.parametrize("agent", AGENTS)
async def test_it_speaks_has_tools_and_fails(visit: Callable[[], Visit]) -> None:
    person = visit()
    assert "You said say hello." in (await person.say("say hello")).text
    assert "5" in (await person.say("add")).text
    seen = await person.say("boom")
    assert seen.error == "agent_failed"
    assert "secret words" not in seen.text


@can("paint")
async def test_it_calls_the_client(visit: Callable[[], Visit]) -> None:
    person = visit()
    seen = await person.say("paint it")
    ((id, (name, arguments)),) = seen.calls.items()
    assert (name, arguments) == ("paint", {"colour": "red"})
    seen = await person.give({id: "painted"})
    assert "painted" in seen.text
    assert not seen.calls


@can("ask")
async def test_it_asks_and_goes_on(visit: Callable[[], Visit]) -> None:
    person = visit()
    seen = await person.say("ask me")
    assert len(seen.asks) == 1
    assert "Approve it?" in str(seen.asks[0])
    seen = await person.answer("yes")
    assert "You answered yes." in seen.text
