"""A real CopilotKit remote endpoint behind us, in the last version that serves agents. The program is
copilotkit-python/serve_copilotkit.py."""

import json
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from rightseat import Result, Runtime, ToolContext
from rightseat.agents.copilotkit import copilotkit
from rightseat.agents.copilotkit.endpoint import CopilotKitSource
from rightseat.stores.memory import MemoryStore
from rightseat.types.model import ToolSpec
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn
from tests.contract.agents.conversation import Conversation
from tests.peers.peer_server import serve_peer

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
CARD_TOOL = ToolSpec("show_card", "Shows a card.", {"type": "object", "properties": {"title": {"type": "string"}}})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def endpoint(
    tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[CopilotKitSource]:
    notes = tmp_path_factory.mktemp("copilotkit") / "notes"
    async with serve_peer("copilotkit-python", "serve_copilotkit.py", notes, record_driven) as origin:
        source = copilotkit("ck", {"url": f"{origin}/copilotkit"})
        await source.start()
        try:
            yield source
        finally:
            await source.close()


@pytest.fixture(scope="module")
def runtime(endpoint: CopilotKitSource) -> Runtime:
    return Runtime(agent_sources=[endpoint], store=MemoryStore())


def start_conversation(runtime: Runtime, thread: str) -> Conversation:
    return Conversation(runtime, "writer", thread, tools=(CARD_TOOL,))


async def test_what_it_has(endpoint: CopilotKitSource) -> None:
    ((name, agent),) = endpoint.agents.items()
    assert (name, agent.description, agent.unavailable_reason) == ("writer", "Writes.", "")
    assert [tool.name for tool in endpoint.tools] == ["get_weather", "boom"]


@pytest.mark.demand("agents.real_copilotkit_python_endpoint")
async def test_text_steps_and_state(runtime: Runtime) -> None:
    person = start_conversation(runtime, "text")
    for _ in range(2):
        seen = await person.send_message("hello")
        assert seen.text == "Hello from the graph."
        assert seen.steps == ["draft", "review"]
        assert seen.states[-1] == {"document": "about hello, reviewed"}


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_a_tool_there_and_what_is_recalled(runtime: Runtime, endpoint: CopilotKitSource) -> None:
    person = start_conversation(runtime, "weather")
    seen = await person.send_message("weather")
    id = seen.find_call_id("get_weather")
    assert json.loads(seen.join_arguments(id)) == {"city": "Oslo"}
    assert seen.results == {id: "Oslo 21C"}
    await person.send_message("hello")
    told = await endpoint.agents["writer"].get_thread_state(Owner("ada"), "weather")
    assert told is not None
    roles = [message.role for message in told.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"], "nothing is there twice"


@pytest.mark.demand("agents.real_copilotkit_python_endpoint")
async def test_a_tool_of_the_client(runtime: Runtime) -> None:
    person = start_conversation(runtime, "card")
    seen = await person.send_message("card")
    id = seen.find_call_id("show_card")
    assert (seen.finish_reason, seen.pending) == ("calls", (id,))
    assert (await person.send_results({id: "shown"})).text == "Found: shown"


@pytest.mark.demand("agents.real_copilotkit_python_endpoint")
async def test_a_question_and_its_answer(runtime: Runtime) -> None:
    person = start_conversation(runtime, "ask")
    seen = await person.send_message("ask")
    (question,) = seen.questions
    assert question.message == "Approve?"
    seen = await person.answer_question(question, "yes")
    assert seen.text == "Got yes."
    assert seen.states[-1] == {"document": "reviewed"}


@pytest.mark.demand("agents.real_copilotkit_python_endpoint")
async def test_an_error_and_the_thread_after_it(runtime: Runtime) -> None:
    person = start_conversation(runtime, "explode")
    assert (await person.send_message("explode")).error.code == "agent_failed"
    person.history.clear()
    assert (await person.send_message("hello")).text == "Hello from the graph."


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_its_actions(endpoint: CopilotKitSource) -> None:
    found = []
    for tool in endpoint.tools:
        assert tool.call is not None
        arguments = {"city": "Oslo"} if tool.name == "get_weather" else {}
        async with closing(tool.call(arguments, ToolContext(Turn(messages=())))) as parts:
            found += [part async for part in parts]
    weather, boom = found
    assert weather == Result({"city": "Oslo", "temp": 21})
    assert isinstance(boom, Result)
    assert boom.failed
    assert "CANARY" not in boom.text
