"""The same conversation with everybody who answers: the same grammar, and the same things happen."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.types.turn import Owner
from tests.contract.agents.conversation import Conversation
from tests.contract.agents.members import MEMBERS, UNSUPPORTED

pytestmark = pytest.mark.io


def over_members_with(*words: str) -> pytest.MarkDecorator:
    """The members that can do this."""
    able = [name for name in MEMBERS if not UNSUPPORTED.get(name, frozenset()) & set(words)]
    return pytest.mark.parametrize("member", able)


@pytest_asyncio.fixture
async def runtime(member: str) -> AsyncIterator[Runtime]:
    async with MEMBERS[member]() as found:
        yield found


@pytest.mark.demand("agents.agent_contract_suite_same")
@over_members_with("say")
async def test_text(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    seen = await talk.send_message("say hello")
    assert "You said say hello." in seen.text
    assert seen.finish_reason == "stop"
    seen = await talk.send_message("say more")
    assert "You said say more." in seen.text
    assert "hello" not in seen.text, "what was said before is not said again"


@pytest.mark.demand("agents.agent_contract_suite_same")
@over_members_with("add")
async def test_a_tool_that_runs_there(runtime: Runtime) -> None:
    seen = await Conversation(runtime).send_message("add")
    id = seen.find_call_id("add")
    assert not seen.calls[id].client
    assert json.loads(seen.join_arguments(id)) == {"a": 2, "b": 3}
    assert seen.results == {id: "5"}
    assert "5" in seen.text
    assert seen.finish_reason == "stop"


@pytest.mark.demand("agents.frontend_actions_reach_agent", "agents.agent_contract_suite_same")
@over_members_with("paint")
async def test_a_tool_of_the_client(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    seen = await talk.send_message("paint it")
    id = seen.find_call_id("paint")
    assert seen.calls[id].client
    assert json.loads(seen.join_arguments(id)) == {"colour": "red"}
    assert (seen.finish_reason, seen.pending) == ("calls", (id,))
    seen = await talk.send_results({id: "painted"})
    assert "painted" in seen.text
    assert seen.finish_reason == "stop"
    assert not seen.calls, "it is not called again"


@pytest.mark.demand("agents.agent_state_loadagentstate_state", "agents.agent_contract_suite_same")
@over_members_with("notes")
async def test_state(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    seen = await talk.send_message("say hello")
    assert len(seen.states[-1]["notes"]) == 1
    assert "messages" not in seen.states[-1], "messages are told as messages"
    seen = await talk.send_message("say more")
    assert len(seen.states[-1]["notes"]) == 2


@pytest.mark.demand("agents.agent_contract_suite_same")
@over_members_with("ask")
async def test_a_question_and_its_answer(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    seen = await talk.send_message("ask me")
    (question,) = seen.questions
    assert "Approve" in question.message
    assert seen.finish_reason == "interrupt"
    seen = await talk.answer_question(question, "yes")
    assert "yes" in seen.text
    assert seen.finish_reason == "stop"
    gone = await talk.answer_question(question, "yes")
    assert gone.error.code == "already_answered"


@pytest.mark.demand("agents.agent_contract_suite_same", "agents.faults_agent_dies_mid")
@over_members_with("boom", "say")
async def test_an_error_and_the_thread_after_it(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    seen = await talk.send_message("boom")
    assert seen.error.fault == "upstream"
    assert "secret words" not in seen.error.message
    seen = await talk.send_message("say hello")
    assert "You said say hello." in seen.text


@over_members_with("ask")
async def test_a_question_is_its_owners(runtime: Runtime) -> None:
    talk = Conversation(runtime)
    (question,) = (await talk.send_message("ask me")).questions
    stolen = await Conversation(runtime, owner=Owner("bob")).answer_question(question, "yes")
    assert stolen.error.fault == "caller"
    seen = await talk.answer_question(question, "yes")
    assert "yes" in seen.text, "it still waits for its owner"
