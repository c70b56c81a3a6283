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


def verify(events: Iterable[Event], *, earlier: Collection[str] = (), state: bool = False) -> list[Event]:
    """The events as they came. `state`: the client brought one, so it can be changed at once."""
    seen = list(events)
    verifier = Verifier(earlier, state)
    for number, event in enumerate(seen):
        try:
            verifier.see(event)
        except AssertionError as error:
            raise AssertionError(f"event {number}, {event}: {error}") from None
    assert verifier.ended, "the run has no end"
    return seen


class Verifier:
    def __init__(self, earlier: Collection[str], state: bool) -> None:
        self.begun = False
        self.ended = False
        self.earlier = set(earlier)
        self.state = state
        self.used: set[str] = set()
        """Ids of texts and thoughts that were opened."""
        self.open: set[str] = set()
        self.calls: dict[str, CallStart] = {}
        self.args: dict[str, str] = {}
        """Of the calls that are open."""
        self.answered: set[str] = set()
        self.steps: Counter[str] = Counter()
        self.asked: set[str] = set()

    def see(self, event: Event) -> None:
        assert not self.ended, "something follows the end"
        assert self.begun != isinstance(event, RunStarted), "RunStarted is first, and only there"
        self.begun = True
        match event:
            case TextStart() | TextDelta() | TextEnd() | ReasoningStart() | ReasoningDelta() | ReasoningEnd():
                self.spoken(event)
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                self.called(event)
            case StepStart() | StepEnd() | StateSnapshot() | StateDelta():
                self.moved(event)
            case Interrupt(id):
                assert id, "a question without an id cannot be answered"
                assert id not in self.asked, "asked twice"
                self.asked.add(id)
            case RunFinished():
                self.finished(event)
            case RunFailed():
                assert event.code, "an error without a code"
                assert event.message, "an error without words"
                self.ended = True

    def spoken(self, event: TextStart | TextDelta | TextEnd | ReasoningStart | ReasoningDelta | ReasoningEnd) -> None:
        match event:
            case TextStart(id) | ReasoningStart(id):
                assert id, "no id"
                assert id not in self.used, "opened twice"
                self.used.add(id)
                self.open.add(id)
            case TextDelta(id) | ReasoningDelta(id):
                assert id in self.open, "not open"
            case TextEnd(id) | ReasoningEnd(id):
                assert id in self.open, "not open"
                self.open.remove(id)

    def called(self, event: CallStart | CallArgs | CallEnd | CallResult) -> None:
        id = event.id
        match event:
            case CallStart():
                assert id, "no id"
                assert event.name, "no name"
                assert id not in self.calls, "called twice"
                self.calls[id] = event
                self.args[id] = ""
            case CallArgs():
                assert id in self.args, "arguments of a call that is not open"
                self.args[id] += event.json
            case CallEnd():
                assert id in self.args, "the end of a call that is not open"
                assert isinstance(json.loads(self.args.pop(id)), dict), "arguments are an object"
            case CallResult():
                known = id in self.earlier or (id in self.calls and id not in self.args)
                assert known, "the result of a call that did not end"
                assert id not in self.answered, "answered twice"
                self.answered.add(id)

    def moved(self, event: StepStart | StepEnd | StateSnapshot | StateDelta) -> None:
        match event:
            case StepStart(name):
                assert name, "a step without a name"
                self.steps[name] += 1
            case StepEnd(name):
                assert self.steps[name] > 0, "a step ends that did not start"
                self.steps[name] -= 1
            case StateSnapshot():
                self.state = True
            case StateDelta():
                assert self.state, "a change of a state that nobody knows"

    def finished(self, event: RunFinished) -> None:
        self.ended = True
        assert not self.open, f"texts are open: {self.open}"
        if event.reason in ("stop", "calls", "interrupt"):
            assert not self.args, f"calls are open: {set(self.args)}"
        assert not +self.steps, f"steps are open: {+self.steps}"
        theirs = {id for id, call in self.calls.items() if call.client and id not in self.answered}
        assert theirs <= set(event.pending), f"the client's calls are not waited for: {theirs}"
        assert set(event.pending) <= theirs | self.earlier, f"waits for what nobody called: {event.pending}"
        assert bool(self.asked) == (event.reason == "interrupt"), "asks, or ends by asking, but not both"
        assert event.reason != "calls" or event.pending, "waits for calls, but for none"
        if event.reason == "stop":
            ours = {id for id, call in self.calls.items() if not call.client and id not in self.answered}
            assert not ours, f"calls have no result: {ours}"
