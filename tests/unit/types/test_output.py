"""The deltas of a run become its texts, calls and results, in the order in which they began."""

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Interrupt,
    ReasoningDelta,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.output import RunOutput
from rightseat.types.threads import ThreadEntry, UserInput

QUESTION = Interrupt("q", "ask", "Which?", {})
EVENTS: list[Event] = [
    TextStart("m1"),
    TextDelta("m1", "Let me "),
    TextDelta("m1", "see.", {"content": [{"token": "see"}]}),
    TextEnd("m1"),
    ReasoningDelta("r", "Hm."),
    CallStart("c1", "add", "m1"),
    CallArgs("c1", '{"a":'),
    CallArgs("c1", "2}"),
    CallEnd("c1"),
    CallResult("c1", "2"),
    TextStart("m2", True),
    TextDelta("m2", "I must not."),
    TextEnd("m2"),
    CallStart("c2", "cut", "m2", True),
    CallArgs("c2", "{"),
    QUESTION,
]


def test_each_text_call_and_result_is_a_message_and_a_truncated_call_is_none() -> None:
    assert RunOutput(EVENTS).messages == (
        text_message("assistant", "Let me see.", id="m1"),
        Message("assistant", calls=(ToolCall("c1", "add", '{"a":2}'),)),
        text_message("tool", "2", call_id="c1"),
        text_message("assistant", "I must not.", id="m2"),
    )


def test_a_call_with_a_result_and_no_end_is_none_of_the_clients() -> None:
    output = RunOutput([CallStart("c", "show", "m", True), CallArgs("c", "{"), CallResult("c", "error", failed=True)])
    [call] = output.ended_calls
    assert call.start == CallStart("c", "show", "m", client=False)
    assert [message.role for message in output.messages] == ["assistant", "tool"]


def test_texts_are_joined_with_a_blank_line_and_refusals_apart() -> None:
    output = RunOutput(EVENTS)
    assert output.join_texts() == "Let me see.\n\nI must not."
    assert (output.join_texts(refusal=False), output.join_texts(refusal=True)) == ("Let me see.", "I must not.")
    assert output.texts["m1"].logprobs == [{"token": "see"}]


def test_reasoning_questions_and_ended_calls_are_kept() -> None:
    output = RunOutput(EVENTS)
    assert (output.reasoning, output.interrupts) == (["Hm."], [QUESTION])
    assert [item.start.id for item in output.ended_calls] == ["c1"]


def test_the_input_of_a_stored_thread_keeps_its_place() -> None:
    asked = text_message("user", "And now?", id="u")
    entries: list[ThreadEntry] = [TextStart("m1"), TextDelta("m1", "a"), UserInput((asked,)), TextDelta("m1", "b")]
    assert [message.text for message in RunOutput(entries).messages] == ["ab", "And now?"]
