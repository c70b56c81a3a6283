"""The grammar of events as a state machine: what every Responder's run must be, whoever answers.

verify(events)                    # of Runtime.run, from RunStarted to the one end
verify(events, earlier={"c1"})    # calls of an earlier turn that may get their result now
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
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


def verify_events(
    events: Iterable[Event], *, earlier_calls: Collection[str] = (), has_state: bool = False
) -> list[Event]:
    """The events as they came. `state`: the client brought one, so it can be changed at once."""
    sequence = list(events)
    verifier = EventVerifier(earlier_calls, has_state)
    for number, event in enumerate(sequence):
        try:
            verifier.check_event(event)
        except AssertionError as error:
            raise AssertionError(f"event {number}, {event}: {error}") from None
    assert verifier.ended, "the run has no end"
    return sequence


class EventVerifier:
    def __init__(self, earlier_calls: Collection[str], has_state: bool) -> None:
        self.started = False
        self.ended = False
        self.earlier_calls = set(earlier_calls)
        self.has_state = has_state
        self.used_ids: set[str] = set()
        """Ids of texts and thoughts that were opened."""
        self.open_ids: set[str] = set()
        self.calls: dict[str, CallStart] = {}
        self.open_arguments: dict[str, str] = {}
        """Of the calls that are open."""
        self.answered_calls: set[str] = set()
        self.steps: Counter[str] = Counter()
        self.question_ids: set[str] = set()

    def check_event(self, event: Event) -> None:
        assert not self.ended, "something follows the end"
        assert self.started != isinstance(event, RunStarted), "RunStarted is first, and only there"
        self.started = True
        match event:
            case TextStart() | TextDelta() | TextEnd() | ReasoningStart() | ReasoningDelta() | ReasoningEnd():
                self.check_text_event(event)
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                self.check_call_event(event)
            case StepStart() | StepEnd() | StateSnapshot() | StateDelta():
                self.check_step_event(event)
            case Interrupt(id):
                assert id, "a question without an id cannot be answered"
                assert id not in self.question_ids, "asked twice"
                self.question_ids.add(id)
            case RunFinished():
                self.check_finished(event)
            case RunFailed():
                assert event.code, "an error without a code"
                assert event.message, "an error without words"
                self.ended = True

    def check_text_event(
        self, event: TextStart | TextDelta | TextEnd | ReasoningStart | ReasoningDelta | ReasoningEnd
    ) -> None:
        match event:
            case TextStart(id) | ReasoningStart(id):
                assert id, "no id"
                assert id not in self.used_ids, "opened twice"
                self.used_ids.add(id)
                self.open_ids.add(id)
            case TextDelta(id) | ReasoningDelta(id):
                assert id in self.open_ids, "not open"
            case TextEnd(id) | ReasoningEnd(id):
                assert id in self.open_ids, "not open"
                self.open_ids.remove(id)

    def check_call_event(self, event: CallStart | CallArgs | CallEnd | CallResult) -> None:
        id = event.id
        match event:
            case CallStart():
                assert id, "no id"
                assert event.name, "no name"
                assert id not in self.calls, "called twice"
                self.calls[id] = event
                self.open_arguments[id] = ""
            case CallArgs():
                assert id in self.open_arguments, "arguments of a call that is not open"
                self.open_arguments[id] += event.json
            case CallEnd():
                assert id in self.open_arguments, "the end of a call that is not open"
                assert isinstance(json.loads(self.open_arguments.pop(id)), dict), "arguments are an object"
            case CallResult():
                known = id in self.earlier_calls or (id in self.calls and id not in self.open_arguments)
                assert known, "the result of a call that did not end"
                assert id not in self.answered_calls, "answered twice"
                self.answered_calls.add(id)

    def check_step_event(self, event: StepStart | StepEnd | StateSnapshot | StateDelta) -> None:
        match event:
            case StepStart(name):
                assert name, "a step without a name"
                self.steps[name] += 1
            case StepEnd(name):
                assert self.steps[name] > 0, "a step ends that did not start"
                self.steps[name] -= 1
            case StateSnapshot():
                self.has_state = True
            case StateDelta():
                assert self.has_state, "a change of a state that nobody knows"

    def check_finished(self, event: RunFinished) -> None:
        self.ended = True
        assert not self.open_ids, f"texts are open: {self.open_ids}"
        if event.reason in ("stop", "calls", "interrupt"):
            assert not self.open_arguments, f"calls are open: {set(self.open_arguments)}"
        assert not +self.steps, f"steps are open: {+self.steps}"
        client_calls = {id for id, call in self.calls.items() if call.client and id not in self.answered_calls}
        assert client_calls <= set(event.pending), f"the client's calls are not waited for: {client_calls}"
        assert set(event.pending) <= client_calls | self.earlier_calls, f"waits for what nobody called: {event.pending}"
        assert bool(self.question_ids) == (event.reason == "interrupt"), "asks, or ends by asking, but not both"
        assert event.reason != "calls" or event.pending, "waits for calls, but for none"
        if event.reason == "stop":
            server_calls = {id for id, call in self.calls.items() if not call.client and id not in self.answered_calls}
            assert not server_calls, f"calls have no result: {server_calls}"
