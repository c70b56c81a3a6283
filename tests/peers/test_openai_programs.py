"""What programs do with the official OpenAI clients of Python and npm: tools, runners, chunks, leaving.

The programs are openai-py/drive.py and openai-js/drive.mjs; each test looks at one case of one client.
"""

import json

import pytest

from rightseat.runtime.runs import EFFECT_NOTE
from tests.peers.openai_cases import CUT_RUNNER_CASES, NODE, PYTHON, PeerReport

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.mark.demand("openai.arguments_always_strings")
@pytest.mark.parametrize("case", ["client_tool", "client_tool_twice"])
def test_client_tool(peer: PeerReport, case: str) -> None:
    asked, *answers = peer.get_turns(case)
    assert asked["calls"] == [{"name": "locate", "arguments": '{"detail":"high"}', "type": "function"}]
    assert asked["finish"] == "tool_calls"
    assert asked["done"] == (["locate"] if peer.mode == "stream" else [])
    assert [turn["content"] for turn in answers] == ["You are in Oslo."] * len(answers)
    assert len(answers) == (2 if case == "client_tool_twice" else 1)


@pytest.mark.demand("engine.official_openai_clients_python", "openai.configured_assistant_server_tools")
def test_server_and_client_call_in_one_model_turn(peer: PeerReport) -> None:
    asked, answered = peer.get_turns("mixed")
    assert [call["name"] for call in asked["calls"]] == ["locate"], "only the client's own call is its business"
    assert asked["finish"] == "tool_calls"
    saw = json.loads(answered["content"])
    assert saw["messages"][2:] == [["assistant", None, None], ["tool", "5", "add"], ["tool", "Oslo", "locate"]]
    assert saw["arguments"] == ['{"a":2,"b":3}', '{"detail":"low"}']


def test_two_client_calls(peer: PeerReport) -> None:
    asked, answered = peer.get_turns("two_client_calls")
    assert [(call["name"], call["arguments"]) for call in asked["calls"]] == [
        ("locate", '{"detail":"low"}'),
        ("clock", '{"zone":"UTC"}'),
    ]
    assert answered["content"] == "It is noon."


def test_a_result_that_the_client_leaves_out_is_said_to_be_missing(peer: PeerReport) -> None:
    _, answered = peer.get_turns("half_of_two")
    assert '"code":"no_result"' in answered["content"]


def test_client_call_then_approval(peer: PeerReport) -> None:
    asked, question, answered = peer.get_turns("both")
    assert (asked["finish"], [call["name"] for call in asked["calls"]]) == ("tool_calls", ["locate"])
    assert question["content"].startswith("Allow book with ")
    assert question["finish"] == "stop"
    assert answered["content"] == f"Booked both both {peer.mode}."
    assert peer.count_bookings("both") == 1


@pytest.mark.parametrize("case", ["cut_held", "cut_shown"])
def test_length_inside_a_call_leaves_no_call(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    assert turn["done"] == []
    if peer.mode == "stream":
        assert (turn["class"], turn["heard"]) == ("LengthFinishReasonError", "Let me look.")
    else:
        assert (turn["finish"], turn["content"], turn["calls"]) == ("length", "Let me look.", [])


@pytest.mark.demand("openai.cut_calls")
@pytest.mark.parametrize("case", ["second_held", "second_shown"])
def test_length_inside_the_second_call_keeps_the_first(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    if peer.mode == "stream":
        assert (turn["class"], turn["done"]) == ("LengthFinishReasonError", [])
    else:
        assert turn["calls"] == [{"name": "locate", "arguments": '{"detail":"low"}', "type": "function"}]
        assert turn["finish"] == "length"


@pytest.mark.parametrize("single_mode_peer", [NODE], indirect=True)
def test_the_clients_own_runner(peer: PeerReport) -> None:
    assert peer.get_turns("runner") == [{"content": "You are in Oslo.", "ran": [["locate", '{"detail":"high"}']]}]
    (two,) = peer.get_turns("runner_two")
    assert (two["content"], [name for name, _ in two["ran"]]) == ("It is noon.", ["locate", "clock"])


@pytest.mark.demand("engine.official_openai_clients_python")
@pytest.mark.parametrize("case", CUT_RUNNER_CASES)
@pytest.mark.parametrize("single_mode_peer", [NODE], indirect=True)
def test_the_clients_own_runner_runs_nothing_that_was_cut(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    assert (turn["class"], turn["ran"]) == ("LengthFinishReasonError", [])


@pytest.mark.demand("engine.all_five_roles_door")
def test_all_five_roles(peer: PeerReport) -> None:
    saw = json.loads(peer.list_contents("roles")[0] or "")
    assert saw["messages"] == [
        ["system", "Be brief.", None],
        ["system", "one", None],
        ["system", "two", None],
        ["user", "three", None],
        ["assistant", None, None],
        ["tool", "Oslo", "locate"],
        ["assistant", "four", None],
        ["user", "five", None],
    ]


@pytest.mark.demand("engine.temperature_0_seed_0", "openai.parallel_tool_calls_stop")
def test_zero_and_false_arrive(peer: PeerReport) -> None:
    saw = json.loads(peer.list_contents("settings")[0] or "")
    assert (saw["temperature"], saw["seed"], saw["parallel_tool_calls"]) == (0, 0, False)


def test_the_client_tries_again_by_itself(peer: PeerReport) -> None:
    assert json.loads(peer.list_contents("retried")[0] or "")["messages"][-1][1] == f"limp retried {peer.mode}"


@pytest.mark.demand("cluster.no_retry_after_effect")
def test_the_client_does_not_repeat_an_effect_by_itself(peer: PeerReport) -> None:
    [turn] = peer.get_turns("effect_once")
    assert turn["code"] == "upstream_overloaded"
    assert EFFECT_NOTE in turn["message"]
    assert peer.count_bookings("effect_once") == 1


@pytest.mark.demand("openai.arguments_always_strings")
def test_chunks(single_mode_peer: PeerReport) -> None:
    deltas = [chunk["delta"] for chunk in single_mode_peer.get_turns("chunks")]
    assert deltas[0] == {"role": "assistant", "content": ""}
    (start,), (more,) = deltas[1]["tool_calls"], deltas[2]["tool_calls"]
    assert (start["index"], start["type"], start["function"]["name"]) == (0, "function", "locate")
    assert more["function"] == {"arguments": '{"detail":"high"}'}
    assert [chunk.get("finish_reason") for chunk in single_mode_peer.get_turns("chunks")] == [
        None,
        None,
        None,
        "tool_calls",
    ]


@pytest.mark.demand("engine.keep_alive_15_s")
@pytest.mark.parametrize("single_mode_peer", [PYTHON], indirect=True)
def test_keep_alives_were_among_what_the_client_read(single_mode_peer: PeerReport) -> None:
    assert single_mode_peer.get_turns("keep_alive")[0]["passed"].startswith(":")


def test_leaving_closes_the_upstream(peer: PeerReport) -> None:
    ended = "CancelledError" if peer.name == PYTHON else "APIUserAbortError"
    assert peer.get_turns("leave_waiting") == [{"ended": ended}]
    assert peer.report.cases[f"leave_waiting {peer.mode}"]["closed"]
    assert peer.report.cases["leave stream"] == {"turns": [{"first": "w0"}], "closed": True}


def test_nothing_appears_on_the_console(single_mode_peer: PeerReport) -> None:
    assert single_mode_peer.report.console == ""
