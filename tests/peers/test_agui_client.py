"""The official AG-UI client (`HttpAgent.runAgent`) against the real server.

The program is agui-js/drive.mjs. Every run goes through the client's schemas and its verifier: a run that
they refuse is one whose promise is rejected, and what they do not know they warn about.
"""

import json
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from tests.kit.faults import CANARY
from tests.peers.agui_cases import CASES, CASES_WITH_WARNINGS, MESSAGES, REQUEST_ERRORS, RUN_ERRORS, TOOL_ERRORS
from tests.peers.client_runner import ClientReport
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.fixture
def report(drive_client: Callable[[str, tuple[str, ...]], ClientReport]) -> ClientReport:
    return drive_client("agui-js", CASES)


def list_event_kinds(turn: dict[str, Any]) -> list[str]:
    """The kinds of events in their order, each run of the same kind once."""
    return [kind for kind, _ in groupby(turn["events"])]


def list_interrupts(turn: dict[str, Any]) -> list[dict[str, Any]]:
    assert turn["finished"]["outcome"] == "interrupt"
    found: list[dict[str, Any]] = turn["finished"]["interrupts"]
    assert turn["pending"] == len(found)
    return found


@pytest.mark.demand("engine.npm_ag_ui_client")
@pytest.mark.parametrize("case", MESSAGES)
def test_conversation(report: ClientReport, case: str) -> None:
    last = report.get_turns(case)[-1]
    assert last["messages"] == MESSAGES[case]
    assert (last["finished"]["outcome"], last["pending"], last["error"]) == ("success", 0, None)


@pytest.mark.demand("copilotkit.ag_ui_events_validate", "engine.npm_ag_ui_client")
@pytest.mark.parametrize("case", [case.split()[0] for case in CASES if case.endswith(" stream")])
def test_the_verifier_accepts_every_run(report: ClientReport, case: str) -> None:
    for turn in report.get_turns(case):
        assert turn["warnings"] == []
        if case not in CASES_WITH_WARNINGS:
            assert (turn["threw"], turn["failed"]) == (None, None)


@pytest.mark.parametrize("case", TOOL_ERRORS)
def test_wrong_call_is_told_to_model_and_client(report: ClientReport, case: str) -> None:
    last = report.get_turns(case)[-1]
    code, message = TOOL_ERRORS[case]
    result, said = last["messages"][-2:]
    assert result[0] == "tool"
    error = json.loads(result[1])["error"]
    assert (error["code"], message in error["message"]) == (code, True)
    assert said[0] == "assistant"
    assert result[1] in said[1]
    assert last["finished"]["pending"] == [], "nothing is left for the client to run"
    assert report.count_bookings(case) == 0


@pytest.mark.demand("openai.cut_calls")
@pytest.mark.parametrize("case", RUN_ERRORS)
def test_failure(report: ClientReport, case: str) -> None:
    (turn,) = report.get_turns(case)
    code, message, heard = RUN_ERRORS[case]
    assert (turn["error"]["code"], message in turn["error"]["message"]) == (code, True)
    assert "".join(said[1] or "" for said in turn["new"]) == heard
    # A call before the cut one is complete.
    ready = [["locate", {"detail": "low"}]] if case == "second_shown" else []
    assert (turn["finished"], turn["ready"]) == (None, ready)
    assert list_event_kinds(turn)[-1] == "RUN_ERROR"
    assert CANARY not in json.dumps(turn)


@pytest.mark.parametrize("case", REQUEST_ERRORS)
def test_refused_before_the_run(report: ClientReport, case: str) -> None:
    (turn,) = report.get_turns(case)
    status, code, message = REQUEST_ERRORS[case]
    assert turn["failed"]["status"] == status
    body = json.loads(turn["threw"].removeprefix(f"HTTP {status}: "))
    assert (body["code"], message in body["message"]) == (code, True)
    assert turn["events"] == []


def test_text_events_and_usage(report: ClientReport) -> None:
    (turn,) = report.get_turns("text")
    text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert list_event_kinds(turn) == ["RUN_STARTED", *text, "RUN_FINISHED"]
    assert turn["finished"]["usage"] == [{"inputTokens": 5, "outputTokens": 4}]


def test_length_is_said(report: ClientReport) -> None:
    (turn,) = report.get_turns("length")
    assert turn["finished"]["result"] == {"finishReason": "length"}
    assert turn["ready"] == []


def test_client_calls_are_pending(report: ClientReport) -> None:
    asked, answered = report.get_turns("two_client_calls")
    assert (asked["finished"]["outcome"], len(asked["finished"]["pending"])) == ("success", 2)
    assert asked["ready"] == [["locate", {"detail": "low"}], ["clock", {"zone": "UTC"}]]
    assert answered["finished"]["pending"] == []


def test_server_and_client_call_in_one_model_turn(report: ClientReport) -> None:
    asked, answered = report.get_turns("mixed")
    assert len(asked["finished"]["pending"]) == 1
    assert asked["new"][1:] == [["tool", "5"]]
    saw = json.loads(answered["new"][0][1])
    assert saw["messages"][2:] == [["assistant", None, None], ["tool", "5", "add"], ["tool", "Oslo", "locate"]]


def test_a_result_that_the_client_leaves_out_is_said_to_be_missing(report: ClientReport) -> None:
    assert '"code":"no_result"' in report.get_turns("half_of_two")[-1]["messages"][-1][1]


def test_question(report: ClientReport) -> None:
    (asked,) = list_interrupts(report.get_turns("question")[0])
    assert (asked["reason"], asked["message"]) == ("input_required", "What is your name?")
    assert asked["responseSchema"] == {"type": "string"}
    assert asked["toolCallId"]


