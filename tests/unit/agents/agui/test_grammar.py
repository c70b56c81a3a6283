"""Whatever a peer sends, in whatever order: what comes out keeps the grammar, or is an error of ours."""

import uuid
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.errors import UpstreamError
from rightseat.types.events import CallArgs, CallStart, Event, RunStarted
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Turn
from tests.contract.agents.verifier import verify_events

IDS = st.sampled_from(["a", "b", "u1", "", None, 3])
WORDS = st.sampled_from(["", "x", "{", '{"n": 1', "}", "{}", None, 7])
NAMES = st.sampled_from(["card", "other", "", None])
KINDS = [
    *(f"TEXT_MESSAGE_{part}" for part in ("START", "CONTENT", "END", "CHUNK")),
    *(f"TOOL_CALL_{part}" for part in ("START", "ARGS", "END", "CHUNK", "RESULT")),
    *(f"REASONING_{part}" for part in ("START", "MESSAGE_CONTENT", "MESSAGE_END", "MESSAGE_CHUNK", "END")),
    *("STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "RAW", "CUSTOM", "NEW"),
    *("RUN_STARTED", "RUN_FINISHED", "STEP_STARTED", "STEP_FINISHED", "SUBAGENT_STARTED", "SUBAGENT_ERROR"),
]
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "id": IDS, "content": WORDS}),
        st.fixed_dictionaries({"role": st.just("tool"), "id": IDS, "toolCallId": IDS, "content": WORDS}),
        st.builds(
            lambda id, name, arguments: {
                "role": "assistant",
                "id": "p",
                "toolCalls": [{"id": id, "function": {"name": name, "arguments": arguments}}],
            },
            IDS,
            NAMES,
            WORDS,
        ),
    ),
    max_size=4,
)
EVENTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "type": st.sampled_from(KINDS),
        "messageId": IDS,
        "toolCallId": IDS,
        "subagentRunId": IDS,
        "toolCallName": NAMES,
        "stepName": NAMES,
        "name": st.sampled_from(["on_interrupt", "PredictState", "copilotkit_manually_emit_message", None]),
        "delta": WORDS,
        "content": WORDS,
        "snapshot": st.sampled_from([{}, {"messages": []}, None, 3]),
        "value": st.sampled_from(
            ["why?", [{"tool": "card", "state_key": "k"}], {"message": "m", "message_id": "a"}, None]
        ),
        "messages": MESSAGES,
        "role": st.sampled_from(["assistant", "user", None]),
    }
)
HISTORY = (text_message("user", "go", id="u1"), Message("assistant", calls=(ToolCall("b", "other", "{}"),), id="p"))


@given(events=st.lists(EVENTS, max_size=14), outcome=st.sampled_from([None, {"pendingToolCallIds": ["a", 3]}]))
def test_the_grammar_holds(events: list[dict[str, Any]], outcome: Any) -> None:
    turn = Turn(messages=HISTORY, tools=(ToolSpec("card", "", {}),))
    mapping = AGUIEventMapper(turn, uuid.uuid4(), ["u1", "p"], PeerErrors("x"))
    found: list[Event] = [RunStarted("t", "r")]
    try:
        for event in (*events, {"type": "RUN_FINISHED", "outcome": outcome}):
            found += mapping.feed(event)
        found += mapping.finish()
    except UpstreamError:
        return
    verify_events(drop_peer_call_arguments(found), earlier_calls={"b"})


def drop_peer_call_arguments(found: list[Event]) -> Iterator[Event]:
    """What the peer's own tools are called with is the peer's: it need not be JSON."""
    theirs = {event.id for event in found if isinstance(event, CallStart) and not event.client}
    for event in found:
        if isinstance(event, CallArgs) and event.id in theirs:
            continue
        yield event
        if isinstance(event, CallStart) and event.id in theirs:
            yield CallArgs(event.id, "{}")
