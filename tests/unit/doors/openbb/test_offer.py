"""Which widgets, MCP tools and skills a model is offered, and what the model and the person are told of the rest."""

import json
import uuid
from typing import Any

import pytest

from rightseat import Assistant, Prompt, Runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.openbb.client import (
    LEGACY_WIDGETS,
    MCP_TOOL,
    WIDGETS,
    OpenBBChat,
    QueryAnswer,
    make_result_item,
    post_query,
)
from tests.unit.doors.openbb.test_read import HUMAN, make_ai_message

pytestmark = pytest.mark.io

SUBJECTS = ("Balance Sheet", "Cash Flow", "Dividends", "Insider Trades", "Earnings Calendar", "Volatility")


def make_widget(number: int, name: str = "") -> dict[str, Any]:
    symbol = {"name": "symbol", "type": "ticker", "description": "Ticker", "current_value": f"T{number}"}
    return {
        "uuid": str(uuid.UUID(int=number + 1)),
        "origin": "OpenBB API",
        "widget_id": f"widget_{number}",
        "name": name or f"{SUBJECTS[number % len(SUBJECTS)]} {number}",
        "description": "Figures of a company, by quarter",
        "params": [symbol],
    }


MANY = [make_widget(number) for number in range(299)]
MCP_TOOLS = [{**MCP_TOOL, "name": f"Server_tool {number}", "server_id": f"s{number}"} for number in range(40)]
SKILLS = [{"slug": f"skill-{number}", "description": f"How to write report {number}"} for number in range(10)]
CHOSEN = {**WIDGETS["primary"][0], "name": "Bond Yields", "widget_id": "bond_yields"}


def make_body(question: str = "Hello", **more: Any) -> dict[str, Any]:
    widgets = {"primary": [CHOSEN], "secondary": MANY, "extra": []}
    messages = [{"role": "human", "content": question}]
    return {"messages": messages, "widgets": widgets, "tools": MCP_TOOLS, "skills_catalog": SKILLS, **more}


async def ask(body: dict[str, Any], **more: Any) -> tuple[Prompt, QueryAnswer]:
    """Return what the model is sent, and the answer."""
    model = FakeModel(reply_text("ok"))
    async with serve_runtime(Runtime(assistants=[Assistant("default", model, **more)])) as server:
        answer = await post_query(server.url, body, legacy=isinstance(body.get("widgets"), list))
    return model.prompts[0], answer


def list_names(prompt: Prompt, start: str) -> list[str]:
    return [tool.name for tool in prompt.tools if tool.name.startswith(start)]


@pytest.mark.demand("openbb.chosen_widgets_told")
@pytest.mark.parametrize("context", [None, 4096])
async def test_a_widget_says_whether_the_user_has_chosen_it(context: int | None) -> None:
    prompt, _ = await ask({"messages": [HUMAN], "widgets": WIDGETS}, context=context)
    about = {tool.name: tool.description for tool in prompt.tools}
    assert about["price"].startswith("Get the data of the widget 'Price', which the user has chosen.")
    assert about["ratios"].startswith("Get the data of the widget 'Ratios' on the user's dashboard.")
    assert about["news"].startswith("Get the data of the widget 'News', which is not on the user's dashboard.")
    assert "It shows symbol AAPL, interval 1d." in about["price"]
    assert "It shows symbol AAPL, period TTM." in about["ratios"]
    assert "It shows" not in about["news"]
    chosen = "- The widgets that the user has chosen; prefer them: price (Price: symbol AAPL, interval 1d)"
    # A small model takes such a line for data.
    assert (chosen in prompt.messages[0].text.split("\n")) == (context is None)


@pytest.mark.demand("openbb.chosen_widgets_told")
async def test_a_widget_of_2024_lies_on_the_dashboard() -> None:
    prompt, answer = await ask({"messages": [HUMAN], "widgets": LEGACY_WIDGETS})
    about = prompt.tools[0].description
    assert about.startswith("Get the data of the widget 'Historical Stock Price' on the user's dashboard.")
    assert "symbol: AAPL" in about
    assert "chosen" not in prompt.messages[0].text
    assert answer.text == "ok"


@pytest.mark.demand("openbb.chosen_widgets_told")
async def test_the_same_dashboard_gives_the_same_prompt() -> None:
    prompts = [(await ask(make_body(question, timezone="UTC")))[0] for question in ("Hello", "Hello", "Good morning")]
    assert prompts[0].messages == prompts[1].messages
    assert prompts[0].tools == prompts[1].tools == prompts[2].tools
    assert prompts[0].messages[0] == prompts[2].messages[0]


