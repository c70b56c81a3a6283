"""What the nodes and models of a graph do, as events."""

import json
import uuid
from collections.abc import Collection
from typing import Any

import pytest

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.langgraph.event_mapper import GraphStateTracker, LangGraphEventMapper
from rightseat.agents.langgraph.model_outputs import ModelOutputs
from rightseat.errors import AgentFailed, UpstreamGarbled
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
from tests.contract.agents.verifier import verify_events
from tests.kit.cases import each_case
from tests.unit.agents.langgraph.scripted_graph import (
    GraphStreamEvent,
    make_event,
    make_model_chunk,
    make_node_end,
    make_node_start,
    make_tool_call_chunk,
)

THREAD = uuid.uuid5(uuid.NAMESPACE_DNS, "t")


def make_mapper(
    client_tools: Collection[str] = (),
    known_ids: Collection[str] = (),
    open_calls: Collection[str] = (),
    output_keys: Collection[str] | None = None,
    stream_subgraphs: bool = False,
    **more: Any,
) -> LangGraphEventMapper:
    outputs = ModelOutputs(client_tools, known_ids, open_calls)
    state = GraphStateTracker(output_keys, stream_subgraphs=stream_subgraphs)
    return LangGraphEventMapper(PeerErrors("desk"), THREAD, outputs, state, **more)


def map_events(*graph_events: GraphStreamEvent, **more: Any) -> list[Event]:
    """The events of a whole run, held against the grammar."""
    mapping = make_mapper(**more)
    events: list[Event] = []
    for name, data in graph_events:
        events += mapping.feed(name, json.dumps(data).encode())
    events += mapping.finish()
    verify_events([RunStarted("t", "r"), *events], earlier_calls=more.get("open_calls", ()))
    return events


def make_model_end(output: Any = None, run: str = "r-model", **more: Any) -> GraphStreamEvent:
    return make_event("on_chat_model_end", "M", {"output": output}, node="desk", run=run, **more)


def make_custom_event(name: str, data: Any) -> GraphStreamEvent:
    return make_event("on_custom_event", name, data, node="desk", run="r-node")


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "copilotkit.peer_bugs_listed_notes")
def test_words_and_the_last_empty_chunk() -> None:
    events = map_events(
        make_model_chunk("m1", "Hel"),
        make_model_chunk("m1", "lo"),
        make_model_chunk("lc_run--other", ""),
        make_model_end(),
    )
    assert events[:-1] == [TextStart("m1"), TextDelta("m1", "Hel"), TextDelta("m1", "lo"), TextEnd("m1")]
    assert events[-1] == RunFinished("stop")


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@pytest.mark.parametrize("reason", ["length", "end_turn", None])
def test_a_text_ends_with_its_model_whatever_the_vendor_calls_it(reason: str | None) -> None:
    """CopilotKit's runtime waits for the word `stop`, which is one vendor's."""
    said, data = make_model_chunk("m1", "lo")
    data["data"]["chunk"]["response_metadata"] = {"finish_reason": reason}
    events = map_events(
        make_model_chunk("m1", "Hel"),
        (said, data),
        make_model_end(),
        make_model_chunk("m2", "Next.", run="r2"),
        make_model_end(run="r2"),
    )
    assert [event.id for event in events if isinstance(event, TextEnd)] == ["m1", "m2"]
    assert events.index(TextEnd("m1")) < events.index(TextStart("m2"))


