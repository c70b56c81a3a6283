"""Two real AG-UI agents behind us: pydantic-ai (protocol 1.0), and a LangGraph graph by ag-ui-langgraph,
which asks in the older way. The program is pydantic-ai/serve_agui.py."""

import json
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.agents.agui import agui
from rightseat.stores.memory import MemoryStore
from rightseat.types.model import ToolSpec
from rightseat.types.turn import InterruptAnswer
from tests.contract.agents.conversation import Conversation
from tests.peers.peer_server import serve_peer

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
CARD_TOOL = ToolSpec("show_card", "Shows a card.", {"type": "object", "properties": {"title": {"type": "string"}}})
over_both_agents = pytest.mark.parametrize("name", ["pydantic", "graph"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runtime(
    tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[Runtime]:
    notes = tmp_path_factory.mktemp("agui") / "notes"
    async with serve_peer("pydantic-ai", "serve_agui.py", notes, record_driven) as origin:
        sources = [agui(name, {"url": f"{origin}/{name}"}) for name in ("pydantic", "graph")]
        runtime = Runtime(agent_sources=sources, store=MemoryStore())
        await runtime.start()
        try:
            yield runtime
        finally:
            await runtime.close()


def start_conversation(runtime: Runtime, name: str, thread: str) -> Conversation:
    return Conversation(runtime, name, f"{name} {thread}", tools=(CARD_TOOL,))


@pytest.mark.demand("agents.real_pydantic_ai_ag")
@over_both_agents
async def test_text(runtime: Runtime, name: str) -> None:
    person = start_conversation(runtime, name, "text")
    for _ in range(2):
        seen = await person.send_message("hello")
        assert seen.text == f"Hello from {'the graph' if name == 'graph' else 'pydantic'}."
        assert seen.finish_reason == "stop"


@pytest.mark.demand("agents.real_pydantic_ai_ag")
@over_both_agents
async def test_a_tool_there_and_the_turn_after_it(runtime: Runtime, name: str) -> None:
    person = start_conversation(runtime, name, "weather")
    seen = await person.send_message("weather")
    id = seen.find_call_id("get_weather")
    assert json.loads(seen.join_arguments(id)) == {"city": "Oslo"}
    assert seen.results == {id: "Oslo 21C"}
    assert seen.text.endswith("Found: Oslo 21C")
    assert (await person.send_message("hello")).text.startswith("Hello")


@pytest.mark.demand("agents.real_pydantic_ai_ag")
@over_both_agents
async def test_a_tool_of_the_client(runtime: Runtime, name: str) -> None:
    person = start_conversation(runtime, name, "card")
    seen = await person.send_message("card")
    id = seen.find_call_id("show_card")
    assert json.loads(seen.join_arguments(id)) == {"title": "Oslo"}
    assert (seen.finish_reason, seen.pending) == ("calls", (id,))
    assert (await person.send_results({id: "shown"})).text == "Found: shown"


@pytest.mark.demand("agents.real_pydantic_ai_ag")
@over_both_agents
async def test_an_error_and_the_thread_after_it(runtime: Runtime, name: str) -> None:
    person = start_conversation(runtime, name, "explode")
    failed = (await person.send_message("explode")).error
    assert failed.code == "agent_failed"
    assert "CANARY" not in failed.message
    person.history.clear()
    assert (await person.send_message("hello")).text.startswith("Hello")


@pytest.mark.demand("agents.real_pydantic_ai_ag")
async def test_state_of_pydantic_ai(runtime: Runtime) -> None:
    person = Conversation(runtime, "pydantic", "state", state={"document": "Dear Ada. "})
    assert (await person.send_message("write")).states == [{"document": "Dear Ada. Hello"}]


@pytest.mark.demand("agents.real_pydantic_ai_ag")
async def test_steps_and_state_of_a_graph(runtime: Runtime) -> None:
    seen = await start_conversation(runtime, "graph", "state").send_message("hello")
    assert seen.steps == ["draft", "review"]
    assert seen.states[0] == {"document": "about hello"}
    assert seen.states[-1] == {"document": "about hello, reviewed"}


@pytest.mark.demand("agents.agui_ag_ui_http", "agents.real_pydantic_ai_ag")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_of_pydantic_ai(runtime: Runtime, approved: bool) -> None:
    person = start_conversation(runtime, "pydantic", f"wipe {approved}")
    seen = await person.send_message("wipe")
    (question,) = seen.questions
    assert (question.kind, question.call) == ("confirm", "c4")
    assert "wipe" in question.message
    seen = await person.run_turn(answers=(InterruptAnswer(question.id, payload={"approved": approved}),))
    assert ("all gone" in seen.text) == approved
    assert (await person.run_turn(answers=(InterruptAnswer(question.id, payload={}),))).error.code == "already_answered"


async def test_an_approval_from_a_client_that_has_only_text(runtime: Runtime) -> None:
    """It posts neither the call nor its id: what was said is known here."""
    (question,) = (await start_conversation(runtime, "pydantic", "wipe in text").send_message("wipe")).questions
    late = start_conversation(runtime, "pydantic", "another")
    late.unanswered = {"c4"}
    seen = await late.run_turn(answers=(InterruptAnswer(question.id, payload={"approved": True}),))
    assert "all gone" in seen.text


@pytest.mark.demand("agents.agui_ag_ui_http", "agents.real_pydantic_ai_ag")
async def test_a_question_of_a_graph(runtime: Runtime) -> None:
    person = start_conversation(runtime, "graph", "ask")
    seen = await person.send_message("ask")
    (question,) = seen.questions
    assert question.message == "Approve?"
    assert question.value == {"question": "Approve?", "document": "about ask"}
    seen = await person.answer_question(question, "yes")
    assert seen.text == "Got yes."
    assert seen.states[-1] == {"document": "reviewed"}
