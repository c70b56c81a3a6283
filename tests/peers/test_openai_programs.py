"""What programs do with the official OpenAI clients of Python and npm: tools, runners, chunks, leaving.

The programs are openai-py/drive.py and openai-js/drive.mjs; each test looks at one case of one client.
"""

import json

import pytest

from tests.peers.openai_cases import NODE, PYTHON, Peer

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.mark.demand("openai.arguments_always_strings")
@pytest.mark.parametrize("case", ["client_tool", "client_tool_twice"])
def test_client_tool(peer: Peer, case: str) -> None:
    asked, *answers = peer.turns(case)
    assert asked["calls"] == [{"name": "locate", "arguments": '{"detail":"high"}', "type": "function"}]
    assert asked["finish"] == "tool_calls"
    assert asked["done"] == (["locate"] if peer.mode == "stream" else [])
    assert [turn["content"] for turn in answers] == ["You are in Oslo."] * len(answers)
    assert len(answers) == (2 if case == "client_tool_twice" else 1)


@pytest.mark.demand("engine.official_openai_clients_python", "openai.configured_assistant_server_tools")
def test_server_and_client_call_in_one_model_turn(peer: Peer) -> None:
    asked, answered = peer.turns("mixed")
    assert [call["name"] for call in asked["calls"]] == ["locate"], "only the client's own call is its business"
    assert asked["finish"] == "tool_calls"
    saw = json.loads(answered["content"])
    assert saw["messages"][2:] == [["assistant", None, None], ["tool", "5", "add"], ["tool", "Oslo", "locate"]]
    assert saw["arguments"] == ['{"a":2,"b":3}', '{"detail":"low"}']


def test_two_client_calls(peer: Peer) -> None:
    asked, answered = peer.turns("two_client_calls")
    assert [(call["name"], call["arguments"]) for call in asked["calls"]] == [
        ("locate", '{"detail":"low"}'),
        ("clock", '{"zone":"UTC"}'),
    ]
    assert answered["content"] == "It is noon."


def test_a_result_that_the_client_leaves_out_is_said_to_be_missing(peer: Peer) -> None:
    _, answered = peer.turns("half_of_two")
    assert '"code":"no_result"' in answered["content"]


def test_client_call_then_approval(peer: Peer) -> None:
    asked, question, answered = peer.turns("both")
    assert (asked["finish"], [call["name"] for call in asked["calls"]]) == ("tool_calls", ["locate"])
    assert question["content"].startswith("Allow book with ")
    assert question["finish"] == "stop"
    assert answered["content"] == f"Booked both both {peer.mode}."
    assert peer.booked("both") == 1


@pytest.mark.parametrize("case", ["cut_held", "cut_shown"])
def test_length_inside_a_call_leaves_no_call(peer: Peer, case: str) -> None:
    (turn,) = peer.turns(case)
    assert turn["done"] == []
    if peer.mode == "stream":
        assert (turn["class"], turn["heard"]) == ("LengthFinishReasonError", "Let me look.")
    else:
        assert (turn["finish"], turn["content"], turn["calls"]) == ("length", "Let me look.", [])


@pytest.mark.parametrize("once", [NODE], indirect=True)
def test_the_clients_own_runner(peer: Peer) -> None:
    assert peer.turns("runner") == [{"content": "You are in Oslo.", "ran": [["locate", '{"detail":"high"}']]}]
    (two,) = peer.turns("runner_two")
    assert (two["content"], [name for name, _ in two["ran"]]) == ("It is noon.", ["locate", "clock"])


@pytest.mark.demand("engine.official_openai_clients_python")
@pytest.mark.parametrize("case", ["runner_cut_held", "runner_cut_shown"])
@pytest.mark.parametrize("once", [NODE], indirect=True)
def test_the_clients_own_runner_runs_nothing_that_was_cut(peer: Peer, case: str) -> None:
    (turn,) = peer.turns(case)
    assert (turn["class"], turn["ran"]) == ("LengthFinishReasonError", [])


@pytest.mark.demand("engine.all_five_roles_door")
def test_all_five_roles(peer: Peer) -> None:
    saw = json.loads(peer.contents("roles")[0] or "")
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
def test_zero_and_false_arrive(peer: Peer) -> None:
    saw = json.loads(peer.contents("settings")[0] or "")
    assert (saw["temperature"], saw["seed"], saw["parallel_tool_calls"]) == (0, 0, False)


def test_the_client_tries_again_by_itself(peer: Peer) -> None:
    assert json.loads(peer.contents("retried")[0] or "")["messages"][-1][1] == f"limp retried {peer.mode}"


@pytest.mark.demand("openai.arguments_always_strings")
def test_chunks(once: Peer) -> None:
    deltas = [chunk["delta"] for chunk in once.turns("chunks")]
    assert deltas[0] == {"role": "assistant", "content": ""}
    (start,), (more,) = deltas[1]["tool_calls"], deltas[2]["tool_calls"]
    assert (start["index"], start["type"], start["function"]["name"]) == (0, "function", "locate")
    assert more["function"] == {"arguments": '{"detail":"high"}'}
    assert [chunk.get("finish_reason") for chunk in once.turns("chunks")] == [None, None, None, "tool_calls"]


@pytest.mark.demand("engine.keep_alive_15_s")
@pytest.mark.parametrize("once", [PYTHON], indirect=True)
def test_keep_alives_were_among_what_the_client_read(once: Peer) -> None:
    assert once.turns("keep_alive")[0]["passed"].startswith(":")


def test_leaving_closes_the_upstream(peer: Peer) -> None:
    ended = "CancelledError" if peer.name == PYTHON else "APIUserAbortError"
    assert peer.turns("leave_waiting") == [{"ended": ended}]
    assert peer.seen.cases[f"leave_waiting {peer.mode}"]["closed"]
    assert peer.seen.cases["leave stream"] == {"turns": [{"first": "w0"}], "closed": True}


def test_nothing_appears_on_the_console(once: Peer) -> None:
    assert once.seen.notes == ""