@pytest.mark.demand("openbb.room_tools_skills", "openbb.nothing_left_out_silently")
async def test_many_widgets_leave_room_for_tools_and_skills() -> None:
    prompt, answer = await ask(make_body("What are the dividends of T200?"))
    assert len(prompt.tools) <= 96
    assert prompt.tools[0].name == "bond_yields"
    assert len(list_names(prompt, "server_tool")) == 40
    [skills] = [tool for tool in prompt.tools if tool.name == "get_skill_content"]
    assert skills.parameters["properties"]["slug"]["enum"] == [skill["slug"] for skill in SKILLS]
    assert all(skill["description"] in skills.description for skill in SKILLS)
    assert "dividends_200" in {tool.name for tool in prompt.tools}
    offered = len(prompt.tools) - 41
    assert offered > 50
    assert f"you have {offered} of 300 widgets, those closest to the question" in prompt.messages[0].text
    said = f"The model was given {offered} of 300 widgets. Name another one to have it considered."
    assert answer.statuses == [("INFO", said)]
    assert answer.text == "ok"


@pytest.mark.demand("openbb.room_tools_skills", "openbb.nothing_left_out_silently")
async def test_little_context_leaves_room_for_tools_and_skills() -> None:
    prompt, answer = await ask(make_body("What are the dividends of T200?"), context=4096)
    names = [tool.name for tool in prompt.tools]
    assert names[0] == "bond_yields"
    assert "dividends_200" in names
    assert 4 < len([tool for tool in prompt.tools if "widget" in tool.description]) < 20
    assert 4 < len(list_names(prompt, "server_tool")) < 40
    [skills] = [tool for tool in prompt.tools if tool.name == "get_skill_content"]
    assert len(skills.parameters["properties"]["slug"]["enum"]) == 10
    kinds = [said.split(" of ")[1].split(".")[0] for _, said in answer.statuses]
    assert kinds == ["300 widgets", "40 MCP tools"]


@pytest.mark.demand("openbb.room_tools_skills")
async def test_the_only_mcp_tool_stays_in_a_little_context() -> None:
    prompt, answer = await ask(make_body(tools=[MCP_TOOL], skills_catalog=None), context=4096)
    assert list_names(prompt, "docs_search") == ["docs_search"]
    assert len(prompt.tools) > 10
    assert [said.split(" of ")[1] for _, said in answer.statuses] == [
        "300 widgets. Name another one to have it considered."
    ]


@pytest.mark.demand("openbb.room_tools_skills", "openbb.nothing_left_out_silently")
async def test_many_tools_and_skills_leave_room_for_widgets() -> None:
    tools = [{**MCP_TOOL, "name": f"Tool {number}"} for number in range(200)]
    skills = [{"slug": f"skill-{number}", "description": "x" * 300} for number in range(300)]
    prompt, answer = await ask(make_body("Use tool 177 and skill-299", tools=tools, skills_catalog=skills))
    assert len(prompt.tools) <= 96
    assert "tool_177" in list_names(prompt, "tool_")
    [skill] = [tool for tool in prompt.tools if tool.name == "get_skill_content"]
    assert "skill-299" in skill.parameters["properties"]["slug"]["enum"]
    assert len(list_names(prompt, "tool_")) >= 40
    kinds = [said.split(" of ")[1].split(".")[0] for _, said in answer.statuses]
    assert kinds == ["300 widgets", "200 MCP tools", "300 skills"]


@pytest.mark.demand("openbb.room_tools_skills", "openbb.nothing_left_out_silently")
async def test_a_chinese_question_finds_a_chinese_widget() -> None:
    named = [*MANY, make_widget(500, "现金流量表"), make_widget(501, "股息历史")]
    body = make_body("苹果的股息是多少？", widgets={"primary": [], "secondary": [], "extra": named})
    prompt, answer = await ask(body, context=4096)
    texts = [tool.description for tool in prompt.tools]
    assert any("股息历史" in text for text in texts)
    assert not any("现金流量表" in text for text in texts)
    assert answer.statuses[0][1].startswith("已向模型提供 301 个组件中的")


@pytest.mark.demand("openbb.nothing_left_out_silently")
async def test_a_client_of_2024_is_told_below_the_answer() -> None:
    widgets = [{"uuid": str(uuid.UUID(int=number + 1)), "name": f"Widget {number}"} for number in range(300)]
    model = FakeModel(reply_calls(("widget_299", "{}")), reply_text("It is 7."))
    rows = json.dumps([{"day": number, "close": number * 1.5} for number in range(60_000)])
    async with serve_runtime(Runtime(assistants=[Assistant("default", model, context=16_000)])) as server:
        chat = OpenBBChat(server.url, legacy=True, widgets=widgets)
        answer = await chat.send_text("What does widget 299 show?")
        # The call is the first event of the stream, as OpenBB's own test client needs it.
        assert [name for name, _ in answer.frames] == ["copilotFunctionCall"]
        assert answer.call is not None
        answer = await chat.send_result(answer.call, rows)
    [first, told] = answer.text.split("\n\n")
    assert first == "It is 7."
    offered = len(model.prompts[1].tools)
    assert told.startswith(f"(The model was given {offered} of 300 widgets. Name another one")
    assert told.endswith(" of 60,000 rows were read)")
    assert "of 60000 rows are shown" in model.prompts[1].messages[-1].text


