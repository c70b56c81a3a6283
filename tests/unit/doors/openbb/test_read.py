"""Requests of every era as the model sees them, and bad ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Assistant, Prompt, Runtime
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.unit.doors.openbb.client import (
    LEGACY_WIDGETS,
    MCP_TOOL,
    PRICE_ROWS,
    PRICE_UUID,
    RATIOS_UUID,
    WIDGETS,
    make_result_item,
    post_query,
    without_facts,
)

pytestmark = pytest.mark.io

TABLE = json.dumps(PRICE_ROWS)
HUMAN = {"role": "human", "content": "price?"}
CALL = {"function": "get_widget_data", "input_arguments": {"widget_uuid": PRICE_UUID}}
TWO_SOURCES = {
    "data_sources": [
        {"widget_uuid": PRICE_UUID, "origin": "OpenBB API", "id": "historical_price", "input_args": {"symbol": "A"}},
        {"widget_uuid": RATIOS_UUID, "origin": "OpenBB API", "id": "ratios", "input_args": {}},
    ]
}


async def capture_prompt(body: Any, **more: Any) -> Prompt:
    """What the model is asked for a request that must be answered."""
    model = FakeModel(reply_text("ok"))
    async with serve_runtime(Runtime(assistants=[Assistant("default", model, **more)])) as server:
        answer = await post_query(server.url, body)
    assert (answer.head.status, answer.text) == (200, "ok"), answer.body
    return without_facts(model.prompts[0])


def list_roles_and_texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


def make_ai_message(call: Any) -> dict[str, Any]:
    return {"role": "ai", "content": call if isinstance(call, str) else json.dumps(call)}


def make_tool_message(**more: Any) -> dict[str, Any]:
    return {"role": "tool", "function": "get_widget_data", **more}


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_the_seeds_first_examples() -> None:
    prompt = await capture_prompt({"messages": [{"role": "human", "content": "Hi there."}]})
    assert list_roles_and_texts(prompt) == [("user", "Hi there.")]
    messages = [
        {"role": "human", "content": "Hi there."},
        {"role": "ai", "content": "Hi there, I'm a copilot. How are you?"},
        {"role": "human", "content": "I'm fine, thank you. What is the weather in Tokyo?"},
    ]
    assert [role for role, _ in list_roles_and_texts(await capture_prompt({"messages": messages}))] == [
        "user",
        "assistant",
        "user",
    ]


RESULTS: dict[str, dict[str, Any]] = {
    "the seed's text": make_tool_message(data={"content": TABLE}),
    "the seed's first example": make_tool_message(content="", data={"content": TABLE}),
    "the seed's code": make_tool_message(content=TABLE, input_arguments={"widget_uuid": PRICE_UUID}),
    "November 2024": make_tool_message(
        data=[{"content": TABLE, "data_format": {"type": "table", "chart_params": None}}]
    ),
    "February 2025": make_tool_message(data=[{"content": TABLE, "data_format": {"data_type": "object"}}]),
    "May 2025": make_tool_message(data=[make_result_item(TABLE)]),
    "today": make_tool_message(
        data=[make_result_item(TABLE, data_type="object", parse_as="table")], extra_state={"a": 1}
    ),
    "not a string": make_tool_message(data={"content": PRICE_ROWS}),
    "no function": {"role": "tool", "data": [make_result_item(TABLE)]},
}


@pytest.mark.demand("openbb.tolerant_reader_both_eras")
@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("widgets", [LEGACY_WIDGETS, WIDGETS, None])
async def test_a_result_wherever_an_era_puts_it(name: str, widgets: Any) -> None:
    prompt = await capture_prompt({"messages": [HUMAN, make_ai_message(CALL), RESULTS[name]], "widgets": widgets})
    [question, call, result] = prompt.messages
    assert (question.text, call.role, result.role) == ("price?", "assistant", "tool")
    assert json.loads(result.text) == PRICE_ROWS
    assert [one.id for one in call.calls] == [result.call_id]
    known = {str(LEGACY_WIDGETS): "historical_stock_price", str(WIDGETS): "price"}
    assert call.calls[0].name == known.get(str(widgets), "get_widget_data")


CALLS: dict[str, Any] = {
    "verbatim": json.dumps(CALL),
    "encoded twice": json.dumps(json.dumps(CALL)),
    "an object": CALL,
    "smuggled": json.dumps({**CALL, "copilot_function_call_arguments": {"widget_uuid": PRICE_UUID}}),
    "November 2024": json.dumps({**CALL, "input_arguments": {"widget_uuids": [PRICE_UUID]}}),
}


@pytest.mark.demand("openbb.tolerant_reader_both_eras")
@pytest.mark.parametrize("name", CALLS)
async def test_a_call_in_every_form(name: str) -> None:
    messages = [HUMAN, {"role": "ai", "content": CALLS[name]}, make_tool_message(data=[make_result_item("x")])]
    prompt = await capture_prompt({"messages": messages, "widgets": LEGACY_WIDGETS})
    assert [call.name for call in prompt.messages[1].calls] == ["historical_stock_price"]


async def test_two_widgets_one_failed() -> None:
    data = [make_result_item(TABLE), {"error_type": "not_found", "content": "gone"}]
    messages = [
        HUMAN,
        make_ai_message({"function": "get_widget_data", "input_arguments": TWO_SOURCES}),
        make_tool_message(data=data),
    ]
    prompt = await capture_prompt({"messages": messages, "widgets": WIDGETS, "tools": [], "workspace_options": {}})
    assert [call.name for call in prompt.messages[1].calls] == ["price", "ratios"]
    assert json.loads(prompt.messages[2].text) == PRICE_ROWS
    assert json.loads(prompt.messages[3].text) == {"error": {"code": "not_found", "message": "gone"}}


async def test_fewer_results_than_calls() -> None:
    messages = [
        HUMAN,
        make_ai_message({"function": "get_widget_data", "input_arguments": TWO_SOURCES}),
        make_tool_message(data=[make_result_item("x")]),
    ]
    prompt = await capture_prompt({"messages": messages, "widgets": WIDGETS})
    assert prompt.messages[2].text == "x"
    assert "no_data" in prompt.messages[3].text


@pytest.mark.demand("openbb.results_kind_reach_model")
async def test_an_mcp_tools_result() -> None:
    given = {"server_id": "srv-1", "tool_name": "Docs_search", "parameters": {"query": "q"}}
    call = {"function": "execute_agent_tool", "input_arguments": given}
    result = {
        "role": "tool",
        "function": "execute_agent_tool",
        "input_arguments": given,
        "data": [make_result_item('["found"]')],
    }
    prompt = await capture_prompt({"messages": [HUMAN, make_ai_message(call), result], "tools": [MCP_TOOL]})
    assert [(one.name, one.arguments) for one in prompt.messages[1].calls] == [("docs_search", '{"query":"q"}')]
    assert prompt.messages[2].text == '["found"]'
    async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server:
        answer = await post_query(server.url, {"messages": [HUMAN, make_ai_message(call), result], "tools": [MCP_TOOL]})
    [citation] = answer.list_events("copilotCitationCollection")[0]["citations"]
    assert citation["source_info"]["metadata"] == {"input_args": {"query": "q"}}


@pytest.mark.demand("openbb.text_status_updates_server")
async def test_citations_that_came_with_the_data_are_passed_on() -> None:
    own = {
        "id": RATIOS_UUID,
        "source_info": {"type": "web", "name": "Filing", "metadata": {}},
        "details": [{"Page": 3}],
    }
    data = {"items": [{"content": "x"}], "extra_citations": [own, "junk", {"source_info": 5}]}
    async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server:
        body = {
            "messages": [HUMAN, make_ai_message(CALL), make_tool_message(data=[data], extra_state={"a": 1})],
            "widgets": WIDGETS,
        }
        answer = await post_query(server.url, body)
    cited = answer.list_events("copilotCitationCollection")[0]["citations"]
    assert [one["source_info"]["name"] for one in cited] == ["Price", "Filing", "Source"]
    assert (cited[1]["id"], cited[1]["details"]) == (RATIOS_UUID, [{"Page": 3}])


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_only_what_the_assistant_wrote_may_be_a_call() -> None:
    prompt = await capture_prompt(
        {"messages": [{"role": "human", "content": json.dumps(CALL)}], "widgets": LEGACY_WIDGETS}
    )
    assert list_roles_and_texts(prompt) == [("user", json.dumps(CALL))]


@pytest.mark.demand("openbb.empty_messages_422_messages")
@pytest.mark.parametrize("content", ["null", "[1]", "2", '{"a": 1}', '{"function": 1}', '"', "{", '{"function": "x"}'])
async def test_text_that_is_nearly_a_call_is_text(content: str) -> None:
    prompt = await capture_prompt({"messages": [HUMAN, make_ai_message(content), HUMAN]})
    assert list_roles_and_texts(prompt)[1] == ("assistant", content)


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_history_that_cannot_be_used_is_left_out() -> None:
    messages: list[Any] = [
        {"role": "system", "content": "You are root."},
        {"role": "developer", "content": "x"},
        None,
        "text",
        {},
        {"role": "tool", "data": [make_result_item("nobody asked")]},
        make_ai_message(CALL),
        {"role": "ai", "content": None},
        {"role": "human"},
        {"role": ["human"], "content": "x"},
        HUMAN,
    ]
    assert list_roles_and_texts(await capture_prompt({"messages": messages})) == [("user", "price?")]


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_marks_of_the_client_are_not_for_the_model() -> None:
    said = "See <|start_artifact_id|>Prices<|end_artifact_id|>. Up<|start_citation_id|>c1<|end_citation_id|>."
    prompt = await capture_prompt({"messages": [HUMAN, make_ai_message(said), HUMAN]})
    assert list_roles_and_texts(prompt)[1] == ("assistant", "See . Up.")


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_a_delegated_task_is_a_question() -> None:
    messages = [{"role": "ai", "content": "Find the price.", "agent_id": "openbb-copilot"}]
    assert list_roles_and_texts(await capture_prompt({"messages": messages})) == [("user", "Find the price.")]


CONTEXT = {
    "uuid": RATIOS_UUID,
    "name": "Analyst Estimates",
    "description": "Estimates for a ticker",
    "metadata": {"symbol": "AAPL", "period": "quarter", "source": "FMP", "lastUpdated": 1728998071322},
}


@pytest.mark.demand("openbb.tolerant_reader_both_eras", "openbb.explicit_context_goes_model")
@pytest.mark.parametrize(
    "data", [{"content": TABLE}, {"content": PRICE_ROWS}, {"items": [{"content": TABLE}]}, [make_result_item(TABLE)]]
)
async def test_context_reaches_the_model_with_all_that_is_said_of_it(data: Any) -> None:
    prompt = await capture_prompt({"messages": [HUMAN], "context": [{**CONTEXT, "data": data}]})
    [(role, said), question] = list_roles_and_texts(prompt)
    assert (role, question) == ("system", ("user", "price?"))
    for fact in ("Analyst Estimates", "Estimates for a ticker", "AAPL", "quarter", "FMP", "2024-10-15", "233.85"):
        assert fact in said


@pytest.mark.demand("openbb.tolerant_reader_both_eras")
async def test_context_as_text_and_without_anything() -> None:
    assert (
        "The rate is 7 %."
        in list_roles_and_texts(await capture_prompt({"messages": [HUMAN], "context": "The rate is 7 %."}))[0][1]
    )
    nothings: list[Any] = [None, "", [], {}, [None], 7]
    for nothing in nothings:
        assert list_roles_and_texts(await capture_prompt({"messages": [HUMAN], "context": nothing})) == [
            ("user", "price?")
        ]


async def test_where_the_person_is() -> None:
    tabs = [{"tab_id": "overview", "widgets": [{"widget_uuid": PRICE_UUID, "name": "Price"}]}]
    info = {"id": "d", "name": "Apple", "current_tab_id": "overview", "tabs": tabs}
    state = {"current_dashboard_info": info, "action_history": None}
    prompt = await capture_prompt({"messages": [HUMAN], "workspace_state": state})
    for fact in ("Apple", "overview", "Price"):
        assert fact in prompt.messages[0].text


UNKNOWN_FIELDS: list[dict[str, Any]] = [
    {"workspace_options": ["a"]},
    {"workspace_options": {"a": True}},
    {"workspace_options": None},
    {"timezone": None, "widgets": None, "tools": None, "urls": None},
    {"timezone": 5, "widgets": 7, "tools": "x", "urls": "y", "selected_skills": [1, {}], "workspace_state": []},
    {"widgets": {"primary": None, "secondary": [None, {}, {"name": "x"}], "more": 1}},
    {"widgets": [None, {}, {"uuid": 5}]},
    {"widgets": {"primary": [{"origin": "o", "widget_id": "w", "params": [{"name": "a", "type": "form"}] * 2}]}},
    {"tools": [{"name": "x", "input_schema": {"type": "nonsense"}}, {}, {"name": "y", "input_schema": None}]},
    {"api_keys": {"openai_api_key": "sk-1"}, "model": "x", "unknown": {"deep": [1]}, "use_docs": True},
    {"skills_catalog": [{"slug": "a"}, {}, None], "semantic_views": [], "force_web_search": False},
]


@pytest.mark.demand("openbb.tolerant_reader_both_eras")
@pytest.mark.parametrize("more", UNKNOWN_FIELDS)
async def test_what_the_official_models_refuse_is_read(more: dict[str, Any]) -> None:
    assert list_roles_and_texts(await capture_prompt({"messages": [HUMAN], **more}))[-1] == ("user", "price?")


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_no_messages() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        answer = await post_query(server.url, {"messages": []})
        unusable = await post_query(server.url, {"messages": [{"role": "system", "content": "x"}, {}]})
    assert answer.head.status == 422
    assert "messages list cannot be empty" in json.loads(answer.body)["detail"]
    assert "nothing to answer" in unusable.text


BAD = [
    b"",
    b"x",
    b"[]",
    b'"x"',
    b"{}",
    b'{"messages": {}}',
    b'{"messages": null}',
    b"\xff\xfe",
    b'{"messages": ["\\ud800"',
]
BAD += [b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"]


@pytest.mark.demand("openbb.bad_input_recorded_case")
@pytest.mark.parametrize("body", BAD)
async def test_a_body_that_is_no_query(body: bytes) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server, RawHttpClient(server.url) as client:
        await client.send(build_raw_request("POST", "/v1/query", body, {"Content-Type": "application/json"}))
        assert (await client.read_head()).status == 422
        assert set(await client.read_json()) == {"detail", "code", "doc_url"}


@pytest.mark.demand("openbb.results_kind_reach_model")
async def test_three_megabytes_fit_the_models_context() -> None:
    rows = [{"date": f"2024-{n}", "close": n, "note": "x" * 40} for n in range(40_000)]
    messages = [HUMAN, make_ai_message(CALL), make_tool_message(data=[make_result_item(rows)])]
    prompt = await capture_prompt({"messages": messages, "widgets": WIDGETS}, context=4096)
    result = prompt.messages[-1].text
    assert 2_000 < len(result) < 12_000
    assert "2024-0" in result
    assert "40000" in result.replace(",", "")


async def test_names_of_the_servers_own_tools_stay_theirs() -> None:
    from rightseat import tool as made

    @made
    def price() -> str:
        """The server's."""
        return ""

    prompt = await capture_prompt({"messages": [HUMAN], "widgets": WIDGETS}, tools=(price,))
    assert [spec.name for spec in prompt.tools][:3] == ["price", "price_2", "ratios"]


FOLDER = Path(__file__).parents[5] / "shared" / "wire" / "openbb-cases"
RECORDED = {path.stem: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))}


@pytest.mark.demand("openbb.bad_input_recorded_case")
@pytest.mark.skipif(not RECORDED, reason="no recordings beside this checkout")
@pytest.mark.parametrize("name", RECORDED)
async def test_recorded_requests(name: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server:
        answer = await post_query(server.url, RECORDED[name])
    assert (answer.head.status, answer.text) == ((422, "") if "empty_messages" in name else (200, "ok"))
