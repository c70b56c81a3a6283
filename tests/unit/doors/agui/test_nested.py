"""A run inside another, as AG-UI tells it. Clients of 1.0 refuse the end of a run in which another is open,
and those before it break off at events that they do not know."""

from typing import Any

import pytest

from rightseat.http.agui.write import AguiEncoder
from rightseat.types.events import Event, RunFailed, RunFinished, RunStarted, StepStart, SubRunEvent, TextDelta

# What CopilotKit's 1.50 page takes of what is sent here; anything else ends its run.
ALWAYS_KNOWN = ("RUN_STARTED", "RUN_FINISHED", "STEP_STARTED", "STEP_FINISHED", "CUSTOM")


def encode_events(*events: Event, knows: bool = True) -> list[dict[str, Any]]:
    frames = AguiEncoder("t", "r", knows)
    return [item for event in events for item in frames.convert(event)]


def wrap_in_sub_run(*events: Event) -> list[Event]:
    return [SubRunEvent("r2", "guide", "c1", event) for event in events]


def list_types(items: list[dict[str, Any]]) -> list[str]:
    return [item["type"] for item in items]


@pytest.mark.demand("agents.hand_off_agent_flow")
@pytest.mark.parametrize(
    ("end", "kind", "more"),
    [
        (RunFinished("stop"), "SUBAGENT_FINISHED", {"outcome": {"type": "success"}}),
        (RunFinished("interrupt"), "SUBAGENT_FINISHED", {"outcome": {"type": "suspended"}}),
        (RunFailed("agent_failed", "Lost."), "SUBAGENT_ERROR", {"message": "Lost.", "code": "agent_failed"}),
    ],
)
def test_it_begins_and_ends(end: Event, kind: str, more: dict[str, Any]) -> None:
    words = TextDelta("m", "Left.")
    begun, said, ended, last = encode_events(
        *wrap_in_sub_run(RunStarted("t.c1", "r2"), words, end), RunFinished("stop")
    )
    assert begun == {"type": "SUBAGENT_STARTED", "subagentRunId": "r2", "name": "guide", "parentToolCallId": "c1"}
    assert (said["type"], said["value"]["event"]) == ("CUSTOM", words), "not the outer one's words"
    assert ended == {"type": kind, "subagentRunId": "r2", **more}
    assert last["type"] == "RUN_FINISHED"


def test_one_that_was_left_open_is_ended() -> None:
    """Its tool was stopped, or broke: nobody else says so."""
    items = encode_events(*wrap_in_sub_run(RunStarted("t.c1", "r2")), StepStart("s"), RunFinished("stop"))
    assert list_types(items)[2:] == ["SUBAGENT_ERROR", "STEP_FINISHED", "RUN_FINISHED"]


@pytest.mark.demand("agents.hand_off_agent_flow")
@pytest.mark.parametrize("end", [RunFinished("stop"), RunFailed("agent_failed", "Lost."), None])
def test_clients_before_1_0_get_nothing_that_they_do_not_know(end: Event | None) -> None:
    events = wrap_in_sub_run(RunStarted("t.c1", "r2"), TextDelta("m", "Left."), *([end] if end else []))
    items = encode_events(RunStarted("t", "r"), *events, RunFinished("stop"), knows=False)
    assert set(list_types(items)) <= set(ALWAYS_KNOWN)
    assert list_types(items).count("CUSTOM") == 3
