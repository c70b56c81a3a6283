"""Documents and variables that are valid GraphQL, though no client of CopilotKit's sends them."""

from typing import Any
from urllib.parse import quote

import pytest

from rightseat import Runtime, tool
from rightseat.types.model import ToolChoice
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    PATH,
    UNSTREAMED_DOCUMENT,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

over_documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
JSON = "application/json"
DOCUMENT_WITH_SECOND_OPERATION = DOCUMENT + "\nquery Beside { ...Hello }\nfragment Hello on Query { hello }"
SWITCHED_DOCUMENT = DOCUMENT.replace("@stream", "@stream(if: $s)").replace("@defer", "@defer(if: $s)")


def declare_switch(definition: str) -> str:
    return SWITCHED_DOCUMENT.replace("$properties: JSONObject", f"$properties: JSONObject, {definition}", 1)


@pytest.mark.demand("copilotkit.valid_document_works_through")
async def test_of_several_operations_only_the_one_that_is_executed_counts() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        answer = await post_graphql(url, {"query": DOCUMENT_WITH_SECOND_OPERATION, "operationName": "Beside"}, JSON)
    assert (answer.head.status, answer.data) == (200, {"hello": "Hello World"})


@pytest.mark.demand("copilotkit.valid_document_works_through")
@pytest.mark.parametrize(
    ("document", "variables"),
    [
        (UNSTREAMED_DOCUMENT, {}),
        (GENERIC_DOCUMENT, {}),
        (DOCUMENT.replace("@stream", "@stream(if: false)").replace("@defer", "@defer(if: false)"), {}),
        (declare_switch("$s: Boolean!"), {"s": False}),
        (declare_switch("$s: Boolean!"), {"s": True}),
        (declare_switch("$s: Boolean = false"), {"s": True, "other": "half an emoji \ud83d"}),
    ],
)
async def test_a_document_without_a_plan_is_answered_in_one_piece(document: str, variables: dict[str, Any]) -> None:
    request = make_request_body(make_input(), document)
    request["variables"] |= variables
    async with serve_copilotkit(Runtime(model=FakeModel(*[reply_text("Good ", "day.")] * 3))) as url:
        answers = {
            accept: await post_graphql(url, request, accept)
            for accept in (JSON, "multipart/mixed", "text/event-stream")
        }
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
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("Good ", "day.")))) as url:
        answer = await post_graphql(url, {"query": document, "variables": {"data": make_input()}})
    assert answer.data == {"a": {"messages": [{"words": ["Good ", "day."]}]}}


@pytest.mark.demand("copilotkit.valid_document_works_through")
@over_documents
async def test_one_value_where_a_list_is_wanted(document: str) -> None:
    model = FakeModel(reply_text("Yes."))
    given = make_input(messages=make_text_message("hi"), forwardedParameters={"stop": "x"})
    async with serve_copilotkit(Runtime(model=model)) as url:
        answer = await post_graphql(url, make_request_body(given, document))
    assert (answer.errors, answer.text) == ([], "Yes.")
    [prompt] = model.prompts
    assert ([m.text for m in prompt.messages], prompt.settings.stop) == (["hi"], ("x",))


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@over_documents
@pytest.mark.parametrize("properties", ["x", 7, [], True])
async def test_properties_that_are_no_object(document: str, properties: Any) -> None:
    request = make_request_body(make_input(), document)
    request["variables"]["properties"] = properties
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        answer = await post_graphql(url, request)
    [error] = answer.errors
    assert (answer.head.status, error["extensions"]["code"]) == (200, "CONFIGURATION_ERROR")
    assert "xpected" in error["message"]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_a_tool_of_the_server_can_be_chosen() -> None:
    @tool
    def mine(a: int) -> int:
        """Mine."""
        return a

    model = FakeModel(reply_text("Yes."))
    given = make_input(forwardedParameters={"toolChoice": "function", "toolChoiceFunctionName": "mine"})
    async with serve_copilotkit(Runtime(model=model, tools=[mine])) as url:
        answer = await post_graphql(url, make_request_body(given))
    assert answer.text == "Yes."
    assert model.prompts[0].tool_choice == ToolChoice("named", "mine")


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
@pytest.mark.parametrize(
    ("variables", "words"),
    [("{", "variables: not valid JSON"), ("7", "variables: Expected `object`, got `int`"), ("", "")],
)
async def test_variables_in_an_address(variables: str, words: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url, RawHttpClient(url) as client:
        await client.get(f"{PATH}?query=%7Bhello%7D&variables={quote(variables)}")
        await client.read_head()
        told = await client.read_json()
    assert [error["message"].startswith(words) for error in told.get("errors", ())] == [True] * bool(words)
    assert told["data"] == (None if words else {"hello": "Hello World"})
