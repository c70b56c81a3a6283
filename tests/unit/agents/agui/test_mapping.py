"""AG-UI's events → ours, all 31 kinds and some from before 1.0."""

import uuid
from typing import Any

import pytest

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.errors import AgentFailed, Incomplete, UpstreamGarbled
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Custom,
    Event,
    Interrupt,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolChoice, ToolSpec
from rightseat.types.turn import InterruptAnswer, Turn
from tests.contract.agents.verifier import verify_events
from tests.kit.cases import each_case

Json = dict[str, Any]
THREAD = uuid.UUID("aaaaaaaa-aaaa-5aaa-8aaa-aaaaaaaaaaaa")
CARD = ToolSpec("card", "Shows a card.", {"type": "object"})
QUESTION = text_message("user", "go", id="u1")


def map_events(*events: Json, finish: Json | None = None, **turn: Any) -> list[Event]:
    request = Turn(**{"messages": (QUESTION,), "tools": (CARD,), **turn})
    mapping = AGUIEventMapper(request, THREAD, [message.id or "" for message in request.messages], PeerErrors("x"))
    found: list[Event] = []
    for event in ({"type": "RUN_STARTED"}, *events, {"type": "RUN_FINISHED", **(finish or {})}):
        found += mapping.feed(event)
    found += mapping.finish()
    earlier = {call.id for message in request.messages for call in message.calls}
    verify_events([RunStarted("t", "r"), *found], earlier_calls=earlier, has_state=request.state is not None)
    return found


def make_event(kind: str, **fields: Any) -> Json:
    return {"type": kind, **fields}


def make_text_events(id: str, *words: str) -> list[Json]:
    pieces = [make_event("TEXT_MESSAGE_CONTENT", messageId=id, delta=word) for word in words]
    return [make_event("TEXT_MESSAGE_START", messageId=id), *pieces, make_event("TEXT_MESSAGE_END", messageId=id)]


def make_tool_call_events(id: str, name: str, *args: str) -> list[Json]:
    pieces = [make_event("TOOL_CALL_ARGS", toolCallId=id, delta=piece) for piece in args]
    start = make_event("TOOL_CALL_START", toolCallId=id, toolCallName=name, parentMessageId="p")
    return [start, *pieces, make_event("TOOL_CALL_END", toolCallId=id)]


def test_a_text() -> None:
    start, *deltas, end, last = map_events(*make_text_events("m", "Hel", "", "lo"))
    assert start == TextStart("m")
    assert deltas == [TextDelta("m", "Hel"), TextDelta("m", "lo")]
    assert (end, last) == (TextEnd("m"), RunFinished("stop"))


def test_a_text_without_words_never_begins() -> None:
    assert map_events(*make_text_events("m")) == [RunFinished("stop")]


def test_words_of_others_are_not_said() -> None:
    start = make_event("TEXT_MESSAGE_START", messageId="m", role="user")
    assert map_events(start, *make_text_events("m", "mine")[1:]) == [RunFinished("stop")]


def test_an_id_that_comes_twice_is_two_texts() -> None:
    ids = [
        event.id
        for event in map_events(*make_text_events("m", "a"), *make_text_events("m", "b"))
        if isinstance(event, TextStart)
    ]
    assert ids == ["m", "m-2"]


def test_what_is_left_open_is_closed() -> None:
    found = map_events(
        make_event("STEP_STARTED", stepName="s"),
        make_text_events("m", "a")[1],
        make_tool_call_events("c", "t", "{}")[0],
        make_tool_call_events("c", "t", "{}")[1],
    )
    assert found[-5:] == [TextEnd("m"), CallEnd("c"), CallResult("c", ""), StepEnd("s"), RunFinished("stop")]


@pytest.mark.demand("agents.agui_ag_ui_http")
def test_chunks_are_expanded() -> None:
    found = map_events(
        make_event("TEXT_MESSAGE_CHUNK", messageId="a", role="assistant", delta="One"),
        make_event("RAW", event={}),
        make_event("TEXT_MESSAGE_CHUNK", delta=" two"),
        make_event("TEXT_MESSAGE_CHUNK", messageId="b", delta="Three"),
        make_event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="t", parentMessageId="p", delta='{"x"'),
        make_event("TOOL_CALL_CHUNK", delta=": 1}"),
        make_event("TOOL_CALL_CHUNK", toolCallId="d", toolCallName="t", delta="{}"),
        make_event("REASONING_MESSAGE_CHUNK", messageId="r", delta="hm"),
    )
    assert found[:6] == [
        TextStart("a"),
        TextDelta("a", "One"),
        TextDelta("a", " two"),
        TextEnd("a"),
        TextStart("b"),
        TextDelta("b", "Three"),
    ]
    assert [event.json for event in found if isinstance(event, CallArgs)] == ['{"x"', ": 1}", "{}"]
    assert [event.id for event in found if isinstance(event, CallEnd)] == ["c", "d"]


