"""A model that is too small: rules choose the widget and its arguments and compute the answer, over real HTTP."""

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evals.widget_questions.asking import ask_question, load_set
from rightseat.config.settings import ServerSettings
from rightseat.doors.openbb import client_results, write
from rightseat.models.llamacpp.embedded.model import find_fixed_answer
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Capabilities, Model, Prompt
from rightseat.wiring.runtime import Runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_app, serve_runtime
from tests.unit.doors.openbb.client import SYMBOL_PARAM, OpenBBChat, make_result_item

pytestmark = pytest.mark.io
SEEN = load_set("seen")
ROWS = [{"date": "2024-10-15", "close": 233.85}, {"date": "2024-10-14", "close": 231.3}]
HOLDINGS = [{"symbol": "AAPL", "weight_pct": 7.1}, {"symbol": "MSFT", "weight_pct": 6.6}]


class RuledModel(Model):
    """Gives answers that leave no choice, as the embedded model does, and else the given text."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(context=8192, needs_rules=True)
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        for chunk in find_fixed_answer(prompt) or reply_text("free words"):
            yield chunk


def make_widget(number: int, id: str, name: str, columns: list[str], *params: dict[str, Any]) -> dict[str, Any]:
    return {
        "uuid": f"38181a68-9650-4940-84fb-a3f29c8869f{number}",
        "origin": "OpenBB API",
        "widget_id": id,
        "name": name,
        "description": name,
        "params": list(params),
        "columns": columns,
        "metadata": {},
    }


PRICES = make_widget(1, "prices", "Price History", ["date", "close"], SYMBOL_PARAM)
FUND = make_widget(2, "holdings", "ETF Holdings", ["symbol", "weight_pct"], {**SYMBOL_PARAM, "current_value": "SPY"})


def group_widgets(*widgets: dict[str, Any]) -> dict[str, Any]:
    return {"primary": [], "secondary": list(widgets), "extra": []}


CSV = b"date,symbol,close\n2024-10-15,600519,233.85\n2024-10-14,600519,231.3\n"


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
@pytest.mark.parametrize("question", SEEN.questions, ids=lambda question: str(question["id"]))
async def test_questions_of_the_seen_set(question: dict[str, Any]) -> None:
    if question["kind"] == "talk" and question["lang"] == "en":
        pytest.skip("the weights answer small talk")
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        answer = await ask_question(server.url, SEEN.dashboards[question["dashboard"]], question)
    assert not answer.problems, f"{answer.text} {answer.calls}"


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
@pytest.mark.parametrize("text", ["hello", "Thanks a lot!", "谢谢你", "what does volatility mean?", "who are you?"])
async def test_small_talk_is_offered_no_widget(text: str) -> None:
    model = RuledModel()
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await OpenBBChat(server.url, widgets=group_widgets(PRICES, FUND)).send_text(text)
    assert answer.text == "free words"
    assert model.prompts[-1].tools == ()


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_data_that_nothing_has_is_said_to_be_missing() -> None:
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(PRICES, FUND))
        answer = await chat.send_text("How many employees does Apple have?")
        bare = await OpenBBChat(server.url).send_text("What is the closing price of Apple?")
    assert answer.text == "Nothing on the dashboard has that data. There is: Price History, ETF Holdings."
    assert bare.text == "There is no data here that answers that: add a widget or a table to the chat."


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_the_model_reads_a_page_that_may_have_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "make_outbound", client_results.make_outbound)
    model = RuledModel()

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"The closing price of Apple is 17.25."})

    settings = ServerSettings(port=0, fetch_allow=("127.0.0.1",))
    async with serve_app(page) as url, serve_runtime(Runtime(model=model), settings) as server:
        answer = await OpenBBChat(server.url, urls=[f"{url}/page"]).send_text("What is the closing price of Apple?")
    assert answer.text == "free words"
    assert "17.25" in "".join(message.text for message in model.prompts[-1].messages)


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_a_ticker_names_a_row_first_and_then_the_parameter() -> None:
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(FUND))
        first = await chat.send_text("What is the weight of MSFT?")
        assert first.call
        assert first.sources[0]["input_args"] == {"symbol": "SPY"}
        answer = await chat.send_result(first.call, make_result_item(HOLDINGS))
        assert "6.6%" in answer.text
        other = OpenBBChat(server.url, widgets=group_widgets(FUND))
        first = await other.send_text("What are the top weights of QQQ?")
        assert first.call
        again = await other.send_result(first.call, make_result_item(HOLDINGS))
        assert again.call
        assert again.sources[0]["input_args"] == {"symbol": "QQQ"}
        answer = await other.send_result(again.call, make_result_item(HOLDINGS[:1]))
    assert "7.1%" in answer.text
    assert "QQQ" in answer.text


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_a_follow_up_keeps_what_it_does_not_name() -> None:
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(PRICES, FUND))
        first = await chat.send_text("What is the latest closing price?")
        assert first.call
        assert first.sources[0]["input_args"] == {"symbol": "AAPL"}
        answer = await chat.send_result(first.call, make_result_item(ROWS))
        assert answer.text == "The latest close is 233.85 (2024-10-15). Source: “Price History” (AAPL)."
        second = await chat.send_text("And for TSLA?")
    assert second.call
    assert second.sources[0]["id"] == "prices"
    assert second.sources[0]["input_args"] == {"symbol": "TSLA"}


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (make_result_item([]), "“Price History” (AAPL) has no rows."),
        (make_result_item("date,close\n2024-10-15,233.85\n2024-10-14,231.3"), "The latest close is 233.85"),
        (make_result_item("date,close\n2024-10-15,2338\n2024-10-14,2313", data_type="csv"), "The latest close is 2338"),
        (make_result_item(b64encode(CSV).decode(), data_type="csv", filename="a.csv"), "The latest close is 233.85"),
        (make_result_item(f"data:text/csv;base64,{b64encode(CSV).decode()}", data_type="csv"), "The latest close is"),
        ({"error_type": "unexpected_error", "content": "The feed is down."}, "free words"),
        (make_result_item("no table at all"), "free words"),
    ],
)
async def test_results_of_other_shapes(data: Any, said: str) -> None:
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(PRICES))
        first = await chat.send_text("What is the latest closing price?")
        assert first.call
        answer = await chat.send_result(first.call, data)
    assert answer.text.startswith(said)


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_all_rows_of_a_large_table_are_computed() -> None:
    rows = [{"date": f"2020-01-{n % 28 + 1:02}", "symbol": "AAPL", "close": n} for n in range(5000)]
    async with serve_runtime(Runtime(model=RuledModel())) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(PRICES))
        first = await chat.send_text("What was the highest close?")
        assert first.call
        answer = await chat.send_result(first.call, make_result_item(rows))
    assert "is 4999 (" in answer.text


@pytest.mark.demand("openbb.rules_answer_for_tiny_models")
async def test_other_models_decide_themselves() -> None:
    model = FakeModel(reply_calls(("price_history", '{"symbol": "NVDA"}')), reply_text("my own words"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=group_widgets(PRICES, FUND))
        first = await chat.send_text("What is the latest closing price?")
        assert first.call
        assert first.sources[0]["input_args"] == {"symbol": "NVDA"}
        answer = await chat.send_result(first.call, make_result_item(ROWS))
    assert answer.text == "my own words"
    assert {tool.name for tool in model.prompts[0].tools} >= {"price_history", "etf_holdings"}
    assert model.prompts[-1].known_answer == ""
