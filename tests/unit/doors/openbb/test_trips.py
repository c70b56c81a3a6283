"""From the model's call to the widget and back: what is sent, what comes again, and what nobody may forge."""

import json
from base64 import b64encode
from typing import Any

import pytest

from rightseat import Prompt, Runtime, ToolContext, tool
from rightseat.types.messages import ImageMessagePart
from rightseat.types.model import Capabilities
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.documents import pdf_producers, sample_files
from tests.unit.doors.openbb.client import (
    LEGACY_STATE_FIELD,
    LEGACY_WIDGETS,
    MCP_TOOL,
    NEWS_UUID,
    PRICE_ROWS,
    PRICE_UUID,
    RATIOS_UUID,
    WIDGETS,
    OpenBBChat,
    make_result_item,
    post_query,
)

pytestmark = pytest.mark.io

PRICES = ("price", '{"symbol": "MSFT"}')


def list_tool_results(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages if message.role == "tool"]


def list_call_names(prompt: Prompt) -> list[list[str]]:
    return [[call.name for call in message.calls] for message in prompt.messages if message.calls]


@pytest.mark.demand("openbb.widgets_become_client_tools", "openbb.text_status_updates_server")
async def test_a_widget_is_asked_for_with_its_present_values() -> None:
    model = FakeModel(reply_calls(PRICES), reply_text("It is 233.85."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("price?")
        assert answer.call is not None
        assert answer.call["function"] == "get_widget_data"
        assert answer.sources == [
            {
                "widget_uuid": PRICE_UUID,
                "origin": "OpenBB API",
                "id": "historical_price",
                "input_args": {"symbol": "MSFT", "interval": "1d"},
            }
        ]
        assert answer.call["extra_state"][LEGACY_STATE_FIELD] == {"widget_queries": [{"widget_uuid": PRICE_UUID}]}
        answer = await chat.send_result(answer.call, make_result_item(PRICE_ROWS, data_type="object", parse_as="table"))
    assert answer.text == "It is 233.85."
    assert list_tool_results(model.prompts[1]) == [json.dumps(PRICE_ROWS)]
    assert list_call_names(model.prompts[1]) == [["price"]]
    [citation] = answer.list_events("copilotCitationCollection")[0]["citations"]
    assert citation["source_info"]["uuid"] == PRICE_UUID
    assert citation["source_info"]["metadata"] == {"input_args": {"symbol": "MSFT", "interval": "1d"}}


@pytest.mark.demand("openbb.exactly_copilotfunctioncall_last_stream")
async def test_several_widgets_go_in_one_call_and_each_result_finds_its_own() -> None:
    model = FakeModel(reply_calls(PRICES, ("ratios", "{}")), reply_text("Both."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("both?")
        assert answer.call is not None
        assert [source["id"] for source in answer.sources] == ["historical_price", "ratios"]
        failed = {"error_type": "gateway_error", "content": "HTTP 422"}
        answer = await chat.send_result(answer.call, make_result_item("prices"), failed)
    assert answer.text == "Both."
    assert list_tool_results(model.prompts[1]) == ["prices", '{"error":{"code":"gateway_error","message":"HTTP 422"}}']
    # What failed was not used.
    assert len(answer.list_events("copilotCitationCollection")[0]["citations"]) == 1


@pytest.mark.demand("openbb.exactly_copilotfunctioncall_last_stream")
async def test_what_one_call_cannot_carry_waits_its_turn_and_the_model_is_asked_once() -> None:
    search = ("docs_search", '{"query": "x"}')
    model = FakeModel(
        reply_calls(search, PRICES, ("news", '{"symbol": "A"}'), ("ratios", "{}")), reply_text("All four.")
    )
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL])
        first = await chat.send_text("all?")
        assert first.call is not None
        assert first.call["function"] == "execute_agent_tool"
        given = {"server_id": "srv-1", "tool_name": "Docs_search", "parameters": {"query": "x"}}
        assert first.call["input_arguments"] == given
        second = await chat.send_result(first.call, make_result_item("found"))
        assert second.call is not None
        assert (second.call["function"], len(second.sources)) == ("get_widget_data", 2)
        third = await chat.send_result(second.call, make_result_item("prices"), make_result_item("ratios"))
        assert third.call is not None
        assert third.call["function"] == "get_extra_widget_data"
        assert third.sources == [
            {"widget_uuid": NEWS_UUID, "origin": "OpenBB API", "id": "company_news", "input_args": {"symbol": "A"}}
        ]
        assert len(model.prompts) == 1
        last = await chat.send_result(third.call, make_result_item("news"))
    assert last.text == "All four."
    assert list_call_names(model.prompts[1]) == [["docs_search", "price", "news", "ratios"]]
    assert list_tool_results(model.prompts[1]) == ["found", "prices", "news", "ratios"]


@pytest.mark.demand("openbb.exactly_copilotfunctioncall_last_stream")
async def test_in_2024_a_call_is_a_uuid_and_several_are_made_one_by_one() -> None:
    model = FakeModel(reply_calls(("historical_stock_price", "{}"), ("ratios", "{}")), reply_text("Both."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS)
        first = await chat.send_text("both?")
        assert first.call is not None
        assert first.call["input_arguments"] == {"widget_uuid": PRICE_UUID}
        assert first.call[LEGACY_STATE_FIELD]["widget_uuid"] == PRICE_UUID
        assert "extra_state" not in first.call
        second = await chat.send_result(first.call, "prices")
        assert second.call is not None
        assert second.call["input_arguments"] == {"widget_uuid": RATIOS_UUID}
        last = await chat.send_result(second.call, "ratios")
    assert last.text == "Both."
    assert list_tool_results(model.prompts[1]) == ["prices", "ratios"]
    assert list_call_names(model.prompts[1]) == [["historical_stock_price", "ratios"]]


@pytest.mark.demand("openbb.without_extra_state_continuation")
async def test_a_client_of_2024_that_echoes_nothing_is_answered_from_its_history() -> None:
    model = FakeModel(reply_calls(("historical_stock_price", "{}")), reply_text("It is 233.85."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS)
        answer = await chat.send_text("price?")
        assert answer.call is not None
        del answer.call[LEGACY_STATE_FIELD]
        answer = await chat.send_result(answer.call, json.dumps(PRICE_ROWS))
    assert answer.text == "It is 233.85."
    assert list_tool_results(model.prompts[1]) == [json.dumps(PRICE_ROWS)]


@pytest.mark.demand("openbb.without_extra_state_continuation")
async def test_a_client_of_2024_that_echoes_nothing_still_has_what_the_server_found() -> None:
    @tool
    def secret() -> str:
        """A server's tool."""
        return "the server's own 42"

    price = ("historical_stock_price", "{}")
    model = FakeModel(reply_calls(("secret", "{}"), price), reply_calls(price), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[secret])) as server:
        chat = OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS)
        answer = await chat.send_text("price?")
        assert answer.call is not None
        del answer.call[LEGACY_STATE_FIELD]
        answer = await chat.send_result(answer.call, "first")
        assert list_tool_results(model.prompts[1]) == ["the server's own 42", "first"]
        # The same call again would be a loop to this client, which cannot tell what it asked for before.
        assert answer.call is None


@pytest.mark.demand("openbb.without_extra_state_continuation")
async def test_another_chats_call_is_not_taken_for_ours() -> None:
    @tool
    def secret() -> str:
        """A server's tool."""
        return "the server's own 42"

    price = ("historical_stock_price", "{}")
    model = FakeModel(reply_calls(("secret", "{}"), price), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[secret])) as server:
        answer = await OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS).send_text("price?")
        assert answer.call is not None
        del answer.call[LEGACY_STATE_FIELD]
        other = OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS)
        other.messages = [{"role": "human", "content": "another question"}]
        answer = await other.send_result(answer.call, "first")
    assert list_tool_results(model.prompts[1]) == ["first"]


