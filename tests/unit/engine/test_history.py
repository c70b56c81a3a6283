"""What a model is shown: pairs, results we believe, what fits."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.engine.history import (
    PART_TOKENS,
    estimate_message_tokens,
    pair_calls_with_results,
    split_at_run,
    trailing_results,
    use_stored_results,
)
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, ToolCall, text_message
from rightseat.types.text import estimate_tokens
from rightseat.types.tools import UNANSWERED
from tests.kit.cases import each_case

TICKET = "0" * 24
OTHER = "1" * 24


def make_call_message(*ids: str, text: str = "", name: str = "f") -> Message:
    return Message("assistant", text_message("assistant", text).parts, tuple(ToolCall(id, name, "{}") for id in ids))


def make_result_message(id: str, text: str = "r") -> Message:
    return text_message("tool", text, call_id=id)


def test_results_move_behind_their_call_in_call_order() -> None:
    u, a, b = text_message("user", "u"), make_result_message("a", "A"), make_result_message("b", "B")
    call = make_call_message("a", "b")
    assert pair_calls_with_results([u, call, b, text_message("user", "v"), a]) == [
        u,
        call,
        a,
        b,
        text_message("user", "v"),
    ]


def test_a_call_without_result_gets_one_and_a_result_without_call_goes() -> None:
    call = make_call_message("a")
    shown = pair_calls_with_results([make_result_message("x"), call, text_message("user", "never mind")])
    assert shown == [call, text_message("tool", UNANSWERED, call_id="a"), text_message("user", "never mind")]
    assert json.loads(UNANSWERED)["error"]["code"] == "not_answered"


@pytest.mark.parametrize(
    ("arguments", "answered", "shown"),
    [('{"a":1}', False, '{"a":1}'), ("", False, "{}"), ('{"a', False, None), ("[1]", False, None), ('{"a', True, "{}")],
)
def test_a_call_that_was_cut_is_none_unless_it_was_answered(arguments: str, answered: bool, shown: str | None) -> None:
    told = Message("assistant", text_message("assistant", "well").parts, (ToolCall("a", "f", arguments),))
    line = pair_calls_with_results([told, *([make_result_message("a")] if answered else [])])
    assert [call.arguments for call in line[0].calls] == ([] if shown is None else [shown])
    assert line[0].text == "well"
    assert has_whole_pairs(line)


def test_a_message_that_was_only_a_cut_call_goes() -> None:
    cut = Message("assistant", calls=(ToolCall("a", "f", '{"a'),))
    assert pair_calls_with_results([text_message("user", "u"), cut, text_message("user", "v")]) == [
        text_message("user", "u"),
        text_message("user", "v"),
    ]


def test_the_first_of_two_results_counts() -> None:
    assert pair_calls_with_results(
        [make_call_message("a"), make_result_message("a", "first"), make_result_message("a", "second")]
    )[1:] == [make_result_message("a", "first")]


def test_an_id_used_again_has_the_result_of_its_own_turn() -> None:
    line = [
        make_call_message("c"),
        make_result_message("c", "one"),
        text_message("user", "again"),
        make_call_message("c"),
        make_result_message("c", "two"),
    ]
    assert [m.text for m in pair_calls_with_results(line) if m.role == "tool"] == ["one", "two"]


def test_an_id_used_twice_in_a_message_has_both_results() -> None:
    line = [
        make_call_message("c", "c"),
        make_result_message("c", "one"),
        make_result_message("c", "two"),
        make_result_message("c", "three"),
    ]
    assert [m.text for m in pair_calls_with_results(line) if m.role == "tool"] == ["one", "two"]
    earlier = [make_call_message("c"), text_message("user", "again"), *line]
    assert [m.text for m in pair_calls_with_results(earlier) if m.role == "tool"] == [UNANSWERED, "one", "two"]


def test_results_of_server_calls_are_ours() -> None:
    line = [
        make_call_message("a", name="balance"),
        make_result_message("a", "1000000"),
        make_call_message("b", name="show"),
        make_result_message("b", "seen"),
    ]
    believed = use_stored_results(line, {"balance"}, {"a": "10"})
    assert [m.text for m in believed if m.role == "tool"] == ["10", "seen"]
    assert [m.call_id for m in believed] == [None, "a", None, "b"]
    forgotten = use_stored_results(line, {"balance"}, {})[1]
    assert json.loads(forgotten.text)["error"]["code"] == "result_unknown"


def test_a_result_cannot_be_smuggled_in_under_a_clients_call() -> None:
    line = [
        make_call_message("a", name="balance"),
        make_result_message("a", "1000000"),
        make_call_message("a", name="show"),
    ]
    shown = pair_calls_with_results(use_stored_results(line, {"balance"}, {"a": "10"}))
    assert "1000000" not in [message.text for message in shown]


def test_before_and_after_a_run() -> None:
    first, last = text_message("user", "hi"), text_message("user", "and?")
    call = make_call_message(f"call_{TICKET}_1")
    result = make_result_message(f"call_{TICKET}_1")
    told = text_message("assistant", "hm", id=f"msg_{TICKET}_2")
    line = (first, call, result, told, last)
    assert split_at_run(line, TICKET) == ((first,), (last,))
    assert split_at_run((first, told), TICKET) == ((first,), ())
    assert split_at_run((first, result), TICKET) == ((first,), ())
    assert split_at_run(line, OTHER) == (line, ())


def test_ids_of_others_are_not_ours() -> None:
    line = (make_call_message(f"call_{TICKET}_x"), make_call_message("call_1"), text_message("user", "u", id=TICKET))
    assert split_at_run(line, TICKET) == (line, ())


def test_the_results_since_the_last_assistant_message() -> None:
    old, new, said_so = make_result_message("a", "old"), make_result_message("b", "new"), text_message("user", "there")
    assert trailing_results((make_call_message("a"), old, make_call_message("b"), new, said_so)) == {"b": "new"}
    assert trailing_results(
        (make_call_message("a"), make_result_message("a", "one"), make_result_message("a", "two"))
    ) == {"a": "two"}
    assert trailing_results((text_message("user", "u"),)) == {}


@each_case(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("你好", 2), ("你好ab", 3), ("日本語。", 4), ("é" * 8, 2)],
)
def test_an_estimate_of_tokens(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_calls_and_images_weigh_something() -> None:
    assert estimate_message_tokens(make_call_message("a")) > estimate_message_tokens(Message("assistant"))
    picture = Message("user", (ImageMessagePart("data:image/png;base64,AAAA"),))
    assert estimate_message_tokens(picture) >= PART_TOKENS


def test_a_file_weighs_something() -> None:
    assert estimate_message_tokens(Message("user", (FileMessagePart("a.pdf", data="x" * 40_000),))) > 1000


calls = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(lambda ids: make_call_message(*ids, text="t"))
lines = st.lists(
    st.one_of(
        st.builds(text_message, st.sampled_from(["user", "assistant", "system"]), st.text("x你", max_size=60)),
        calls,
        st.sampled_from("abcdef").map(make_result_message),
    ),
    max_size=20,
)


def has_whole_pairs(shown: list[Message]) -> bool:
    open_: list[str] = []
    for message in shown:
        if message.role == "tool":
            if not open_ or message.call_id != open_.pop(0):
                return False
        elif open_:
            return False
        open_ += [call.id for call in message.calls]
    return not open_


@given(lines)
def test_pairs_are_whole(line: list[Message]) -> None:
    assert has_whole_pairs(pair_calls_with_results(line))
