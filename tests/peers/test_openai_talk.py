"""What people say to the official OpenAI clients of Python and npm, and what they get: words or an exception.

The programs are openai-py/drive.py and openai-js/drive.mjs; each test looks at one case of one client. What
the two clients see is the same unless a test says so.
"""

import json
from typing import Any

import pytest

from tests.kit.faults import CANARY
from tests.peers.openai_cases import (
    ECHO,
    EXPECTED_TEXTS,
    HELLO,
    NODE,
    PYTHON,
    REQUEST_ERRORS,
    STREAM_ERRORS,
    TOOL_ERRORS,
    PeerReport,
)

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.mark.demand("engine.official_openai_clients_python", "openai.configured_assistant_server_tools")
@pytest.mark.parametrize("case", EXPECTED_TEXTS)
def test_talk(peer: PeerReport, case: str) -> None:
    assert peer.list_contents(case) == [text.replace("MODE", peer.mode) for text in EXPECTED_TEXTS[case]]
    assert {(turn["role"], turn["finish"], turn["model"]) for turn in peer.get_turns(case)} == {
        ("assistant", "stop", "default")
    }
    assert not any(turn["calls"] for turn in peer.get_turns(case))


@pytest.mark.parametrize("case", TOOL_ERRORS)
def test_wrong_call_is_told_to_the_model_and_never_handed_out(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    code, message = TOOL_ERRORS[case]
    assert f'"code":"{code}"' in turn["content"]
    assert message in turn["content"].replace('\\"', '"')
    assert (turn["finish"], turn["calls"], turn["done"]) == ("stop", [], [])


def assert_error(turn: dict[str, Any], expected: tuple[str, int, str, str]) -> None:
    kind, status, code, message = expected
    # The npm client has no class of its own for a status that it does not know.
    assert turn["class"] in (kind, "APIError" if kind == "APIStatusError" else kind)
    assert (turn["status"], turn["code"]) == (status, code)
    assert message in turn["message"]
    assert turn["request"], "the request's id is what a user can quote"
    assert CANARY not in json.dumps(turn)


@pytest.mark.demand(
    "openai.unknown_404_names_those", "openai.errors_openai_shape_right", "openai.official_openai_python_npm"
)
@pytest.mark.parametrize("case", REQUEST_ERRORS)
def test_failure_before_the_first_word(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    assert_error(turn, REQUEST_ERRORS[case])
    assert turn["retry_after"] == ("7" if case == "upstream_429" else None)
    assert turn["param"] == {"no_such_model": "model", "bad_request": "temperature"}.get(case)


@pytest.mark.demand(
    "engine.official_openai_clients_python", "openai.mid_stream_final_data", "openai.official_openai_python_npm"
)
@pytest.mark.parametrize("case", STREAM_ERRORS)
def test_failure_after_the_first_words(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    _, _, code, message = STREAM_ERRORS[case]
    if peer.mode == "whole":
        assert_error(turn, STREAM_ERRORS[case])
    else:
        # The status was sent long before, so all that is left is the clients' own class for such an error.
        assert (turn["class"], turn["status"], turn["code"]) == ("APIError", None, code)
        assert message in turn["message"]
        assert turn["heard"] == "w0 w1 w2"
        assert CANARY not in json.dumps(turn)


@pytest.mark.demand("openai.stream_options_include_usage")
def test_usage(peer: PeerReport) -> None:
    assert peer.get_turns("text")[0]["usage"] == [5, 4, 9]
    assert peer.get_turns("roles")[0]["usage"] == [7, 3, 10]


def test_question(peer: PeerReport) -> None:
    question, answered, later = peer.list_contents("question")
    assert question is not None
    assert " ".join(question.split()) == "One moment. What is your name?"
    assert (answered, later) == ("Hello Ada.", HELLO)


def test_question_is_a_paragraph_of_its_own(peer: PeerReport) -> None:
    assert peer.list_contents("question")[0] == "One moment.\n\nWhat is your name?"


def test_no_is_no(peer: PeerReport) -> None:
    assert '"code":"denied"' in (peer.list_contents("denied")[1] or "")
    assert peer.count_bookings("denied") == 0


def test_a_text_that_is_no_answer_gets_the_question_again(peer: PeerReport) -> None:
    again, done = peer.list_contents("evaded")[1:]
    assert "Allow book" in (again or "")
    assert "reply yes or no" in (again or "")
    assert done == f"Booked book evaded {peer.mode}."
    assert peer.count_bookings("evaded") == 1


def test_the_same_answer_twice_acts_once(peer: PeerReport) -> None:
    assert peer.list_contents("approved_twice")[1:] == [f"Booked book approved_twice {peer.mode}.", f"{ECHO}yes"]
    assert (peer.count_bookings("approved_twice"), peer.count_bookings("asked_twice")) == (1, 1)
    assert (peer.count_bookings("approved"), peer.count_bookings("flow"), peer.count_bookings("twins")) == (1, 1, 2)


def test_the_same_answer_from_two_windows_acts_once(peer: PeerReport) -> None:
    # The later one is told so, or it comes after the end and is words to the model.
    heard = [turn.get("content") or turn.get("code") for turn in peer.get_turns("raced")[1:]]
    assert f"Booked book raced {peer.mode}." in heard
    assert set(heard) <= {f"Booked book raced {peer.mode}.", "already_answered", f"{ECHO}yes"}
    assert peer.count_bookings("raced") == 1


def test_another_owner_cannot_answer(peer: PeerReport) -> None:
    assert peer.list_contents("stranger")[1:] == [f"{ECHO}yes", f"Booked book stranger {peer.mode}."]
    assert peer.count_bookings("stranger") == 1


def test_a_named_thread_needs_only_the_question_and_its_answer(peer: PeerReport) -> None:
    assert peer.list_contents("threaded")[1::2] == ["Hello Ada.", "Hello Ada."]


def test_refusal(peer: PeerReport) -> None:
    (turn,) = peer.get_turns("refusal")
    assert turn["refusal"] == "I will not."
    assert not turn["content"]


def test_reasoning(peer: PeerReport) -> None:
    (turn,) = peer.get_turns("reasoning")
    assert turn["content"] == "Done."
    # The npm client's accumulator keeps only the last piece of a field that it does not know.
    only_last = peer.name == NODE and peer.mode == "stream"
    assert turn["reasoning"] == (" think." if only_last else "First think.")


def test_length(peer: PeerReport) -> None:
    (turn,) = peer.get_turns("length")
    if (peer.name, peer.mode) == (PYTHON, "stream"):
        assert (turn["class"], turn["heard"]) == ("LengthFinishReasonError", "This is cut")
    else:
        assert (turn["finish"], turn["content"]) == ("length", "This is cut")