def test_a_tool_of_the_peer() -> None:
    result = make_event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="5")
    found = map_events(*make_tool_call_events("c", "add", '{"a"', ": 2}"), result)
    assert found[0] == CallStart("c", "add", "p", client=False)
    assert found[-3:] == [CallEnd("c"), CallResult("c", "5"), RunFinished("stop")]


@pytest.mark.parametrize("told", [True, False], ids=["1.0", "before"])
def test_a_tool_of_the_client(told: bool) -> None:
    outcome = {"outcome": {"type": "success", "pendingToolCallIds": ["c"]}} if told else {}
    found = map_events(*make_tool_call_events("c", "card", "{}"), finish=outcome)
    assert found[0] == CallStart("c", "card", "p", client=True)
    assert found[-1] == RunFinished("calls", pending=("c",))


def test_tools_that_may_not_be_called_are_no_client_tools() -> None:
    found = map_events(*make_tool_call_events("c", "card", "{}"), tool_choice=ToolChoice("none"))
    assert found[0] == CallStart("c", "card", "p", client=False)


def test_results_that_the_client_posted_are_not_told_again() -> None:
    history = (QUESTION, Message("assistant", calls=(ToolCall("c", "card", "{}"),), id="a"))
    result = make_event("TOOL_CALL_RESULT", toolCallId="c", content="shown")
    assert map_events(result, messages=(*history, text_message("tool", "shown", call_id="c", id="r")))[:-1] == []
    assert map_events(result, messages=history)[:-1] == [CallResult("c", "shown")]


def test_arguments_that_were_lost_are_told_by_the_snapshot() -> None:
    """ag-ui-langgraph drops what comes in one piece with a call's name."""
    function = {"name": "card", "arguments": '{"title": "Oslo"}'}
    for args in (['"Oslo"}'], []):
        message = {"id": "p", "role": "assistant", "toolCalls": [{"id": "c", "function": function}]}
        snapshot = make_event("MESSAGES_SNAPSHOT", messages=[{"id": "u1", "role": "user"}, message])
        found = map_events(*make_tool_call_events("c", "card", *args), snapshot)
        assert found[1:] == [CallArgs("c", '{"title": "Oslo"}'), CallEnd("c"), RunFinished("calls", pending=("c",))]


def test_half_a_call_is_nobodys_to_run() -> None:
    for half in (make_tool_call_events("c", "card", 'slo"}'), make_tool_call_events("c", "card", '{"title": "O')[:-1]):
        with pytest.raises(UpstreamGarbled):
            map_events(*half)


def test_state_without_the_conversation() -> None:
    state = {"messages": [{"role": "user"}], "copilotkit": {}, "document": "x"}
    delta = [{"op": "replace", "path": "/document", "value": "y"}]
    found = map_events(make_event("STATE_SNAPSHOT", snapshot=state), make_event("STATE_DELTA", delta=delta))
    assert found[:-1] == [StateSnapshot({"document": "x"}), StateDelta(delta)]
    own = {"messages": ["three", "words", "here"]}
    assert map_events(make_event("STATE_SNAPSHOT", snapshot=own))[0] == StateSnapshot(own)


def test_a_change_needs_a_state() -> None:
    delta = [{"op": "add", "path": "/a", "value": 1}]
    assert map_events(make_event("STATE_DELTA", delta=delta))[:-1] == [StateSnapshot({}), StateDelta(delta)]
    assert map_events(make_event("STATE_DELTA", delta=delta), state={"b": 1})[:-1] == [StateDelta(delta)]
    assert map_events(make_event("STATE_DELTA", delta="no list"))[:-1] == []


def test_state_is_predicted_by_the_arguments_of_a_call() -> None:
    rule = {"state_key": "doc/1", "tool": "write", "tool_argument": "text"}
    found = map_events(
        make_event("CUSTOM", name="PredictState", value=[rule]),
        *make_tool_call_events("c", "write", '{"text', '": "He', 'llo"}'),
    )
    patches = [event.patch[0] for event in found if isinstance(event, StateDelta)]
    assert [patch["value"] for patch in patches] == ["He", "Hello"]
    assert patches[0]["path"] == "/doc~11"