def test_an_answer_that_does_not_fit_is_asked_for_again(report: ClientReport) -> None:
    first, again, last = report.get_turns("unfit")
    assert list_interrupts(again)[0]["message"].startswith("What is your name?\n(")
    assert list_interrupts(again)[0]["id"] != list_interrupts(first)[0]["id"]
    assert last["messages"][-1] == ["assistant", "Hello Ada."]


@pytest.mark.demand("engine.npm_ag_ui_client")
def test_approval(report: ClientReport) -> None:
    asked, answered = report.get_turns("approved")
    (interrupt,) = list_interrupts(asked)
    assert (interrupt["reason"], interrupt["toolCallId"] != "") == ("tool_call", True)
    assert interrupt["message"] == 'Allow book with {"seat":"book approved"}?'
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert list_event_kinds(answered)[:2] == ["RUN_STARTED", "TOOL_CALL_RESULT"]
    assert (report.count_bookings("book approved"), report.count_bookings("both both")) == (1, 1)


@pytest.mark.demand("engine.npm_ag_ui_client")
def test_flow_shows_steps_and_state_around_its_question(report: ClientReport) -> None:
    asked, answered = report.get_turns("flow")
    assert list_event_kinds(asked)[4:] == ["STEP_STARTED", "STATE_SNAPSHOT", "STEP_FINISHED", "CUSTOM", "RUN_FINISHED"]
    assert asked["state"] == {"planned": "trip flow"}
    assert list_interrupts(asked)[0]["message"] == "Which city?"
    assert list_event_kinds(answered)[1:4] == ["STEP_STARTED", "STEP_FINISHED", "TOOL_CALL_RESULT"]
    assert report.count_bookings("trip flow to Oslo") == 1


def test_two_flows_in_the_same_step_are_one_step_to_the_client(report: ClientReport) -> None:
    asked, _ = report.get_turns("twins")
    assert asked["events"].count("STEP_STARTED") == asked["events"].count("STEP_FINISHED") == 1
    assert len(list_interrupts(asked)) == 2
    assert (report.count_bookings("twins 1 to Oslo"), report.count_bookings("twins 2 to Rome")) == (1, 1)


@pytest.mark.demand("agents.hand_off_agent_flow")
@pytest.mark.parametrize(("case", "end"), [("handed", "SUBAGENT_FINISHED"), ("handed_badly", "SUBAGENT_ERROR")])
def test_a_run_inside_is_seen_and_ended(report: ClientReport, case: str, end: str) -> None:
    """The client refuses the end of a run in which another is still open."""
    events = report.get_turns(case)[-1]["events"]
    assert [kind for kind in events if kind.startswith("SUBAGENT")] == ["SUBAGENT_STARTED", end]
    assert report.get_turns(case)[-1]["custom"].count("subagent") >= 2


@pytest.mark.parametrize("case", ["open_step", "raising_tool"])
def test_a_step_that_a_tool_left_open_is_ended(report: ClientReport, case: str) -> None:
    events = report.get_turns(case)[0]["events"]
    assert events.count("STEP_STARTED") == events.count("STEP_FINISHED") == 1


@pytest.mark.parametrize("case", ["approved_twice", "asked_twice", "raced"])
def test_the_same_answer_twice_acts_once(report: ClientReport, case: str) -> None:
    _, *answers = report.get_turns(case)
    (lost,) = [turn for turn in answers if turn["error"]]
    assert lost["error"]["code"] == "already_answered"
    assert len(answers) == 2
    assert report.count_bookings(case) == 1


def test_another_owner_cannot_answer(report: ClientReport) -> None:
    _, stranger, owner = report.get_turns("stranger")
    assert stranger["error"]["code"] == "already_answered"
    assert owner["messages"][-1] == ["assistant", "Booked book stranger."]
    assert report.count_bookings("stranger") == 1


def test_a_question_blocks_the_thread_until_it_is_answered(report: ClientReport) -> None:
    """The client's own rule; the server is not even asked."""
    assert "pending interrupt(s) not addressed by resume" in report.get_turns("unanswered")[1]["threw"]
    assert report.count_bookings("unanswered") == 0


def test_all_roles(report: ClientReport) -> None:
    saw = json.loads(report.get_turns("roles")[0]["new"][0][1])
    assert saw["messages"] == [
        ["system", "Be brief.", None],
        ["system", "Context from the application:\n- Page: Cart", None],
        ["system", "one", None],
        ["system", "two", None],
        ["user", "three", None],
        ["assistant", None, None],
        ["tool", "Oslo", "locate"],
        ["assistant", "four", None],
        ["user", "five", None],
    ]


def test_half_a_call_in_the_history_does_not_reach_the_model(report: ClientReport) -> None:
    saw = json.loads(report.get_turns("half_call")[1]["new"][0][1])
    assert all(isinstance(json.loads(arguments), dict) for arguments in saw["arguments"])


@pytest.mark.parametrize(("case", "heard"), [("leave", True), ("leave_waiting", False)])
def test_leaving_closes_the_upstream(report: ClientReport, case: str, heard: bool) -> None:
    (turn,) = report.get_turns(case)
    assert report.cases[f"{case} stream"]["closed"]
    assert turn["error"]["code"] == "abort"
    assert ("TEXT_MESSAGE_CONTENT" in turn["events"]) is heard


def test_nothing_appears_on_the_console(report: ClientReport) -> None:
    assert report.console == ""


def test_the_client_has_no_websocket_transport() -> None:
    """docs/agui.md says that none is served because of this. Where it has one, serve it."""
    folder = require("agui-js") / "node_modules" / "@ag-ui" / "client" / "dist"
    sources = list(folder.glob("*.mjs"))
    assert sources
    assert not [path.name for path in sources if "WebSocket" in path.read_text(encoding="utf-8")]