def test_blocks_and_thoughts() -> None:
    thinking = [{"type": "thinking", "thinking": "Hm."}]
    events = map_events(
        make_model_chunk("m", thinking),
        make_model_chunk("m", [{"type": "text", "text": "So."}, {"type": "odd"}]),
        make_model_end(),
    )
    assert events[:-1] == [
        ReasoningStart("m-thought-1"),
        ReasoningDelta("m-thought-1", "Hm."),
        ReasoningEnd("m-thought-1"),
        TextStart("m"),
        TextDelta("m", "So."),
        TextEnd("m"),
    ]


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "copilotkit.peer_bugs_listed_notes")
def test_calls_side_by_side_are_kept_apart() -> None:
    events = map_events(
        make_model_chunk("m", "Both."),
        make_model_chunk(
            "m", calls=[make_tool_call_chunk(0, "", "c1", "add"), make_tool_call_chunk(1, "", "c2", "paint")]
        ),
        make_model_chunk("m", calls=[make_tool_call_chunk(1, '{"x"'), make_tool_call_chunk(0, '{"a"')]),
        make_model_chunk("m", calls=[make_tool_call_chunk(0, ":1}"), make_tool_call_chunk(1, ":2}")]),
        make_model_end(),
        (
            "updates",
            {
                "tools": {
                    "messages": [{"type": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "3"}]}]
                }
            },
        ),
        client_tools=["paint"],
    )
    args = {id: "".join(e.json for e in events if isinstance(e, CallArgs) and e.id == id) for id in ("c1", "c2")}
    assert args == {"c1": '{"a":1}', "c2": '{"x":2}'}
    assert [e for e in events if isinstance(e, CallStart)] == [
        CallStart("c1", "add", "m"),
        CallStart("c2", "paint", "m", client=True),
    ]
    assert CallResult("c1", "3") in events
    assert events.index(TextEnd("m")) < events.index(CallStart("c1", "add", "m"))
    assert events[-1] == RunFinished("calls", pending=("c2",))


@pytest.mark.demand("agents.langgraph_parallel_tool_calls")
def test_models_side_by_side_are_kept_apart() -> None:
    events = map_events(
        make_model_chunk("a", "A", run="1"),
        make_model_chunk("b", "B", run="2"),
        make_model_chunk("a", "a", run="1"),
        make_model_end(run="1"),
        make_model_end(run="2"),
    )
    assert "".join(e.text for e in events if isinstance(e, TextDelta) and e.id == "a") == "Aa"


def test_a_call_without_arguments_or_an_index() -> None:
    whole = {"index": None, "args": '{"a":1}', "id": "c2", "name": "g"}
    events = map_events(
        make_model_chunk("m", calls=[make_tool_call_chunk(0, "", "c1", "f")]),
        make_model_chunk("m", calls=[whole]),
        make_model_end(),
    )
    assert CallArgs("c1", "{}") in events
    assert CallArgs("c2", '{"a":1}') in events
    assert CallResult("c1", "") in events, "nobody answered it, and the graph is done"


def test_a_model_that_does_not_stream() -> None:
    output = {
        "type": "ai",
        "id": "m",
        "content": "Whole.",
        "tool_calls": [{"id": "c", "name": "paint", "args": {"a": 1}}],
        "usage_metadata": {"input_tokens": 3, "output_tokens": 2, "input_token_details": {"cache_read": 1}},
    }
    events = map_events(make_model_end(output), ("updates", {"desk": {"messages": [output]}}), client_tools=["paint"])
    assert events[:3] == [TextStart("m"), TextDelta("m", "Whole."), TextEnd("m")]
    assert events[-1] == RunFinished("calls", Usage(3, 2, 1), ("c",))


def test_what_a_node_says_without_a_model() -> None:
    added = {"type": "ai", "id": "n1", "content": "From a node."}
    copied = {"type": "ai", "id": "n2", "content": "Hello"}
    known = {"type": "ai", "id": "old", "content": "Earlier."}
    events = map_events(
        make_model_chunk("m", "Hello"),
        make_model_end(),
        ("updates", {"desk": [{"messages": [known, copied]}, {"messages": added}]}),
        known_ids=["old"],
    )
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Hello", "From a node."]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
@pytest.mark.parametrize(("emit", "shown"), [(True, ["f", "g"]), (False, []), ("f", ["f"]), (["g"], ["g"]), ([], [])])
def test_filters_of_calls(emit: Any, shown: list[str]) -> None:
    more = {"copilotkit:emit-tool-calls": emit, "copilotkit:emit-messages": False}
    pieces = [make_tool_call_chunk(0, "{}", "c1", "f"), make_tool_call_chunk(1, "{}", "c2", "g")]
    events = map_events(make_model_chunk("m", "Hidden.", pieces, **more), make_model_end(**more))
    assert [e.name for e in events if isinstance(e, CallStart)] == shown
    assert not any(isinstance(e, TextDelta) for e in events)