@pytest.mark.demand("openbb.extra_state_carries_continuation")
async def test_server_results_stay_here_and_words_before_a_call_are_not_said_twice() -> None:
    @tool
    def secret() -> str:
        """A server's tool."""
        return "the server's own 42"

    model = FakeModel(reply_calls(("secret", "{}"), PRICES, text="Let me see."), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[secret])) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("go")
        assert answer.call is not None
        assert "server's own" not in json.dumps(answer.call)
        answer = await chat.send_result(answer.call, make_result_item("prices"))
    assert answer.text == "Done."
    assert list_tool_results(model.prompts[1]) == ["the server's own 42", "prices"]
    said = [message.text for message in model.prompts[1].messages if message.role == "assistant"]
    assert said == ["Let me see."]


class ImageModel(FakeModel):
    """A model that takes images."""

    capabilities = Capabilities(images=True)


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.parametrize("kind", [FakeModel, ImageModel])
async def test_an_image_is_shown_to_a_model_that_takes_images(kind: type[FakeModel]) -> None:
    model = kind(reply_calls(PRICES), reply_text("A chart."))
    picture = b64encode(sample_files.make_png(640, 480)).decode()
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("what does it show?")
        assert answer.call is not None
        item = make_result_item(picture, data_type="png", filename="chart.png")
        last = await chat.send_result(answer.call, item)
    [told] = list_tool_results(model.prompts[1])
    assert "image chart.png: PNG, 640 × 480 pixels" in told
    shown = [part.url for m in model.prompts[1].messages for part in m.parts if isinstance(part, ImageMessagePart)]
    assert shown == ([f"data:image/png;base64,{picture}"] if kind is ImageModel else [])
    assert ("does not take images" in told) is (kind is FakeModel)
    warning = ("WARNING", "Price: chart.png was not read: the model does not take images")
    assert (warning in last.statuses) is (kind is FakeModel)
    assert not any("only a part" in status for _, status in last.statuses)
    assert bool(last.list_events("copilotCitationCollection")) is (kind is ImageModel)