@pytest.mark.demand("openbb.room_tools_skills")
async def test_what_was_called_stays_offered() -> None:
    model = FakeModel(
        reply_calls(("volatility_293", "{}")),
        reply_text("Low."),
        reply_calls(("cash_flow_295", "{}"), ("get_skill_content", '{"slug": "skill-3"}')),
        reply_text("ok"),
    )
    async with serve_runtime(Runtime(assistants=[Assistant("default", model, context=4096)])) as server:
        fields = {name: value for name, value in make_body().items() if name != "messages"}
        chat = OpenBBChat(server.url, **fields)
        answer = await chat.send_text("Volatility of T293?")
        assert answer.sources[0]["id"] == "widget_293"
        assert answer.call is not None
        await chat.send_result(answer.call, make_result_item("[]"))
        answer = await chat.send_text("And the cash flow of T295, by skill 3?")
        assert answer.sources[0]["id"] == "widget_295"
        assert answer.call is not None
        # The call of the skill waits until the widget's data has come.
        answer = await chat.send_result(answer.call, make_result_item("[]"))
        assert answer.call is not None
        assert answer.call["input_arguments"] == {"slug": "skill-3"}
    for prompt in model.prompts[1:]:
        assert "volatility_293" in {tool.name for tool in prompt.tools}
    called = {call.name for message in model.prompts[2].messages for call in message.calls}
    assert called == {"volatility_293"}


@pytest.mark.demand("openbb.nothing_left_out_silently")
async def test_the_person_is_told_of_rows_once() -> None:
    rows = [{"day": number, "close": number * 1.5, "note": "word " * 4} for number in range(60_000)]
    model = FakeModel(reply_calls(("price", "{}")), reply_calls(("ratios", "{}")), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("Prices?")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, make_result_item(rows))
        [(kind, said)] = answer.statuses
        assert kind == "INFO"
        assert said.startswith("Price: ")
        assert said.endswith(" of 60,000 rows were read")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, make_result_item("word " * 100_000))
    assert answer.statuses == [("INFO", "Ratios: only a part was read, since the model has no room for all of it")]
    assert answer.text == "ok"


@pytest.mark.demand("openbb.nothing_left_out_silently")
async def test_the_person_is_told_of_all_results_of_one_answer() -> None:
    rows = [{"day": number, "close": number * 1.5} for number in range(60_000)]
    model = FakeModel(reply_calls(("price", "{}"), ("docs_search", '{"query": "q"}')), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL])
        answer = await chat.send_text("Prices?")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, make_result_item(rows))
        assert answer.call is not None
        assert answer.statuses == []
        answer = await chat.send_result(answer.call, make_result_item("word " * 100_000))
    [(_, rows_told), (_, text_told)] = answer.statuses
    assert rows_told.endswith(" of 60,000 rows were read")
    assert text_told.startswith("Docs_search: only a part was read")


@pytest.mark.demand("openbb.nothing_left_out_silently")
async def test_added_data_and_files_that_do_not_fit_are_told() -> None:
    rows = json.dumps([{"day": number, "close": number} for number in range(20_000)])
    items: list[Any] = [{"name": "Prices", "data": {"content": rows}}]
    items += [{"name": f"Note {number}", "data": {"content": "x"}} for number in range(69)]
    body = {
        "messages": [HUMAN],
        "context": items,
        "timezone": "UTC",
        "urls": [f"http://127.0.0.1:1/{number}" for number in range(6)],
        "selected_skills": [{"slug": "long", "contentMarkdown": "word " * 3900}],
    }
    prompt, answer = await ask(body, context=8000)
    said = [text for _, text in answer.statuses]
    assert "64 of 70 added items were read" in said
    assert "4 of 6 pages were read" in said
    assert "skill 'long': only a part was read, since the model has no room for all of it" in said
    assert any(text.startswith("Prices: ") and text.endswith(" of 20,000 rows were read") for text in said)
    assert "(the rest does not fit)" in prompt.messages[0].text


@pytest.mark.demand("openbb.nothing_left_out_silently")
async def test_a_result_of_too_many_parts_is_told() -> None:
    parts = {"items": [{"content": f"part {number}"} for number in range(40)], "extra_citations": []}
    model = FakeModel(reply_calls(("price", "{}")), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("Prices?")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, parts)
    assert answer.statuses[0][1].startswith("Price: only a part was read")
    assert "[8 more parts are left out: at most 32 are read.]" in model.prompts[1].messages[-1].text


async def test_nothing_is_told_where_all_fits() -> None:
    prompt, answer = await ask({"messages": [HUMAN], "widgets": WIDGETS, "tools": [MCP_TOOL], "skills_catalog": SKILLS})
    assert answer.statuses == []
    assert "Not all" not in prompt.messages[0].text


async def test_a_thousand_widgets_of_one_name() -> None:
    widgets = {"primary": [], "secondary": [make_widget(number, "Same") for number in range(2000)], "extra": []}
    prompt, answer = await ask({"messages": [HUMAN, make_ai_message("Yes?"), HUMAN], "widgets": widgets})
    assert len(prompt.tools) == 95
    assert len({tool.name for tool in prompt.tools}) == 95
    assert "95 of 2,000 widgets" in answer.statuses[0][1]
