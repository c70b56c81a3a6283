"""Clients before 1.5 have no place for questions, and those before 1.3 none for an agent's state."""

import re
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.types.events import StateSnapshot
from rightseat.types.tools import Result
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GraphQLAnswer,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

# As 1.4 sends it, and as 1.0 does.
DOCUMENT_WITHOUT_META_EVENTS = re.sub(r"    metaEvents @stream \{.*?\n    \}\n", "", DOCUMENT, flags=re.DOTALL)
DOCUMENT_WITHOUT_AGENT_STATE = re.sub(
    r"      \.\.\. on AgentStateMessageOutput \{.*?\n      \}\n", "", DOCUMENT_WITHOUT_META_EVENTS, flags=re.DOTALL
)
# The same, but nothing that a plan knows: graphql-core executes it.
GENERIC_OLD_DOCUMENT = DOCUMENT_WITHOUT_META_EVENTS.replace("messages @stream", "messages @stream(initialCount: 0)")
over_documents = pytest.mark.parametrize(
    "document", [DOCUMENT_WITHOUT_META_EVENTS, DOCUMENT_WITHOUT_AGENT_STATE, GENERIC_OLD_DOCUMENT]
)
HI = make_text_message("hi")


def to_input_messages(answer: GraphQLAnswer) -> list[dict[str, Any]]:
    """What the client was told, as it posts it with its next question."""
    made = []
    for message in answer.messages:
        if message["__typename"] == "TextMessageOutput":
            made.append(make_text_message("".join(message["content"]), "assistant", message["id"]))
        elif message["__typename"] == "ActionExecutionMessageOutput":
            call = {"name": message["name"], "arguments": "".join(message["arguments"])}
            call["parentMessageId"] = message["parentMessageId"]
            made.append({**HI, "id": message["id"], "textMessage": None, "actionExecutionMessage": call})
    return made


def test_the_documents() -> None:
    assert "metaEvents" not in DOCUMENT_WITHOUT_META_EVENTS
    assert "AgentStateMessageOutput" in DOCUMENT_WITHOUT_META_EVENTS
    assert "AgentStateMessageOutput" not in DOCUMENT_WITHOUT_AGENT_STATE


@pytest.mark.demand("copilotkit.clients_1_0_client")
@over_documents
async def test_a_question_is_said_in_words_and_answered_in_words(document: str) -> None:
    @tool
    def greet(ctx: ToolContext) -> str:
        """Greet."""
        return f"Hello {ctx.ask('Your name?')}"

    model = FakeModel(reply_calls(("greet", "{}"), text="One moment."), reply_text("Done."))
    async with serve_copilotkit(Runtime(model=model, tools=[greet])) as url:
        asked = await post_graphql(url, make_request_body(make_input(HI), document))
        assert asked.text == "One moment.Your name?"
        said = [HI, *to_input_messages(asked), make_text_message("Ada", id="u2")]
        answered = await post_graphql(url, make_request_body(make_input(*said), document))
    [result] = [m for m in answered.messages if m["__typename"] == "ResultMessageOutput"]
    assert (result["result"], answered.text) == ("Hello Ada", "Done.")


@pytest.mark.demand("copilotkit.clients_1_0_client")
async def test_a_question_is_an_event_where_there_is_a_place_for_it() -> None:
    @tool
    def greet(ctx: ToolContext) -> str:
        """Greet."""
        return f"Hello {ctx.ask('Your name?')}"

    async with serve_copilotkit(Runtime(model=FakeModel(reply_calls(("greet", "{}"))), tools=[greet])) as url:
        asked = await post_graphql(url, make_request_body(make_input(HI)))
    assert (asked.text, len(asked.response["metaEvents"])) == ("", 1)


@pytest.mark.demand("copilotkit.clients_1_0_client")
@pytest.mark.parametrize(("document", "states"), [(DOCUMENT_WITHOUT_META_EVENTS, 1), (DOCUMENT_WITHOUT_AGENT_STATE, 0)])
async def test_a_state_is_told_only_to_those_that_know_one(document: str, states: int) -> None:
    """1.0 breaks at a kind of message that it does not know; and its list may have no holes."""

    @tool
    async def plan(ctx: ToolContext) -> Any:
        """Plan."""
        yield StateSnapshot({"planned": True})
        yield Result("Planned.")

    model = FakeModel(reply_calls(("plan", "{}")), reply_text("Well ", "planned."))
    async with serve_copilotkit(Runtime(model=model, tools=[plan])) as url:
        answer = await post_graphql(url, make_request_body(make_input(HI), document))
    told = [kind for kind in answer.message_types if kind != "AgentState"]
    assert told == ["ActionExecution", "Result", "Text"]
    assert (len(answer.message_types) > len(told)) == bool(states)
    assert (answer.text, answer.response["status"]["code"]) == ("Well planned.", "Success")