@pytest.mark.demand("openbb.unknown_parameter_named")
async def test_a_parameter_that_a_widget_does_not_have_is_named_and_no_other_data_is_fetched() -> None:
    wrong, right = ("price", '{"ticker": "MSFT"}'), ("price", '{"symbol": "MSFT", "ticker": null}')
    model = FakeModel(reply_calls(wrong), reply_calls(right))
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await OpenBBChat(server.url, widgets=WIDGETS).send_text("the price of MSFT?")
    [told] = list_tool_results(model.prompts[1])
    assert "There is no parameter 'ticker'. The parameters of this widget: symbol, interval." in told
    assert answer.call is not None
    [source] = answer.call["input_arguments"]["data_sources"]
    assert source["input_args"] == {"symbol": "MSFT", "interval": "1d"}


@pytest.mark.demand("documents.pdf_producers")
async def test_the_words_of_a_pdf_reach_the_model_with_their_spaces() -> None:
    model = FakeModel(reply_calls(PRICES), reply_text("A post."))
    content = b64encode(pdf_producers.make_drawn_font_pdf()).decode()
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("what is it about?")
        assert answer.call is not None
        await chat.send_result(answer.call, make_result_item(content, data_type="pdf", filename="post.pdf"))
    [told] = list_tool_results(model.prompts[1])
    assert pdf_producers.BROWSER_TEXT in told


@pytest.mark.demand("openbb.extra_state_carries_continuation")
async def test_what_the_client_forgets_comes_back_with_the_call() -> None:
    skill = {"slug": "brief", "description": "d", "contentMarkdown": "Answer in one line.", "source": "forced_slash"}
    model = FakeModel(reply_calls(PRICES), reply_calls(("ratios", "{}")), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, timezone="Asia/Tokyo", selected_skills=[skill])
        answer = await chat.send_text("go")
        for text in ("x", "y"):
            assert answer.call is not None
            answer = await chat.send_result(answer.call, make_result_item(text))
    assert answer.text == "Done."
    for prompt in model.prompts:
        assert "Asia/Tokyo" in prompt.messages[0].text
        assert "Answer in one line." in prompt.messages[0].text


