from __future__ import annotations

import json

from rightseat.models.llamacpp.embedded.results import (
    find_problem,
    format_refusal,
    format_results,
    list_results,
    list_unknown_numbers,
)
from rightseat.types.messages import text_message
from tests.kit.cases import each_case

ERROR = json.dumps({"error": {"code": "tool_failed", "message": "The disk is full."}})
DENIED = json.dumps({"error": {"code": "denied", "message": "The person did not allow this call."}})


@each_case(
    ("answer", "result", "problem"),
    [
        ("Order A7 is cancelled.", "A7 cancelled", None),
        ("The tool reported an error: cancellation.", "A7 cancelled", "a success told as a failure"),
        ("抱歉，取消失败。A7", "A7 cancelled", "a success told as a failure"),
        ("Done.", "A7 cancelled", "nothing of the result"),
        ("订单 A7 已完成。", "A7 cancelled", "nothing of the result"),
        ("The order is on its way.", "on its way", None),
        ("No error in A7.", "A7: no error", None),
        ("There are 12 lamps.", '{"item":"lamp","stock":12}', None),
        ("There are 13 lamps.", '{"item":"lamp","stock":12}', "the number 13"),
        ("It is 12:30 UTC.", "2026-11-15 12:30:01 UTC", None),
        ("The total is 1,250.50.", '{"total": 1250.5}', None),
        ("There are 2 orders.", '[{"id":"x"},{"id":"y"}]', None),
        ("1. x\n2. y", '["x","y"]', None),
        ("It is done.", ERROR, "a failure told as a success"),
        ("It did not work: the disk is full.", ERROR, None),
        ("<tool_response>12</tool_response>", "12", "a tag"),
        ("  ", "12", "empty"),
        ("There is nothing by Banksy.", "[]", None),
        ("No, nobody plays him.", '{"results": []}', None),
        ("Done.", "OK", None),
        ("There was an error with A7.", '{"order": "A7", "refund": 0, "note": ""}', "a success told as a failure"),
        ("Nothing was found for A7.", '{"order": "A7", "cancelled": true}', "a success told as a failure"),
    ],
)
def test_find_problem(answer: str, result: str, problem: str | None) -> None:
    assert find_problem(answer, [result], []) == problem


def test_a_question_for_a_number_gets_one() -> None:
    result = '{"item": "lamp", "stock": 12}'
    assert find_problem("The lamps are lamp.", [result], [], "How many lamps do we have?") == "no number"
    assert find_problem("We have 12.", [result], [], "How many lamps do we have?") is None
    assert find_problem("There are none.", ['{"stock": 0}'], [], "How many lamps do we have?") is None
    assert find_problem("It is a lamp.", [result], [], "What is it?") is None


def test_numbers_of_the_question_are_known() -> None:
    assert find_problem("For 4 people: booked.", ["booked"], ["Book a table for 4"]) is None
    assert list_unknown_numbers("4 and 5", ["4"]) == ["5"]
    assert list_unknown_numbers("in 2,019", ["2019"]) == []


@each_case(
    ("result", "english", "chinese"),
    [
        ("A7 cancelled", "A7 cancelled", "结果：A7 cancelled"),
        ('{"stock": 12, "open": true}', "stock: 12\nopen: yes", "结果：stock: 12\nopen: yes"),
        ('[{"a": 1}, {"a": null}]', "- a: 1\n- a: –", "结果：- a: 1\n- a: –"),
        ("[]", "Nothing was found.", "没有找到。"),
        (ERROR, "That did not work: The disk is full.", "没有成功：The disk is full."),
        (DENIED, "All right, nothing was done.", "好的，没有执行。"),
    ],
)
def test_format_results(result: str, english: str, chinese: str) -> None:
    assert format_results([result], "en") == english
    assert format_results([result], "zh") == chinese


def test_a_refusal_beside_results_and_one_of_a_service() -> None:
    assert format_refusal(["A7 cancelled", DENIED], "en") == "A7 cancelled\n\nThe rest was not done."
    assert format_refusal([DENIED, DENIED], "zh") == "好的，没有执行。"
    denied = json.dumps({"error": {"code": "denied", "message": "No access to A7."}})
    assert format_refusal([denied], "en") is None
    assert format_results([denied], "en") == "That did not work: No access to A7."
    odd = json.dumps({"error": {"code": ["denied"], "message": None}})
    assert format_refusal([odd], "en") is None


def test_what_is_left_out_is_said() -> None:
    assert format_results([json.dumps(list(range(40)))], "en").endswith("- 11\n… and 28 more")


def test_only_results_after_the_last_question_count() -> None:
    messages = [
        text_message("user", "a"),
        text_message("tool", "old", call_id="1"),
        text_message("user", "b"),
        text_message("tool", "new", call_id="2"),
    ]
    assert list_results(messages) == ["new"]
