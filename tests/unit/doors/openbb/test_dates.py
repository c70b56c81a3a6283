"""Today's date in the prompt, and words for a day as dates in the user's time zone."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rightseat import Runtime
from rightseat.doors.openbb import zones
from rightseat.doors.openbb.dates import parse_date
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.cases import each_case
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, OpenBBChat, make_result_item, post_query
from tests.unit.doors.openbb.test_read import HUMAN

MONDAY = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
LATE_SUNDAY = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)
"""A time at which Tokyo has Monday already."""


def make_date_widgets(**param: Any) -> dict[str, Any]:
    start = {"name": "start", "type": "date", "description": "First day", **param}
    widget = {"origin": "o", "widget_id": "w", "name": "Prices", "params": [start]}
    return {"primary": [widget], "secondary": [], "extra": []}


@pytest.fixture
def sunday(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "utc_now", lambda: LATE_SUNDAY)


@pytest.mark.io
@pytest.mark.demand("openbb.date_time_zone_prompt")
@pytest.mark.usefixtures("sunday")
@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            {"timezone": "Asia/Tokyo", "widgets": make_date_widgets()},
            "2026-11-16, a Monday, in the user's time zone Asia/Tokyo",
        ),
        (
            {"timezone": "America/New_York", "context": "The rate is 7 %."},
            "2026-11-15, a Sunday, in the user's time zone America/New_York",
        ),
        ({"timezone": "Middle/Earth"}, f"{LATE_SUNDAY.astimezone():%Y-%m-%d, a %A}"),
        ({"timezone": "../../etc/passwd"}, f"{LATE_SUNDAY.astimezone():%Y-%m-%d, a %A}"),
        ({"timezone": 5, "widgets": None}, f"{LATE_SUNDAY.astimezone():%Y-%m-%d, a %A}"),
        ({"widgets": LEGACY_WIDGETS}, f"{LATE_SUNDAY.astimezone():%Y-%m-%d, a %A}"),
    ],
)
async def test_the_date_is_the_last_line_of_the_instructions(body: dict[str, Any], line: str) -> None:
    model = FakeModel(reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        await post_query(server.url, {"messages": [HUMAN], **body}, legacy=isinstance(body.get("widgets"), list))
    [system, question] = model.prompts[0].messages
    # Last, and without a time of day: what stands before it stays in a prompt cache, and all of it for a day.
    assert system.text.endswith(f"\n- Today's date: {line}")
    assert question.text == "price?"


@pytest.mark.io
@pytest.mark.demand("openbb.date_parameter_converted")
@pytest.mark.usefixtures("sunday")
@pytest.mark.parametrize(
    ("word", "sent"),
    [
        ("yesterday", "2026-11-15"),
        ("last Friday", "2026-11-13"),
        ("$currentDate-1d", "2026-11-15"),
        ("昨天", "2026-11-15"),
        ("2026-01-05", "2026-01-05"),
        ("", "2025-11-16"),
        ("latest", "latest"),
    ],
)
async def test_a_date_goes_to_the_client_as_iso(word: str, sent: str) -> None:
    widgets = make_date_widgets(current_value="$currentDate-1y", options=["latest"], get_options=True)
    model = FakeModel(reply_calls(("prices", json.dumps({"start": word}))), reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=widgets, timezone="Asia/Tokyo")
        answer = await chat.send_text("Prices?")
        assert answer.sources[0]["input_args"] == {"start": sent}
        assert answer.call is not None
        # The client tells the time zone only once.
        answer = await chat.send_result(answer.call, make_result_item("[]"))
    assert answer.text == "ok"
    [tool] = [tool for tool in model.prompts[0].tools if tool.name == "prices"]
    assert tool.parameters["properties"]["start"]["default"] == "2025-11-16"
    assert "start 2025-11-16" in tool.description
    [call] = [call for message in model.prompts[1].messages for call in message.calls]
    assert json.loads(call.arguments) == ({"start": sent} if word else {})
    assert "Asia/Tokyo" in model.prompts[1].messages[0].text


@pytest.mark.io
@pytest.mark.demand("openbb.date_parameter_converted")
@pytest.mark.usefixtures("sunday")
async def test_what_is_no_date_is_an_error_that_the_model_mends() -> None:
    calls = [reply_calls(("prices", json.dumps({"start": start}))) for start in ("soon", "5 March", "2026-11-13")]
    model = FakeModel(*calls)
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=make_date_widgets(), timezone="Asia/Tokyo")
        answer = await chat.send_text("Prices?")
    assert [source["input_args"] for source in answer.sources] == [{"start": "2026-11-13"}]
    error = json.loads(model.prompts[1].messages[-1].text)["error"]
    assert error["code"] == "invalid_arguments"
    assert "'soon' is not a date" in error["message"]
    assert "YYYY-MM-DD" in error["message"]
    assert "Today is 2026-11-16, a Monday" in error["message"]
    assert "'5 March'" in model.prompts[2].messages[-1].text


@pytest.mark.io
@pytest.mark.demand("openbb.date_parameter_converted")
@pytest.mark.usefixtures("sunday")
async def test_several_dates_and_other_parameters() -> None:
    widgets = make_date_widgets(multi_select=True)
    widgets["primary"][0]["params"].append({"name": "note", "type": "text"})
    arguments = {"start": ["yesterday", "2026-01-05"], "note": "yesterday"}
    model = FakeModel(
        reply_calls(("prices", '{"start": 5}')),
        reply_calls(("prices", "5")),
        reply_calls(("prices", json.dumps(arguments))),
    )
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await OpenBBChat(server.url, widgets=widgets, timezone="Asia/Tokyo").send_text("Prices?")
    assert answer.sources[0]["input_args"] == {"start": ["2026-11-15", "2026-01-05"], "note": "yesterday"}


@pytest.mark.io
@pytest.mark.demand("openbb.date_parameter_converted")
@pytest.mark.usefixtures("sunday")
@pytest.mark.parametrize(("start", "sent"), [("yesterday", "2026-11-15"), ("soon", None)])
async def test_an_agent_of_another_kind_sends_no_other_dates(start: str, sent: str | None) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Event]:
        yield CallStart("c1", "prices", "m1", client=True)
        yield CallArgs("c1", json.dumps({"start": start}))
        yield CallEnd("c1")
        yield RunFinished("calls", pending=("c1",))

    async with serve_runtime(Runtime(agents={"agent": agent})) as server:
        chat = OpenBBChat(server.url, widgets=make_date_widgets(), timezone="Asia/Tokyo")
        answer = await chat.send_text("Prices?")
    if sent:
        assert answer.sources[0]["input_args"] == {"start": sent}
    else:
        assert answer.call is None
        assert "'soon' is not a date" in answer.text


@each_case(
    ("text", "day"),
    [
        ("today", "2026-11-16"),
        ("Yesterday", "2026-11-15"),
        ("the day before yesterday", "2026-11-14"),
        ("last monday", "2026-11-09"),
        ("next Friday", "2026-11-20"),
        ("three weeks ago", "2026-10-26"),
        ("a month ago", "2026-10-16"),
        ("in 2 weeks", "2026-11-30"),
        ("start of the year", "2026-01-01"),
        ("end of last month", "2026-10-31"),
        ("beginning of this week", "2026-11-16"),
        ("end of next week", "2026-11-29"),
        ("last day of previous quarter", "2026-09-30"),
        ("$currentDate", "2026-11-16"),
        ("$currentDate-1w", "2026-11-09"),
        ("$currentDate-3M", "2026-08-16"),
        ("$currentDate+2y", "2028-11-16"),
        ("$currentDate-10h", "2026-11-15"),
        ("$currentDate+1d-1M", "2026-10-17"),
        ("2024-02-29", "2024-02-29"),
        ("2024-01-05T10:00:00Z", "2024-01-05"),
        ("20240105", "2024-01-05"),
        ("March 5, 2024", "2024-03-05"),
        ("2024/3/5", "2024-03-05"),
        ("前天", "2026-11-14"),
        ("上周五", "2026-11-13"),
        ("本周三", "2026-11-18"),
        ("三天前", "2026-11-13"),
        ("两周前", "2026-11-02"),
        ("2024年3月5日", "2024-03-05"),
        ("二〇二四年三月五日", "2024-03-05"),
    ],
)
def test_words_for_a_day(text: str, day: str) -> None:
    assert parse_date(text, MONDAY.astimezone(ZoneInfo("Europe/London"))) == date.fromisoformat(day)


@each_case(
    "text",
    [
        "",
        "soon",
        "2024-02-30",
        "March 5",
        "03/05/2024",
        "friday",
        "last week",
        "ytd",
        "2024",
        "$currentDate-1q",
        "$currentDate+9999y",
        "9999 years ago",
        "9999 years from now",
        "周五",
        "3月5日",
        "三月五日",
        "春节",
        "去年",
        "前" * 40,
        "1" * 5000,
        "\ud800",
    ],
)
def test_what_means_no_day_or_several(text: str) -> None:
    assert parse_date(text, MONDAY) is None