@pytest.mark.demand("agents.agui_ag_ui_http")
def test_a_snapshot_says_only_what_was_not_streamed() -> None:
    listed = [
        {"id": "old", "role": "assistant", "content": "long ago"},
        {"id": "u1", "role": "user", "content": "go"},
        {"id": "m", "role": "assistant", "content": "Hello"},
        {"id": "copy", "role": "assistant", "content": "Hello"},
        {"id": "n", "role": "assistant", "content": [{"type": "text", "text": "More"}]},
    ]
    snapshot = make_event("MESSAGES_SNAPSHOT", messages=listed)
    found = map_events(*make_text_events("m", "Hel", "lo"), snapshot, snapshot, *make_text_events("n", "More"))
    assert [event.text for event in found if isinstance(event, TextDelta)] == ["Hel", "lo", "More"]


def test_a_snapshot_after_an_answer_says_nothing_again() -> None:
    """A client that has only text posts the question with the words before it, and no ids."""
    listed = [
        {"id": "h1", "role": "user", "content": "go"},
        {"id": "m", "role": "assistant", "content": "Working."},
        {"id": "n", "role": "assistant", "content": "Done."},
    ]
    posted = (text_message("user", "go"), text_message("assistant", "Working.\n\nApprove?"))
    answers = (InterruptAnswer(f"agui-{THREAD.hex}-0-x", text="yes"),)
    found = map_events(make_event("MESSAGES_SNAPSHOT", messages=listed), messages=posted, answers=answers)
    assert [event.text for event in found if isinstance(event, TextDelta)] == ["Done."]


def test_a_snapshot_brings_results() -> None:
    listed = [{"id": "u1", "role": "user"}, {"id": "r", "role": "tool", "toolCallId": "c", "content": "ok"}]
    found = map_events(*make_tool_call_events("c", "write", "{}"), make_event("MESSAGES_SNAPSHOT", messages=listed))
    assert CallResult("c", "ok") in found


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
def test_manual_emits_that_come_as_custom_events_only() -> None:
    found = map_events(
        make_event("CUSTOM", name="copilotkit_manually_emit_message", value={"message": "Hi", "message_id": "m"}),
        *make_text_events("m", "Hi"),
        make_event("CUSTOM", name="copilotkit_manually_emit_tool_call", value={"name": "t", "args": {}, "id": "c"}),
        make_event("CUSTOM", name="copilotkit_manually_emit_intermediate_state", value={"a": 1}),
    )
    assert [event.text for event in found if isinstance(event, TextDelta)] == ["Hi"]
    assert CallEnd("c") in found
    assert StateSnapshot({"a": 1}) in found


def test_reasoning_of_both_eras() -> None:
    new = [
        make_event("REASONING_START", messageId="r"),
        make_event("REASONING_MESSAGE_START", messageId="r", role="reasoning"),
        make_event("REASONING_MESSAGE_CONTENT", messageId="r", delta="hm"),
        make_event("REASONING_MESSAGE_END", messageId="r"),
        make_event("REASONING_END", messageId="r"),
        make_event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="r", encryptedValue="x"),
    ]
    expected = [ReasoningStart("r"), ReasoningDelta("r", "hm"), ReasoningEnd("r"), RunFinished("stop")]
    assert map_events(*new) == expected
    old = [
        make_event("THINKING_START"),
        make_event("THINKING_TEXT_MESSAGE_START"),
        make_event("THINKING_TEXT_MESSAGE_CONTENT", delta="hm"),
        make_event("THINKING_TEXT_MESSAGE_END"),
        make_event("THINKING_END"),
    ]
    assert [type(event) for event in map_events(*old)] == [type(event) for event in expected]


@pytest.mark.demand("agents.agui_ag_ui_http")
def test_steps_subagents_activities_and_the_unknown() -> None:
    found = map_events(
        make_event("STEP_STARTED", stepName="plan"),
        make_event("STEP_FINISHED", stepName="plan"),
        make_event("STEP_FINISHED", stepName="never begun"),
        make_event("SUBAGENT_STARTED", subagentRunId="s1", name="researcher"),
        make_event("SUBAGENT_FINISHED", subagentRunId="s1"),
        make_event("SUBAGENT_STARTED", subagentRunId="s2", name="writer"),
        make_event("SUBAGENT_ERROR", subagentRunId="s2", message="secret"),
        make_event("ACTIVITY_SNAPSHOT", messageId="a", activityType="PLAN", content={"n": 1}),
        make_event("ACTIVITY_DELTA", messageId="a", activityType="PLAN", patch=[]),
        make_event("CUSTOM", name="mine", value=3),
        make_event("RAW", event={"any": 1}),
        make_event("BRAND_NEW", any="thing"),
        {"no": "type"},
    )
    plan = {"messageId": "a", "activityType": "PLAN"}
    assert found == [
        StepStart("plan"),
        StepEnd("plan"),
        StepStart("researcher"),
        StepEnd("researcher"),
        StepStart("writer"),
        StepEnd("writer"),
        Custom("activity", {**plan, "content": {"n": 1}}),
        Custom("activity", {**plan, "patch": []}),
        Custom("mine", 3),
        RunFinished("stop"),
    ]


