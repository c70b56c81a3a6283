"""What a crew does, as AG-UI's events: in the crew's own process, so here without ours."""

from types import SimpleNamespace
from typing import Any

from rightseat.agents.crewai.program import CrewEventMapper

Json = dict[str, Any]


def map_events(*events: Any) -> list[Json]:
    found: list[Json] = []
    mapper = CrewEventMapper(found.append)
    for event in events:
        mapper.on_event(event)
    mapper.emit_result("")
    return found


def make_text_chunk(text: str, call: str = "1") -> Any:
    return SimpleNamespace(type="llm_stream_chunk", chunk=text, call_id=call, tool_call=None)


def join_deltas(events: list[Json], kind: str) -> str:
    return "".join(event["delta"] for event in events if event["type"] == kind)


def test_an_agent_that_thinks_aloud() -> None:
    for pieces in (
        ["Thought: I know.\nFinal Answer: It is 5."],
        list("Thought: I know.\nFinal Answer: It is 5."),
        ["Tho", "ught: I know.\nFinal", " Answer:", " It is 5."],
    ):
        events = map_events(*map(make_text_chunk, pieces))
        assert join_deltas(events, "REASONING_MESSAGE_CONTENT") == "I know.\n"
        assert join_deltas(events, "TEXT_MESSAGE_CONTENT") == "It is 5."
        assert [e["type"] for e in events][-1] == "TEXT_MESSAGE_END"


def test_an_agent_that_just_speaks() -> None:
    events = map_events(make_text_chunk("Th"), make_text_chunk("e end"))
    assert join_deltas(events, "TEXT_MESSAGE_CONTENT") == "The end"
    assert not join_deltas(events, "REASONING_MESSAGE_CONTENT")


def test_each_answer_of_a_model_is_a_text() -> None:
    events = map_events(make_text_chunk("One", "1"), make_text_chunk("Two", "2"))
    assert len({event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"}) == 2


def test_the_result_is_said_if_it_was_not_streamed() -> None:
    found: list[Json] = []
    telling = CrewEventMapper(found.append)
    telling.on_event(make_text_chunk("Done."))
    telling.emit_result("Done.")
    assert join_deltas(found, "TEXT_MESSAGE_CONTENT") == "Done."
    telling.emit_result('{"a": 1}')
    assert join_deltas(found, "TEXT_MESSAGE_CONTENT") == 'Done.{"a": 1}'


def make_tool_event(kind: str, **fields: Any) -> Any:
    about = {"tool_name": "add", "tool_args": {"a": 2}, "event_id": "e1"}
    return SimpleNamespace(type=f"tool_usage_{kind}", **{**about, **fields})


def test_tools() -> None:
    start, args, end, result = map_events(
        make_tool_event("started"), make_tool_event("finished", output={"n": 5}, started_event_id="e1")
    )
    assert (start["toolCallName"], args["delta"]) == ("add", '{"a": 2}')
    assert result["content"] == '{"n": 5}'
    assert len({event["toolCallId"] for event in (start, args, end, result)}) == 1


def test_a_tool_that_fails_and_is_tried_again() -> None:
    events = map_events(
        make_tool_event("started"),
        make_tool_event("error", error="no", started_event_id="e1"),
        make_tool_event("error", error="no", started_event_id="e1"),
        make_tool_event("started", event_id="e2"),
        make_tool_event("finished", output="5", started_event_id=None),
    )
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["The tool failed: no", "5"]


def test_tasks_are_steps() -> None:
    task = SimpleNamespace(name="", agent=SimpleNamespace(role="the\nwriter"))
    events = map_events(SimpleNamespace(type="task_started", task=task), SimpleNamespace(type="task_failed", task=task))
    assert [(event["type"], event["stepName"]) for event in events] == [
        ("STEP_STARTED", "the writer"),
        ("STEP_FINISHED", "the writer"),
    ]
