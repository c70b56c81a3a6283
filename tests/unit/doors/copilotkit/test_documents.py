"""Documents and variables that are valid GraphQL, though no client of CopilotKit's sends them."""

from typing import Any
from urllib.parse import quote

import pytest

from rightseat import Runtime, tool
from rightseat.types.model import ToolChoice
from tests.kit.client import Client
from tests.kit.house import Lines, says
from tests.unit.doors.copilotkit.client import DOCUMENT, GENERIC, PATH, WHOLE, ask, body, data, home, text

pytestmark = pytest.mark.io

both_ways = pytest.mark.parametrize("document", [DOCUMENT, GENERIC])
JSON = "application/json"
BESIDE = DOCUMENT + "\nquery Beside { ...Hello }\nfragment Hello on Query { hello }"
SWITCHED = DOCUMENT.replace("@stream", "@stream(if: $s)").replace("@defer", "@defer(if: $s)")


def switched(definition: str) -> str:
    return SWITCHED.replace("$properties: JSONObject", f"$properties: JSONObject, {definition}", 1)


@pytest.mark.demand("copilotkit.valid_document_works_through")
async def test_of_several_operations_only_the_one_that_is_executed_counts() -> None:
    async with home(Runtime(model=Lines())) as url:
        answer = await ask(url, {"query": BESIDE, "operationName": "Beside"}, JSON)
    assert (answer.head.status, answer.data) == (200, {"hello": "Hello World"})


@pytest.mark.demand("copilotkit.valid_document_works_through")
@pytest.mark.parametrize(
    ("document", "variables"),
    [
        (WHOLE, {}),
        (GENERIC, {}),
        (DOCUMENT.replace("@stream", "@stream(if: false)").replace("@defer", "@defer(if: false)"), {}),
        (switched("$s: Boolean!"), {"s": False}),
        (switched("$s: Boolean!"), {"s": True}),
        (switched("$s: Boolean = false"), {"s": True, "other": "half an emoji \ud83d"}),
    ],
)
async def test_a_document_without_a_plan_is_answered_in_one_piece(document: str, variables: dict[str, Any]) -> None:
    request = body(data(), document)
    request["variables"] |= variables
    async with home(Runtime(model=Lines(*[says("Good ", "day.")] * 3))) as url:
        answers = {accept: await ask(url, request, accept) for accept in (JSON, "multipart/mixed", "text/event-stream")}
    for accept, answer in answers.items():
        assert answer.head.headers["content-type"].startswith(accept)
        assert (len(answer.frames), answer.text) == (1, "Good day.")
        assert answer.response["status"]["code"] == "Success"


@pytest.mark.demand("copilotkit.valid_document_works_through")
async def test_directives_in_a_named_fragment() -> None:
    document = (
        "mutation M($data: GenerateCopilotResponseInput!)"
        " { a: generateCopilotResponse(data: $data) { ...R } }"
        " fragment R on CopilotResponse { messages @stream { ...T } }"
        " fragment T on TextMessageOutput { words: content @stream }"
    )
    async with home(Runtime(model=Lines(says("Good ", "day.")))) as url:
        answer = await ask(url, {"query": document, "variables": {"data": data()}})
    assert answer.data == {"a": {"messages": [{"words": ["Good ", "day."]}]}}


@pytest.mark.demand("copilotkit.valid_document_works_through")
@both_ways
async def test_one_value_where_a_list_is_wanted(document: str) -> None:
    model = Lines(says("Yes."))
    given = data(messages=text("hi"), forwardedParameters={"stop": "x"})
    async with home(Runtime(model=model)) as url:
        answer = await ask(url, body(given, document))
    assert (answer.errors, answer.text) == ([], "Yes.")
    [prompt] = model.asked
    assert ([m.text for m in prompt.messages], prompt.settings.stop) == (["hi"], ("x",))


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@both_ways
@pytest.mark.parametrize("properties", ["x", 7, [], True])
async def test_properties_that_are_no_object(document: str, properties: Any) -> None:
    request = body(data(), document)
    request["variables"]["properties"] = properties
    async with home(Runtime(model=Lines())) as url:
        answer = await ask(url, request)
    [error] = answer.errors
    assert (answer.head.status, error["extensions"]["code"]) == (200, "CONFIGURATION_ERROR")
    assert "xpected" in error["message"]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_a_tool_of_the_server_can_be_chosen() -> None:
    @tool
    def mine(a: int) -> int:
        """Mine."""
        return a

    model = Lines(says("Yes."))
    given = data(forwardedParameters={"toolChoice": "function", "toolChoiceFunctionName": "mine"})
    async with home(Runtime(model=model, tools=[mine])) as url:
        answer = await ask(url, body(given))
    assert answer.text == "Yes."
    assert model.asked[0].tool_choice == ToolChoice("named", "mine")


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
@pytest.mark.parametrize(
    ("variables", "words"),
    [("{", "variables: not valid JSON"), ("7", "variables: Expected `object`, got `int`"), ("", "")],
)
async def test_variables_in_an_address(variables: str, words: str) -> None:
    async with home(Runtime(model=Lines())) as url, Client(url) as client:
        await client.get(f"{PATH}?query=%7Bhello%7D&variables={quote(variables)}")
        await client.head()
        told = await client.json()
    assert [error["message"].startswith(words) for error in told.get("errors", ())] == [True] * bool(words)
    assert told["data"] == (None if words else {"hello": "Hello World"})