APPROVE = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.demand("agents.agui_ag_ui_http")
@each_case(
    ("told", "kind", "words"),
    [
        ({"reason": "input_required", "message": "Which?"}, "ask", "Which?"),
        ({"reason": "tool_call", "message": "Run it?"}, "confirm", "Run it?"),
        ({"reason": "x", "message": "Sure?", "responseSchema": APPROVE}, "confirm", "Sure?"),
        ({"reason": "x", "message": "Where?", "responseSchema": FORM}, "form", "Where?"),
        ({"reason": "x", "metadata": {"question": "Well?"}}, "ask", "Well?"),
        ({"reason": "approve the plan"}, "ask", "approve the plan"),
    ],
)
def test_questions_of_1_0(told: Json, kind: str, words: str) -> None:
    asked = {"id": "q", "expiresAt": "2030-01-01T00:00:00Z", **told}
    *_, question, last = map_events(finish={"outcome": {"type": "interrupt", "interrupts": [asked]}})
    assert isinstance(question, Interrupt)
    assert (question.kind, question.message) == (kind, words)
    assert question.id == f"agui-{THREAD.hex}-1-q"
    assert question.expires == 1893456000
    assert last == RunFinished("interrupt")


def test_a_call_that_waits_for_an_approval_has_no_result() -> None:
    asked = {"id": "q", "reason": "tool_call", "toolCallId": "c", "message": "Run it?"}
    found = map_events(
        *make_tool_call_events("c", "wipe", "{}"), finish={"outcome": {"type": "interrupt", "interrupts": [asked]}}
    )
    assert not [event for event in found if isinstance(event, CallResult)]


@pytest.mark.demand("agents.agui_ag_ui_http", "copilotkit.peer_bugs_listed_notes")
@pytest.mark.parametrize(
    ("value", "words"), [('{"question": "Well?", "n": 1}', "Well?"), ("Well?", "Well?"), ({"n": 1}, '{"n":1}')]
)
def test_questions_before_1_0(value: Any, words: str) -> None:
    *_, question, last = map_events(make_event("CUSTOM", name="on_interrupt", value=value))
    assert isinstance(question, Interrupt)
    assert question.message == words
    assert last == RunFinished("interrupt")


def test_who_speaks_both_dialects_asks_once() -> None:
    asked = {"id": "q", "reason": "x", "message": "Well?"}
    found = map_events(
        make_event("CUSTOM", name="on_interrupt", value="Well?"),
        finish={"outcome": {"type": "interrupt", "interrupts": [asked]}},
    )
    (question,) = [event for event in found if isinstance(event, Interrupt)]
    assert question.id.endswith("-1-q")


def test_usage_and_the_reason() -> None:
    used = [{"inputTokens": 5, "outputTokens": 2}, {"inputTokens": 1, "cachedInputTokens": 1, "model": "m"}]
    assert map_events(finish={"usage": used})[-1] == RunFinished("stop", Usage(6, 2, 1))
    assert map_events(finish={"result": {"finishReason": "length"}})[-1] == RunFinished("length")


def test_an_error_is_told_in_our_words() -> None:
    with pytest.raises(AgentFailed) as failed:
        map_events(make_event("RUN_ERROR", message="secret words", code="ValueError"))
    assert "(ValueError)" in failed.value.message
    assert "secret" not in failed.value.message


def test_a_run_without_an_end_is_incomplete() -> None:
    mapping = AGUIEventMapper(Turn(messages=(QUESTION,)), THREAD, ["u1"], PeerErrors("x"))
    mapping.feed(make_event("RUN_STARTED"))
    with pytest.raises(Incomplete):
        mapping.finish()


def test_one_run_after_the_other_is_one() -> None:
    found = map_events(
        *make_text_events("m", "a"), make_event("RUN_FINISHED"), make_event("RUN_STARTED"), *make_text_events("n", "b")
    )
    assert [event.text for event in found if isinstance(event, TextDelta)] == ["a", "b"]


@pytest.mark.parametrize(
    "part", [{"text": "hi"}, {"type": "text", "text": "hi"}, {"type": "output_text", "text": "hi"}]
)
def test_the_parts_of_a_message_in_a_snapshot(part: Json) -> None:
    messages = [{"id": QUESTION.id or "u1", "role": "user"}, {"id": "a", "role": "assistant", "content": [part]}]
    events = map_events(make_event("MESSAGES_SNAPSHOT", messages=messages))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hi"