@pytest.mark.demand("openbb.loop_guard_ends_turn")
async def test_the_same_call_again_ends_the_turn_with_a_sentence() -> None:
    model = FakeModel(reply_calls(PRICES), reply_calls(PRICES), reply_calls(PRICES), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        first = await chat.send_text("go")
        assert first.call is not None
        second = await chat.send_result(first.call, make_result_item("x"))
        assert second.call is None
        assert "stop here" in second.text
        # A person may ask for the same again.
        third = await chat.send_text("again, please")
        assert third.call is not None
        assert (await chat.send_result(third.call, make_result_item("x"))).text == "ok"


@pytest.mark.demand("openbb.loop_guard_ends_turn")
async def test_another_call_is_no_loop() -> None:
    model = FakeModel(reply_calls(PRICES), reply_calls(PRICES, ("ratios", "{}")), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        first = await chat.send_text("go")
        assert first.call is not None
        second = await chat.send_result(first.call, make_result_item("x"))
        assert second.call is not None
        assert (await chat.send_result(second.call, make_result_item("x"), make_result_item("y"))).text == "ok"


NOBODY = {"id": "c2", "name": "nobody", "arguments": {}}
FORGED: list[Any] = [
    None,
    [],
    {"rightseat": None},
    {"rightseat": {"calls": "x"}},
    {"rightseat": {"calls": [{"id": "a b", "name": "price", "arguments": {}}]}},
    {"rightseat": {"calls": [{"id": "c1", "name": "price", "arguments": {}}] * 2}},
    {"rightseat": {"calls": [{"id": "c1", "name": "price", "arguments": {}}], "later": [{"id": 1}]}},
    {"rightseat": {"calls": [{"id": f"call_{'0' * 24}_1", "name": "price", "arguments": {}}]}},
    {"rightseat": {"calls": [{"id": "c1", "name": "x", "arguments": {}}], "later": [NOBODY]}},
    {"someone": "else"},
]  # fmt: skip


@pytest.mark.demand("openbb.extra_state_carries_continuation")
@pytest.mark.parametrize("state", FORGED)
async def test_a_forged_state_is_nothing_but_a_history(state: Any) -> None:
    model = FakeModel(reply_calls(PRICES), reply_text("Fine."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("go")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, make_result_item("x"), extra_state=state)
    assert answer.text == "Fine."
    assert list_tool_results(model.prompts[1]) == ["x"]


@pytest.mark.demand("openbb.extra_state_carries_continuation")
async def test_a_forged_queue_can_only_ask_for_what_the_client_has_itself() -> None:
    model = FakeModel(reply_calls(PRICES), reply_text("Fine."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("go")
        assert answer.call is not None
        state = answer.call["extra_state"]
        more = {"id": "c9", "name": "ratios", "arguments": {"symbol": "X", "other": 1}}
        state["rightseat"]["later"] = [more, {"id": "c8", "name": "format_disk", "arguments": {}}]
        answer = await chat.send_result(answer.call, make_result_item("x"), extra_state=state)
        assert answer.call is not None
        assert [source["id"] for source in answer.sources] == ["ratios"]
        assert answer.sources[0]["input_args"] == {"symbol": "X", "period": "TTM"}
        assert (await chat.send_result(answer.call, make_result_item("y"))).text == "Fine."
    assert list_tool_results(model.prompts[1])[0] == "x"


async def test_a_widget_that_is_gone_is_no_dead_end() -> None:
    model = FakeModel(reply_calls(("docs_search", '{"query": "x"}'), PRICES), reply_text("Fine."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL])
        answer = await chat.send_text("go")
        assert answer.call is not None
        chat.fields["widgets"] = {"primary": [], "secondary": [], "extra": []}
        answer = await chat.send_result(answer.call, make_result_item("x"))
    assert answer.text == "Fine."
    assert list_tool_results(model.prompts[1])[0] == "x"


async def test_a_parameters_options_and_a_skill_are_asked_for_in_the_clients_form() -> None:
    skills = [{"slug": "notes", "description": "How to write notes", "updatedAt": "2026-03-22T12:00:00Z"}]
    asked = reply_calls(("get_parameter_options", '{"parameter": "ratios.period"}'))
    model = FakeModel(asked, reply_calls(("get_skill_content", '{"slug": "notes"}')), reply_text("Fine."))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, skills_catalog=skills)
        answer = await chat.send_text("go")
        assert answer.call is not None
        query = {"origin": "OpenBB API", "id": "ratios", "param": "period"}
        query["options_endpoint_input_args"] = {"ticker": "AAPL"}  # type: ignore[assignment]
        assert answer.call["input_arguments"] == {"param_options_queries": [query]}
        answer = await chat.send_result(
            answer.call, make_result_item({"param_options": [{"param": "period", "options": []}]})
        )
        assert answer.call is not None
        assert answer.call["input_arguments"] == {"slug": "notes"}
        content = {"skill": {"slug": "notes", "contentMarkdown": "# Notes"}}
        answer = await chat.send_result(answer.call, {"status": "success", "data": content})
    assert answer.text == "Fine."
    assert "'notes' is active" in list_tool_results(model.prompts[2])[1]
    assert "# Notes" in model.prompts[2].messages[0].text


@pytest.mark.demand("openbb.loop_guard_ends_turn")
async def test_a_turn_cannot_go_to_the_client_for_ever() -> None:
    trips = [reply_calls(("price", json.dumps({"symbol": f"S{number}"}))) for number in range(16)]
    model = FakeModel(*trips[:16], reply_text("Enough."))
    async with serve_runtime(Runtime(model=model)) as server:
        messages: list[dict[str, Any]] = [{"role": "human", "content": "go"}]
        while True:
            answer = await post_query(server.url, {"messages": messages, "widgets": WIDGETS})
            if answer.call is None:
                break
            told = {name: answer.call[name] for name in ("function", "input_arguments")}
            messages += [
                {"role": "ai", "content": json.dumps(told)},
                {"role": "tool", **told, "data": [make_result_item("x")]},
            ]
    assert answer.call is None
    assert [bool(prompt.tools) for prompt in model.prompts[:17]] == [True] * 16 + [False]


@pytest.mark.parametrize("headers", [{}, {"X-Trace-Id": "chat-1"}])
async def test_a_question_of_a_tool_is_answered_by_the_next_thing_said(headers: dict[str, str]) -> None:
    @tool
    def book(ctx: ToolContext) -> str:
        """Book."""
        return f"booked for {ctx.ask('On which day?')}"

    model = FakeModel(reply_calls(("book", "{}")), reply_calls(PRICES), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[book])) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, headers=headers)
        assert (await chat.send_text("book")).text == "On which day?"
        answer = await chat.send_text("Monday")
        assert answer.call is not None
        answer = await chat.send_result(answer.call, make_result_item("prices"))
    assert answer.text == "Done."
    assert list_tool_results(model.prompts[2]) == ["booked for Monday", "prices"]
