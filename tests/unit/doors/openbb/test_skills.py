"""Skills of the person, as Workspace offers them: requested in the client's form, followed, and not requested again."""

import json
from typing import Any

import pytest

from rightseat import Runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.openbb.client import MCP_TOOL, WIDGETS, OpenBBChat, make_result_item, post_query

pytestmark = pytest.mark.io
CATALOG = [{"slug": "notes", "description": "How to write notes"}, {"slug": "risk", "description": "How to rate risk"}]
NOTES = {"slug": "notes", "description": "How to write notes", "contentMarkdown": "# Notes\n\nUse three bullets."}
ARGUMENTS = {"slug": "notes", "reason": "The user wants notes."}


def get_skill_slugs(model: FakeModel, number: int = -1) -> list[str]:
    """The skills that the model could request."""
    tools = [tool for tool in model.prompts[number].tools if tool.name == "get_skill_content"]
    return [slug for tool in tools for slug in tool.parameters["properties"]["slug"]["enum"]]


@pytest.mark.demand("openbb.skills_in_the_clients_form")
async def test_a_skill_is_requested_with_its_reason_and_followed_as_an_instruction() -> None:
    model = FakeModel(reply_calls(("get_skill_content", json.dumps(ARGUMENTS))), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, skills_catalog=CATALOG)
        call = (await chat.send_text("Write notes")).call
        assert call is not None
        assert call["input_arguments"] == ARGUMENTS
        assert call["extra_state"]["copilot_function_call_arguments"] == ARGUMENTS
        answer = await chat.send_result(call, {"status": "success", "data": {"skill": NOTES}})
    assert answer.text == "Done."
    system = model.prompts[1].messages[0]
    assert system.role == "system"
    assert "## Active Skill 'notes'" in system.text
    assert "Use three bullets." in system.text
    assert get_skill_slugs(model, 0) == ["notes", "risk"]
    assert get_skill_slugs(model, 1) == ["risk"]
    everything = "".join(message.text for message in model.prompts[1].messages)
    assert everything.count("Use three bullets.") == 1


@pytest.mark.demand("openbb.skills_in_the_clients_form")
@pytest.mark.parametrize("catalog", [CATALOG[:1], CATALOG])
async def test_a_selected_skill_is_not_offered_again(catalog: list[dict[str, Any]]) -> None:
    model = FakeModel(reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        await OpenBBChat(server.url, selected_skills=[NOTES], skills_catalog=catalog).send_text("Write notes")
    assert "Use three bullets." in model.prompts[0].messages[0].text
    assert get_skill_slugs(model) == [skill["slug"] for skill in catalog[1:]]


@pytest.mark.demand("openbb.skills_in_the_clients_form")
async def test_a_loaded_skill_stays_active_in_the_next_question() -> None:
    model = FakeModel(
        reply_calls(("get_skill_content", '{"slug": "notes"}')), reply_text("Done."), reply_text("Done again.")
    )
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, skills_catalog=CATALOG)
        call = (await chat.send_text("Write notes")).call
        assert call is not None
        await chat.send_result(call, {"status": "success", "data": {"skill": NOTES}})
        answer = await chat.send_text("And now shorter")
    assert answer.text == "Done again."
    assert "Use three bullets." in model.prompts[2].messages[0].text
    assert get_skill_slugs(model) == ["risk"]


@pytest.mark.demand("openbb.skills_in_the_clients_form")
async def test_a_skill_result_without_its_call_is_read() -> None:
    """A client may drop the call from the history and keep its result."""
    model = FakeModel(reply_text("Done."))
    result: dict[str, Any] = {"role": "tool", "function": "get_skill_content", "input_arguments": {"slug": "notes"}}
    result["data"] = [{"status": "success", "data": {"skill": NOTES}}]
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await post_query(server.url, {"messages": [{"role": "human", "content": "Write notes"}, result]})
    assert answer.text == "Done."
    assert "Use three bullets." in model.prompts[0].messages[0].text


@pytest.mark.parametrize("data", [{"status": "error", "message": "no such skill"}, {"status": "success", "data": {}}])
async def test_a_skill_that_cannot_be_loaded_is_a_result_for_the_model(data: dict[str, Any]) -> None:
    model = FakeModel(reply_calls(("get_skill_content", '{"slug": "notes"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, skills_catalog=CATALOG)
        call = (await chat.send_text("Write notes")).call
        assert call is not None
        answer = await chat.send_result(call, data)
    assert answer.text == "Done."
    assert model.prompts[1].messages[-1].role == "tool"
    assert get_skill_slugs(model) == ["notes", "risk"]


@pytest.mark.demand("openbb.skills_in_the_clients_form")
async def test_a_call_of_an_mcp_tool_tells_the_client_what_is_called() -> None:
    """Workspace shows these fields beside the call."""
    model = FakeModel(reply_calls(("docs_search", '{"query": "x"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL])
        call = (await chat.send_text("Search")).call
        assert call is not None
        await chat.send_result(call, make_result_item("found"))
    told = call["extra_state"]["copilot_function_call_arguments"]
    target = {key: call["input_arguments"][key] for key in ("server_id", "tool_name")}
    assert told == {**target, "tool_args": {"query": "x"}, "summary": "docs_search"}
