"""A real crew and a real flow of CrewAI behind us, each in its own process. They are in crewai/crew_peer.py;
their model needs no network. CrewAI takes seconds to import, so both start at once, and once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.metadata import distributions

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.agents.crewai import crewai
from rightseat.stores.memory import MemoryStore
from tests.contract.agents.conversation import Conversation
from tests.peers.install import PEERS_FOLDER
from tests.peers.peer_server import HERE, find_python

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runtime(
    tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[Runtime]:
    python = find_python("crewai")
    home = str(tmp_path_factory.mktemp("crewai"))
    options = {"python": python, "folder": str(HERE / "crewai"), "env": {"HOME": home}}
    crew = crewai("crew", {**options, "crew": "crew_peer:team"})
    flow = crewai("flow", {**options, "crew": "crew_peer:Writing"})
    runtime = Runtime(agent_sources=[crew, flow], store=MemoryStore())
    await asyncio.gather(crew.start(), flow.start())
    try:
        yield runtime
        record_driven("crewai", read_version())
    finally:
        await runtime.close()


def read_version() -> str:
    (site,) = (PEERS_FOLDER / "crewai" / "lib").glob("python*/site-packages")
    return next(found.version for found in distributions(name="crewai", path=[str(site)]))


@pytest.mark.demand("agents.real_crewai_crew_offline")
async def test_text(runtime: Runtime) -> None:
    seen = await Conversation(runtime, "crew").send_message("hello")
    assert seen.text == "Hello from the crew."
    assert seen.steps == ["reply"]


@pytest.mark.demand("agents.crewai_crew_flow_own", "agents.real_crewai_crew_offline")
async def test_a_tool_there(runtime: Runtime) -> None:
    seen = await Conversation(runtime, "crew").send_message("the weather?")
    id = seen.find_call_id("get_weather")
    assert seen.results == {id: "Oslo 21C"}
    assert seen.text == "It is 21C in Oslo."


@pytest.mark.demand("agents.real_crewai_crew_offline")
async def test_an_error_and_the_crew_after_it(runtime: Runtime) -> None:
    failed = (await Conversation(runtime, "crew").send_message("explode")).error
    assert failed.code == "agent_failed"
    assert "CANARY" not in failed.message
    assert (await Conversation(runtime, "crew").send_message("hello")).text == "Hello from the crew."


@pytest.mark.demand("agents.crewai_crew_flow_own", "agents.real_crewai_crew_offline")
async def test_the_state_of_a_flow(runtime: Runtime) -> None:
    seen = await Conversation(runtime, "flow").send_message("an essay")
    assert seen.steps == ["draft", "review"]
    assert [state["document"] for state in seen.states] == ["Draft of an essay", "Draft of an essay, reviewed"]
    assert seen.text == "Done."
