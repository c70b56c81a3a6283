"""One stream of events becomes nested lists: for every interleaving the hand-written frames and graphql-core
end with the same data, which is what was told."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.config.settings import GraphQLLimits
from rightseat.doors.copilotkit import response, routes
from rightseat.http.endpoint import Request, collect_body
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
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.turn import Owner, Turn
from tests.kit.rounds import limit_rounds
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    UNSTREAMED_DOCUMENT,
    make_input,
    make_request_body,
    merge_increments,
    parse_multipart,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NASTY = st.sampled_from(["\r\n---\r\n", "\r\n\r\n", "---", '"', "\\", "\u2028", "\x00", "data: x\n\n", "é", "🙂"])
CHUNKS = st.lists(WORDS | NASTY, max_size=5)


class FixedEventsHost:
    """A host whose only responder tells given events."""

    responders: Mapping[str, Any] = {"default": None}
    assistants: Mapping[str, Any] = {}

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def resolve_responder(self, name: str | None) -> str | None:
        return None

    def resolve_model(self, name: str | None) -> str | None:
        return None

    def list_models(self, name: str | None) -> tuple[str, ...]:
        return ()

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        for event in self.events:
            yield event


async def collect_response(events: list[Event], document: str) -> Any:
    value = json.dumps(make_request_body(make_input(), document)).encode()
    request = Request(
        method="POST", path="/copilotkit", params={}, query={}, headers={}, body=value, owner=Owner(), id="x"
    )
    host: Any = FixedEventsHost(events)
    raw = await collect_body(routes.handle_post(request, host))
    return merge_increments(parse_multipart(raw)) if document == DOCUMENT else json.loads(raw)["data"]


@st.composite
def event_tracks(draw: st.DrawFn) -> list[list[Event]]:
    """What may go on at the same time, each in its own order."""
    made: list[list[Event]] = []
    for number in range(draw(st.integers(0, 4))):
        id = f"m{number}"
        kind = draw(st.sampled_from(["text", "server", "client", "cut", "thought", "state", "step", "ask", "old"]))
        chunks = draw(CHUNKS)
        start = CallStart(id, f"tool{number}", "p", client=kind == "client")
        args: list[Event] = [start, *(CallArgs(id, chunk) for chunk in chunks)]
        kinds: dict[str, list[Event]] = {
            "text": [TextStart(id), *(TextDelta(id, chunk) for chunk in chunks), TextEnd(id)],
            "server": [*args, CallEnd(id), CallResult(id, "".join(chunks), bool(number % 2))],
            "client": [*args, CallEnd(id)],
            "cut": args,
            "thought": [ReasoningStart(id), ReasoningDelta(id, "hm"), ReasoningEnd(id), Custom("x", 1)],
            "state": [StateSnapshot({"a": chunks}), StateDelta([{"op": "add", "path": "/b", "value": 1}])],
            "step": [StepStart(id), StepEnd(id)],
            "ask": [Interrupt(id, "ask", "Which?", {"type": "string"})],
            "old": [CallResult(id, "earlier")],
        }
        made.append(kinds[kind])
    return made


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    left = [list(track) for track in draw(event_tracks()) if track]
    events: list[Event] = [RunStarted("t1", "r1")]
    fails = draw(st.booleans())
    while left and not (fails and draw(st.integers(0, 9)) == 0):
        track = left[draw(st.integers(0, len(left) - 1))]
        events.append(track.pop(0))
        left = [track for track in left if track]
    if not fails:
        return [*events, RunFinished("stop")]
    # As the runtime does it: what is open is ended, then the failure.
    open_ = [e.id for e in events if isinstance(e, TextStart)]
    over = {e.id for e in events if isinstance(e, TextEnd)}
    return [*events, *(TextEnd(id) for id in open_ if id not in over), RunFailed("upstream_error", "Gone.", 502)]


def remove_volatile_fields(value: Any) -> Any:
    """Without what differs each time."""
    match value:
        case dict():
            fixed = {k: remove_volatile_fields(v) for k, v in value.items() if k != "createdAt"}
            return {**fixed, "id": "ck"} if str(fixed.get("id", "")).startswith("ck-") else fixed
        case list():
            return [remove_volatile_fields(item) for item in value]
        case _:
            return value


@pytest.mark.demand("copilotkit.valid_document_works_through", "copilotkit.property_test_fan_event")
@settings(max_examples=limit_rounds(120))
@given(runs())
async def test_every_interleaving_ends_with_the_same_data(events: list[Event]) -> None:
    by_hand = remove_volatile_fields(await collect_response(events, DOCUMENT))
    assert remove_volatile_fields(await collect_response(events, GENERIC_DOCUMENT)) == by_hand
    assert remove_volatile_fields(await collect_response(events, UNSTREAMED_DOCUMENT)) == by_hand
    response = by_hand["generateCopilotResponse"]
    for event in events:
        if isinstance(event, TextStart):
            [message] = [m for m in response["messages"] if m["id"] == event.id]
            words = [e.text for e in events if isinstance(e, TextDelta) and e.id == event.id]
            assert "".join(message["content"]) == "".join(words)
        if isinstance(event, CallStart):
            [message] = [m for m in response["messages"] if m["id"] == event.id]
            chunks = [e.json for e in events if isinstance(e, CallArgs) and e.id == event.id]
            assert "".join(message["arguments"]) == "".join(chunks)
            ended = CallEnd(event.id) in events
            assert message["status"]["code"] == ("Success" if ended else "Pending")
    failed = isinstance(events[-1], RunFailed)
    cut = any(isinstance(e, CallStart) and CallEnd(e.id) not in events for e in events)
    assert response["status"]["code"] == ("Failed" if failed or cut else "Success")
    calls = [m["id"] for m in response["messages"] if m["__typename"].startswith("ActionExecution")]
    assert calls == [e.id for e in events if isinstance(e, CallStart)]
    asked = [e.id for e in events if isinstance(e, Interrupt) and not failed]
    assert [json.loads(m["value"])["id"] for m in response["metaEvents"]] == asked


@pytest.mark.demand("copilotkit.graphql_door_results_encoded")
async def test_a_call_stands_directly_before_its_result() -> None:
    """As recorded, whatever comes first: a client that aborts drops calls without a result beside them."""
    events: list[Event] = [
        RunStarted("t1", "r1"),
        *(CallStart(id, id, "p", client=id == "c") for id in "abc"),
        *(CallEnd(id) for id in "abc"),
        CallResult("b", "2"),
        CallResult("a", "1"),
        RunFinished("calls", pending=("c",)),
    ]
    for document in (DOCUMENT, GENERIC_DOCUMENT):
        messages = (await collect_response(events, document))["generateCopilotResponse"]["messages"]
        assert [m["id"] for m in messages] == ["a", "result-a", "b", "result-b", "c"]


@pytest.mark.demand("copilotkit.message_ids_parent_ids")
async def test_a_text_cut_by_a_failure_is_failed_and_one_before_it_is_not() -> None:
    events: list[Event] = [
        RunStarted("t1", "r1"),
        TextStart("a"),
        TextDelta("a", "whole"),
        TextEnd("a"),
        TextStart("b"),
        TextDelta("b", "par"),
        TextEnd("b"),
        RunFailed("incomplete", "It stopped.", 502, "upstream"),
    ]
    messages = (await collect_response(events, DOCUMENT))["generateCopilotResponse"]["messages"]
    assert [m["status"]["code"] for m in messages] == ["Success", "Failed"]
    assert messages[1]["status"]["reason"] == "Error streaming message content"


@pytest.mark.demand("copilotkit.property_test_fan_event")
async def test_nothing_grows_with_the_answer() -> None:
    """The frames hold the open messages and what was told since the last frame, no more."""
    from rightseat.doors.copilotkit.graphql_document import prepare_document
    from rightseat.doors.copilotkit.query_plan import PlannedResponseWriter
    from rightseat.doors.copilotkit.read import CopilotKitRequest

    plan = prepare_document(DOCUMENT, None, False, GraphQLLimits()).plan
    assert plan is not None
    asked = CopilotKitRequest(Turn(messages=(), thread="t1"), None, "default", has_agent_session=False)
    frames = PlannedResponseWriter(plan, asked)
    telling = response.ResponseBuilder(asked, frames)
    for number in range(200):
        id, call = f"m{number}", f"c{number}"
        said: list[Event] = [TextStart(id), *[TextDelta(id, "x")] * 50, TextEnd(id)]
        called: list[Event] = [CallStart(call, "t", id), CallArgs(call, "{}"), CallEnd(call), CallResult(call, "1")]
        for event in (*said, *called):
            telling.add_event(event)
            frames.take_frame()
    held = (
        frames.entries,
        frames.kinds,
        frames.chunks,
        telling.open_texts,
        telling.started_calls,
        telling.queued_calls,
    )
    assert all(len(part) == 0 for part in held)
