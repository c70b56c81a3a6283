"""Fragments in, events out: whatever a model says, what is opened is closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.engine.assembler import EventAssembler, ModelAnswer
from rightseat.errors import Incomplete
from rightseat.types import chunks
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Event,
    OpenMessageTracker,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
    text_events,
)
from rightseat.types.messages import ProviderData
from rightseat.types.stores import IdGenerator
from tests.kit.cases import each_case

CLIENTS = {"here": False, "there": True}
STOP = chunks.FinishChunk("stop")


def assemble(*line: chunks.ModelChunk) -> tuple[list[Event], ModelAnswer]:
    assembler = EventAssembler(IdGenerator("0" * 24), CLIENTS)
    events = [event for fragment in line for event in assembler.push(fragment)]
    return [*events, *assembler.finish()], assembler.build_answer()


def test_a_text_keeps_the_messages_own_id() -> None:
    events, answered = assemble(chunks.TextChunk("a"), chunks.TextChunk(""), chunks.TextChunk("b"), STOP)
    id = answered.message.id
    assert id is not None
    assert events == [TextStart(id), TextDelta(id, "a"), TextDelta(id, "b"), TextEnd(id)]
    assert answered.message.text == "ab"
    assert answered.reason == "stop"


def test_logprobs_travel_even_without_text() -> None:
    events, _ = assemble(chunks.TextChunk("", [{"token": ""}]), STOP)
    assert [e.logprobs for e in events if isinstance(e, TextDelta)] == [[{"token": ""}]]


def test_usage_and_opaque_parts_are_kept() -> None:
    _, answered = assemble(
        chunks.ProviderDataChunk("p", {"s": 1}), chunks.TextChunk("a"), STOP, chunks.UsageChunk(Usage(3, 4))
    )
    assert answered.usage == Usage(3, 4)
    assert answered.message.opaque == (ProviderData("p", {"s": 1}),)


def test_a_repeated_name_is_ignored() -> None:
    line: list[chunks.ModelChunk] = [
        chunks.ToolCallStart(0, "here", True),
        chunks.ToolCallArgs(0, "{"),
        chunks.ToolCallStart(0, "there"),
        chunks.ToolCallArgs(0, "}"),
    ]
    events, answered = assemble(*line, chunks.FinishChunk("calls"))
    assert [(call.name, call.arguments) for call in answered.message.calls] == [("here", "{}")]
    assert len([event for event in events if isinstance(event, CallStart)]) == 1


def test_arguments_are_kept_apart_by_index() -> None:
    line: list[chunks.ModelChunk] = [
        chunks.ToolCallStart(1, "there"),
        chunks.ToolCallStart(0, "here"),
        chunks.ToolCallArgs(0, "{0"),
        chunks.ToolCallArgs(1, "{1"),
    ]
    _, answered = assemble(*line, chunks.ToolCallArgs(0, "}"), chunks.ToolCallArgs(1, "}"), chunks.FinishChunk("calls"))
    assert [(c.name, c.arguments) for c in answered.message.calls] == [("here", "{0}"), ("there", "{1}")]
    assert len({call.id for call in answered.message.calls}) == 2


def test_arguments_before_the_name_are_kept() -> None:
    try:
        _, answered = assemble(
            chunks.ToolCallArgs(0, "{"),
            chunks.ToolCallStart(0, "here"),
            chunks.ToolCallArgs(0, "}"),
            chunks.FinishChunk("calls"),
        )
    except KeyError:
        pytest.fail("KeyError")
    assert [call.arguments for call in answered.message.calls] == ["{}"]


@pytest.mark.parametrize(("name", "enforced"), [("here", False), ("nobody", True)])
def test_a_call_that_may_be_wrong_is_not_shown_yet(name: str, enforced: bool) -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, name, enforced), chunks.ToolCallArgs(0, "{}"), chunks.FinishChunk("calls")
    )
    assert events == []
    assert answered.streamed_calls == frozenset()
    assert len(answered.message.calls) == 1


def test_an_enforced_call_is_shown_as_it_comes() -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, "there", True), chunks.ToolCallArgs(0, "{}"), chunks.FinishChunk("calls")
    )
    [call] = answered.message.calls
    start = CallStart(call.id, "there", answered.message.id or "", client=True)
    assert events == [start, CallArgs(call.id, "{}"), CallEnd(call.id)]
    assert answered.streamed_calls == {call.id}


@pytest.mark.demand("copilotkit.streamed_arguments")
def test_a_client_call_is_shown_as_it_comes_and_ended_by_the_check() -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, "there"),
        chunks.ToolCallArgs(0, " "),
        chunks.ToolCallArgs(0, ' {"a"'),
        chunks.ToolCallArgs(0, ":1}"),
        chunks.FinishChunk("calls"),
    )
    [call] = answered.message.calls
    start = CallStart(call.id, "there", answered.message.id or "", client=True)
    assert events == [start, CallArgs(call.id, '{"a"'), CallArgs(call.id, ":1}")]
    assert (answered.streamed_calls, answered.unchecked_calls) == (frozenset({call.id}), {call.id: True})


@pytest.mark.parametrize("arguments", ["", "null", "[{}]"])
def test_arguments_that_are_no_object_are_not_shown(arguments: str) -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, "there"), chunks.ToolCallArgs(0, arguments), chunks.FinishChunk("calls")
    )
    assert [type(event) for event in events] == [CallStart]
    assert answered.unchecked_calls == {answered.message.calls[0].id: False}


def test_a_client_call_after_a_held_one_waits_for_it() -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, "here"),
        chunks.ToolCallArgs(0, "{}"),
        chunks.ToolCallStart(1, "there"),
        chunks.ToolCallArgs(1, "{}"),
        chunks.FinishChunk("calls"),
    )
    assert (events, answered.streamed_calls) == ([], frozenset())


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_cut_answer_has_no_call(reason: str) -> None:
    cut = chunks.FinishChunk("length") if reason == "length" else chunks.FinishChunk("content_filter")
    events, answered = assemble(
        chunks.TextChunk("a"), chunks.ToolCallStart(0, "there", True), chunks.ToolCallArgs(0, '{"a'), cut
    )
    assert answered.message.calls == ()
    assert answered.message.text == "a"
    assert answered.reason == reason
    assert not any(isinstance(event, CallEnd) for event in events)


@each_case(
    ("arguments", "kept"),
    [
        (("{}", '{"a'), ["{}"]),
        (("{}", '{"a": 1}'), ["{}", '{"a": 1}']),
        (("", '{"a'), [""]),
        (("{}", ""), ["{}"]),
        (('{"a', "{}"), []),
        (('{"a": 1', "{}", "{}"), []),
        (("[1]", "{}"), []),
    ],
)
def test_a_cut_answer_keeps_the_calls_before_the_cut(arguments: tuple[str, ...], kept: list[str]) -> None:
    starts = [chunks.ToolCallStart(number, "there", True) for number in range(len(arguments))]
    args = [chunks.ToolCallArgs(number, text) for number, text in enumerate(arguments)]
    events, answered = assemble(*starts, *args, chunks.FinishChunk("length"))
    assert [call.arguments for call in answered.message.calls] == kept
    assert [event.id for event in events if isinstance(event, CallEnd)] == [call.id for call in answered.message.calls]
    events, answered = assemble(*starts, *args, chunks.FinishChunk("content_filter"))
    assert answered.message.calls == ()
    assert not any(isinstance(event, CallEnd) for event in events)


def test_a_cut_answer_with_server_calls_only_has_no_call() -> None:
    events, answered = assemble(
        chunks.ToolCallStart(0, "here", True), chunks.ToolCallArgs(0, "{}"), chunks.FinishChunk("length")
    )
    assert answered.message.calls == ()
    assert not any(isinstance(event, CallEnd) for event in events)


def test_no_finish_is_incomplete() -> None:
    desk = EventAssembler(IdGenerator(), CLIENTS)
    assert [type(event) for event in desk.push(chunks.TextChunk("a"))] == [TextStart, TextDelta]
    with pytest.raises(Incomplete):
        desk.finish()


words = st.text("ab", max_size=2)
index = st.integers(0, 2)
text_chunks = st.one_of(
    st.builds(chunks.TextChunk, words),
    st.builds(chunks.ReasoningChunk, words),
    st.builds(chunks.RefusalChunk, words),
    st.builds(chunks.ToolCallStart, index, st.sampled_from(["here", "there", "nobody"]), st.booleans()),
    st.builds(chunks.ToolCallArgs, index, words),
    st.builds(chunks.UsageChunk, st.just(Usage(1, 1))),
    st.builds(chunks.ProviderDataChunk, st.just("p"), st.just(1)),
)
finish = st.sampled_from(["stop", "length", "content_filter", "calls"]).map(chunks.FinishChunk)  # type: ignore[arg-type]


def drop_unnamed_arguments(line: list[chunks.ModelChunk]) -> list[chunks.ModelChunk]:
    """Without arguments that come before their name: see the test of that."""
    known: set[int] = set()
    kept = []
    for fragment in line:
        if isinstance(fragment, chunks.ToolCallStart):
            known.add(fragment.index)
        if not isinstance(fragment, chunks.ToolCallArgs) or fragment.index in known:
            kept.append(fragment)
    return kept


def check_balanced(events: list[Event], whole: bool) -> None:
    open_text: str | None = None
    open_calls: set[str] = set()
    ids: list[str] = []
    for event in events:
        match event:
            case TextStart(id) | ReasoningStart(id):
                assert open_text is None
                open_text = id
                ids.append(id)
            case TextDelta(id) | ReasoningDelta(id):
                assert open_text == id
            case TextEnd(id) | ReasoningEnd(id):
                assert open_text == id
                open_text = None
            case CallStart(id):
                assert open_text is None
                open_calls.add(id)
                ids.append(id)
            case CallArgs(id):
                assert id in open_calls
            case CallEnd(id):
                open_calls.remove(id)
            case _:
                raise AssertionError(event)
    assert open_text is None
    assert len(ids) == len(set(ids))
    assert not (whole and open_calls)


@given(st.lists(text_chunks, max_size=25), finish)
def test_any_answer_is_balanced_and_nothing_is_lost(line: list[chunks.ModelChunk], end: chunks.FinishChunk) -> None:
    line = drop_unnamed_arguments(line)
    events, answered = assemble(*line, end)
    whole = end.reason in ("stop", "calls")
    check_balanced(events, whole)
    texts = [part.text for part in line if isinstance(part, chunks.TextChunk | chunks.RefusalChunk)]
    assert answered.message.text == "".join(texts)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "".join(texts)
    thoughts = "".join(part.text for part in line if isinstance(part, chunks.ReasoningChunk))
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == thoughts
    if not whole:
        return
    indexes = sorted({part.index for part in line if isinstance(part, chunks.ToolCallStart)})
    assert [call.arguments for call in answered.message.calls] == [
        "".join(part.json for part in line if isinstance(part, chunks.ToolCallArgs) and part.index == number)
        for number in indexes
    ]


@given(st.lists(text_chunks, max_size=25), st.integers(0, 60))
def test_what_is_open_at_a_failure_is_known(line: list[chunks.ModelChunk], cut: int) -> None:
    desk, opened = EventAssembler(IdGenerator(), CLIENTS), OpenMessageTracker()
    events = [event for fragment in drop_unnamed_arguments(line) for event in desk.push(fragment)][:cut]
    for event in events:
        opened.track(event)
    check_balanced([*events, *opened.end_events()], whole=False)


def test_a_whole_text_as_events() -> None:
    check_balanced(text_events("m1", "hi"), whole=True)