def test_a_model_that_is_not_to_be_heard() -> None:
    tags = ["nostream"]
    events = map_events(
        make_model_chunk("m", "Hidden.", tags=tags), make_model_end({"type": "ai", "content": "Hidden."}, tags=tags)
    )
    assert events == [RunFinished("stop")]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
def test_steps_and_state() -> None:
    events = map_events(
        ("values", {"messages": [], "x": 1, "copilotkit": {}, "tools": [], "inner": 7}),
        make_node_start("plan", 1),
        make_node_end("plan", 1),
        ("updates", {"plan": {"x": 2}}),
        ("values", {"x": 2, "inner": 8}),
        make_node_start("act", 2),
        make_event("on_chain_start", "route", {}, node="act", run="n-route"),
        output_keys=["x", "messages"],
    )
    assert events == [
        StepStart("plan"),
        StateSnapshot({"x": 1}),
        StateSnapshot({"x": 2}),
        StepEnd("plan"),
        StepStart("act"),
        StepEnd("act"),
        RunFinished("stop"),
    ]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
def test_nodes_side_by_side() -> None:
    events = map_events(
        make_node_start("a", 1),
        make_node_start("b", 2),
        make_node_end("b", 2),
        make_node_end("a", 1),
        ("values", {"x": 1}),
    )
    assert events[:2] == [StepStart("a"), StepStart("b")]
    assert events[2:5] == [StateSnapshot({"x": 1}), StepEnd("b"), StepEnd("a")]


@pytest.mark.parametrize("nested", [True, False])
def test_graphs_inside(nested: bool) -> None:
    kind, inner = make_node_start("inner", 1)
    inner["metadata"]["langgraph_checkpoint_ns"] = "outer:1|inner:2"
    events = map_events((kind, inner), stream_subgraphs=nested)
    assert (StepStart("inner") in events) is nested


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
def test_state_before_it_is_there() -> None:
    states = [{"state_key": "doc/s", "tool": "write", "tool_argument": "text"}]
    more: dict[str, Any] = {"copilotkit:emit-intermediate-state": states, "copilotkit:emit-tool-calls": False}
    events = map_events(
        make_model_chunk("m", calls=[make_tool_call_chunk(0, "", "c", "write")], **more),
        *(
            make_model_chunk("m", calls=[make_tool_call_chunk(0, part)], **more)
            for part in ('{"text": "He', 'llo"', ', "n": 1}')
        ),
        make_model_end(**more),
    )
    assert events[:-1] == [
        StateSnapshot({}),
        StateDelta([{"op": "add", "path": "/doc~1s", "value": "He"}]),
        StateDelta([{"op": "add", "path": "/doc~1s", "value": "Hello"}]),
    ]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
def test_what_copilotkit_sends_by_hand() -> None:
    events = map_events(
        ("values", {"x": 1}),
        make_node_start("desk", 1),
        make_custom_event("copilotkit_manually_emit_message", {"message": "Hi.", "message_id": "h1"}),
        make_custom_event("copilotkit_manually_emit_tool_call", {"name": "show", "args": {"a": 1}, "id": "h2"}),
        make_custom_event("copilotkit_manually_emit_intermediate_state", {"y": 2, "messages": []}),
        make_custom_event("copilotkit_exit", {}),
        make_node_end("desk", 1),
        ("values", {"x": 1}),
        client_tools=["show"],
    )
    assert events[2:] == [
        TextStart("h1"),
        TextDelta("h1", "Hi."),
        TextEnd("h1"),
        CallStart("h2", "show", "h2", client=True),
        CallArgs("h2", '{"a":1}'),
        CallEnd("h2"),
        StateSnapshot({"x": 1, "y": 2}),
        Custom("copilotkit_exit", {}),
        StateSnapshot({"x": 1}),
        StepEnd("desk"),
        RunFinished("calls", pending=("h2",)),
    ]


