"""Clients before 1.5 have no place for questions, and those before 1.3 none for an agent's state."""

import re
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.types.events import StateSnapshot
from rightseat.types.tools import Result
from tests.kit.house import Lines, calls, says
from tests.unit.doors.copilotkit.client import DOCUMENT, Answer, ask, body, data, home, text

pytestmark = pytest.mark.io

# As 1.4 sends it, and as 1.0 does.
UNASKED = re.sub(r"    metaEvents @stream \{.*?\n    \}\n", "", DOCUMENT, flags=re.DOTALL)
STATELESS = re.sub(r"      \.\.\. on AgentStateMessageOutput \{.*?\n      \}\n", "", UNASKED, flags=re.DOTALL)
# The same, but nothing that a plan knows: graphql-core executes it.
UNPLANNED = UNASKED.replace("messages @stream", "messages @stream(initialCount: 0)")
documents = pytest.mark.parametrize("document", [UNASKED, STATELESS, UNPLANNED])
HI = text("hi")


def posted(answer: Answer) -> list[dict[str, Any]]:
    """What the client was told, as it posts it with its next question."""
    made = []
    for message in answer.messages:
        if message["__typename"] == "TextMessageOutput":
            made.append(text("".join(message["content"]), "assistant", message["id"]))
        elif message["__typename"] == "ActionExecutionMessageOutput":
            call = {"name": message["name"], "arguments": "".join(message["arguments"])}
            call["parentMessageId"] = message["parentMessageId"]
            made.append({**HI, "id": message["id"], "textMessage": None, "actionExecutionMessage": call})
    return made


def test_the_documents() -> None:
    assert "metaEvents" not in UNASKED
    assert "AgentStateMessageOutput" in UNASKED
    assert "AgentStateMessageOutput" not in STATELESS


@pytest.mark.demand("copilotkit.clients_1_0_client")
@documents
async def test_a_question_is_said_in_words_and_answered_in_words(document: str) -> None:
    @tool
    def greet(ctx: ToolContext) -> str:
        """Greet."""
        return f"Hello {ctx.ask('Your name?')}"

    model = Lines(calls(("greet", "{}"), text="One moment."), says("Done."))
    async with home(Runtime(model=model, tools=[greet])) as url:
        asked = await ask(url, body(data(HI), document))
        assert asked.text == "One moment.Your name?"
        said = [HI, *posted(asked), text("Ada", id="u2")]
        answered = await ask(url, body(data(*said), document))
    [result] = [m for m in answered.messages if m["__typename"] == "ResultMessageOutput"]
    assert (result["result"], answered.text) == ("Hello Ada", "Done.")


@pytest.mark.demand("copilotkit.clients_1_0_client")
async def test_a_question_is_an_event_where_there_is_a_place_for_it() -> None:
    @tool
    def greet(ctx: ToolContext) -> str:
        """Greet."""
        return f"Hello {ctx.ask('Your name?')}"

    async with home(Runtime(model=Lines(calls(("greet", "{}"))), tools=[greet])) as url:
        asked = await ask(url, body(data(HI)))
    assert (asked.text, len(asked.response["metaEvents"])) == ("", 1)


@pytest.mark.demand("copilotkit.clients_1_0_client")
@pytest.mark.parametrize(("document", "states"), [(UNASKED, 1), (STATELESS, 0)])
async def test_a_state_is_told_only_to_those_that_know_one(document: str, states: int) -> None:
    """1.0 breaks at a kind of message that it does not know; and its list may have no holes."""

    @tool
    async def plan(ctx: ToolContext) -> Any:
        """Plan."""
        yield StateSnapshot({"planned": True})
        yield Result("Planned.")

    model = Lines(calls(("plan", "{}")), says("Well ", "planned."))
    async with home(Runtime(model=model, tools=[plan])) as url:
        answer = await ask(url, body(data(HI), document))
    told = [kind for kind in answer.kinds if kind != "AgentState"]
    assert told == ["ActionExecution", "Result", "Text"]
    assert (len(answer.kinds) > len(told)) == bool(states)
    assert (answer.text, answer.response["status"]["code"]) == ("Well planned.", "Success")
