"""The official AG-UI client on CopilotKit's routes and single endpoint: the same talks, on kept threads."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.peers.agui_cases import CASES, HELLO, MESSAGES, MODES, PURE_CASES, RUN_ERRORS, TOOL_ERRORS
from tests.peers.client_runner import ClientReport

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.parametrize("mode", MODES)]
SUM_MESSAGES = [["user", "sum"], *MESSAGES["server_tool"][1:]]


@pytest.fixture
def report(drive_client: Callable[[str, tuple[str, ...]], ClientReport]) -> ClientReport:
    return drive_client("agui-js", CASES)


def assert_clean(turns: list[dict[str, Any]]) -> None:
    """Nothing that the client's verifier or its schemas do not like."""
    for turn in turns:
        if "told" not in turn:
            assert (turn["warnings"], turn["threw"], turn["failed"]) == ([], None, None)


@pytest.mark.demand("copilotkit.real_ag_ui_client")
@pytest.mark.parametrize("case", PURE_CASES)
def test_conversation(report: ClientReport, case: str, mode: str) -> None:
    turns = report.get_turns(case, mode)
    assert_clean(turns)
    assert turns[-1]["messages"] == MESSAGES[case]
    assert (turns[-1]["finished"]["outcome"], turns[-1]["pending"]) == ("success", 0)


@pytest.mark.parametrize("case", TOOL_ERRORS)
def test_wrong_call_is_told(report: ClientReport, case: str, mode: str) -> None:
    turns = report.get_turns(case, mode)
    assert_clean(turns)
    assert TOOL_ERRORS[case][0] in turns[-1]["messages"][-2][1]


@pytest.mark.demand("copilotkit.real_ag_ui_client")
@pytest.mark.parametrize("case", RUN_ERRORS)
def test_failure(report: ClientReport, case: str, mode: str) -> None:
    (turn,) = report.get_turns(case, mode)
    assert_clean([turn])
    code, message, heard = RUN_ERRORS[case]
    assert (turn["error"]["code"], message in turn["error"]["message"]) == (code, True)
    assert "".join(said[1] or "" for said in turn["new"]) == heard
    assert turn["events"][-1] == "RUN_ERROR"


@pytest.mark.demand("copilotkit.real_ag_ui_client")
def test_a_reload_shows_the_thread_and_goes_on(report: ClientReport, mode: str) -> None:
    turns = report.get_turns("reload", mode)
    assert_clean(turns)
    first, second, shown, more, again = turns
    hello = [["user", "hello"], ["assistant", HELLO]]
    assert first["messages"] == hello
    assert second["messages"] == shown["messages"] == [*hello, *SUM_MESSAGES]
    assert shown["events"].count("RUN_STARTED") == 2
    assert more["messages"] == again["messages"] == [*hello, *SUM_MESSAGES, *hello]
    assert (again["error"], again["pending"]) == (None, 0)


def test_a_run_that_failed_does_not_end_the_thread(report: ClientReport, mode: str) -> None:
    failed, after, shown = report.get_turns("reload_failed", mode)
    assert_clean([failed, after, shown])
    assert failed["error"]["code"] == "incomplete"
    assert shown["error"] is None
    assert shown["messages"][-2:] == [["user", "hello"], ["assistant", HELLO]]
    assert shown["messages"][:2] == [["user", "fault-reset"], ["assistant", "w0 w1 w2"]]


@pytest.mark.demand("copilotkit.real_ag_ui_client")
def test_a_question_can_be_answered_after_a_reload(report: ClientReport, mode: str) -> None:
    asked, shown, answered = report.get_turns("reload_asked", mode)
    assert_clean([asked, shown, answered])
    assert asked["pending"] == shown["pending"] == 1
    assert shown["finished"]["outcome"] == "interrupt"
    assert answered["messages"][-1] == ["assistant", "Booked book reload_asked."]
    assert report.count_bookings("book reload_asked") == len(MODES)


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
def test_a_client_that_knows_no_outcome_is_asked_too(report: ClientReport, mode: str) -> None:
    asked, answered = report.get_turns("older", mode)
    assert_clean([asked, answered])
    (question,) = asked["finished"]["interrupts"]
    assert asked["question"] == question
    assert question["message"] == 'Allow book with {"seat":"book older"}?'
    assert answered["messages"][-1] == ["assistant", "Booked book older."]
    assert report.count_bookings("book older") == len(MODES)


def test_of_two_questions_such_a_client_answers_the_one_it_was_shown(report: ClientReport, mode: str) -> None:
    asked, first, second = report.get_turns("older_twins", mode)
    assert_clean([asked, first, second])
    open_ = asked["finished"]["interrupts"]
    assert (len(open_), asked["question"]) == (2, open_[0])
    assert [item["id"] for item in first["finished"]["interrupts"]] == [open_[1]["id"]]
    assert first["question"]["id"] == open_[1]["id"]
    assert [told[1] for told in second["messages"] if told[0] == "tool"] == ["Bought: Oslo.", "Bought: Rome."]
    assert (second["finished"]["outcome"], second["question"]) == ("success", None)


@pytest.mark.demand("copilotkit.real_ag_ui_client", "copilotkit.peer_bugs_listed_notes")
def test_stop_and_a_busy_thread(report: ClientReport, mode: str) -> None:
    stopped, busy, after = report.get_turns("stop", mode)
    assert_clean([stopped])
    assert after["told"]["stopped"] is True
    assert after["again"]["stopped"] is False
    assert (stopped["error"], stopped["finished"]["outcome"]) == (None, "cancelled")
    assert stopped["messages"][-1][0] == "assistant"
    # By the status CopilotKit's client knows that the thread is locked; this one shows the words.
    assert busy["failed"]["status"] == 409
    words = '"message":"Thread already running. Wait for its answer or stop it.","code":"conflict"}'
    assert busy["threw"] == f'HTTP 409: {{"error":"Thread already running",{words}'