def make_interrupt(value: Any, **more: Any) -> GraphStreamEvent:
    return "updates", {"__interrupt__": [{"value": value, "id": "i1", **more}]}


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_questions() -> None:
    *_, question, end = map_events(
        make_interrupt("Which?"), ("values", {"__interrupt__": [{"value": "Which?", "id": "i1"}]})
    )
    assert question == Interrupt(f"lg-{THREAD.hex}-i1", "ask", "Which?", {"type": "string"}, value="Which?")
    assert end == RunFinished("interrupt")
    question = map_events(make_interrupt({"question": "Sure?", "n": 1}))[0]
    assert isinstance(question, Interrupt)
    assert (question.message, question.value) == ("Sure?", {"question": "Sure?", "n": 1})
    handed = map_events(make_interrupt({"question": "Sure?"}), is_delegated=True)[0]
    assert isinstance(handed, Interrupt)
    assert handed.schema == {"type": "string"}, "an assistant's person answers in words"
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    question = map_events(make_interrupt({"n": 1}, response_schema=schema))[0]
    assert isinstance(question, Interrupt)
    assert (question.kind, question.message, question.schema) == ("form", '{"n":1}', schema)


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_questions_of_copilotkits_helper() -> None:
    said = {"__copilotkit_interrupt_value__": "Your name?", "__copilotkit_messages__": [{"content": "Your name?"}]}
    spoken = map_events(make_interrupt(said), asks_in_chat=True)
    assert [e.text for e in spoken if isinstance(e, TextDelta)] == ["Your name?"]
    assert spoken[-1] == RunFinished("stop"), "what is said next is the answer"
    told = map_events(make_interrupt(said), asks_in_chat=False)
    assert isinstance(told[0], Interrupt)
    call = {"id": "c", "name": "pick", "args": {"n": 1}}
    value = {"__copilotkit_interrupt_value__": {"action": "pick"}, "__copilotkit_messages__": [{"tool_calls": [call]}]}
    events = map_events(make_interrupt(value))
    assert events[0] == CallStart("c", "pick", "c", client=True)
    assert events[-1] == RunFinished("calls", pending=("c",))


def test_a_call_that_waits_for_the_answer_gets_its_result_later() -> None:
    events = map_events(
        make_model_chunk("m", calls=[make_tool_call_chunk(0, "{}", "c", "add")]),
        make_model_end(),
        make_interrupt("May I?"),
    )
    assert not any(isinstance(e, CallResult) for e in events)
    result = {"type": "tool", "tool_call_id": "c", "content": "no", "status": "error"}
    tool = make_event("on_tool_end", "add", {"output": result}, node="tools")
    later = map_events(tool, ("updates", {"tools": {"messages": [result]}}), open_calls=["c"])
    assert later[0] == CallResult("c", "no", failed=True)
    assert len(later) == 2, "it is told once"


def test_an_error_of_the_graph() -> None:
    mapping = make_mapper()
    with pytest.raises(AgentFailed) as caught:
        mapping.feed("error", b'{"error": "ValueError", "message": "secret words"}')
    assert "ValueError" in caught.value.message
    assert "secret" not in caught.value.message
    with pytest.raises(AgentFailed) as caught:
        mapping.feed("error", b'{"error": "no name: secret words"}')
    assert "secret" not in caught.value.message


@each_case(
    ("name", "data"),
    [
        ("events", b"{not json"),
        ("events", b"[]"),
        ("events", b'{"event": "on_chat_model_stream", "data": {"chunk": 7}}'),
        ("events", b'{"event": "on_chat_model_stream", "data": {}}'),
        ("values", b"\xff"),
        ("error", b"{"),
    ],
)
def test_garbage(name: str, data: bytes) -> None:
    with pytest.raises(UpstreamGarbled):
        list(make_mapper().feed(name, data))


@pytest.mark.parametrize("data", [b"null", b"7", b"[]", b'{"desk": null}', b'{"desk": {"messages": [7, null]}}'])
def test_odd_values_are_no_harm(data: bytes) -> None:
    mapping = make_mapper()
    for name in ("values", "updates", "unheard-of"):
        list(mapping.feed(name, data))
    assert list(mapping.finish())[-1] == RunFinished("stop")
