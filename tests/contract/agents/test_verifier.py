"""The verifier itself: each rule can fail."""

import pytest

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Interrupt,
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
from tests.contract.agents.verifier import verify_events
from tests.kit.cases import each_case

START, STOP = RunStarted("t", "r"), RunFinished("stop")
CALL_EVENTS: list[Event] = [CallStart("c", "add", "m"), CallArgs("c", "{}"), CallEnd("c")]
CLIENT_CALL_EVENTS: list[Event] = [CallStart("c", "paint", "m", client=True), CallArgs("c", "{}"), CallEnd("c")]
TEXT_EVENTS: list[Event] = [TextStart("m"), TextDelta("m", "x"), TextEnd("m")]
QUESTION = Interrupt("q", "ask", "Which?", {})

GOOD: dict[str, list[Event]] = {
    "nothing": [START, STOP],
    "text": [START, *TEXT_EVENTS, STOP],
    "a call": [START, *CALL_EVENTS, CallResult("c", "5"), STOP],
    "a client's call": [START, *CLIENT_CALL_EVENTS, RunFinished("calls", pending=("c",))],
    "a question": [START, QUESTION, RunFinished("interrupt")],
    "a call that waits for the answer": [START, *CALL_EVENTS, QUESTION, RunFinished("interrupt")],
    "a failure in the middle": [START, TextStart("m"), RunFailed("x", "y")],
    "state": [START, StepStart("n"), StateSnapshot({}), StateDelta([]), StepEnd("n"), STOP],
}
BAD: dict[str, list[Event]] = {
    "no start": [*TEXT_EVENTS, STOP],
    "two starts": [START, START, STOP],
    "no end": [START, *TEXT_EVENTS],
    "two ends": [START, STOP, STOP],
    "after the end": [START, STOP, *TEXT_EVENTS],
    "an open text": [START, TextStart("m"), STOP],
    "a text twice": [START, *TEXT_EVENTS, *TEXT_EVENTS, STOP],
    "words without a text": [START, TextDelta("m", "x"), STOP],
    "a call twice": [START, *CALL_EVENTS, *CALL_EVENTS, CallResult("c", ""), STOP],
    "arguments after the end": [START, *CALL_EVENTS, CallArgs("c", "{}"), STOP],
    "arguments that are no object": [START, CallStart("c", "a", "m"), CallArgs("c", "[]"), CallEnd("c"), STOP],
    "a result before the end": [START, CallStart("c", "a", "m"), CallResult("c", ""), STOP],
    "a result twice": [START, *CALL_EVENTS, CallResult("c", ""), CallResult("c", ""), STOP],
    "a result of nothing": [START, CallResult("c", ""), STOP],
    "no result": [START, *CALL_EVENTS, STOP],
    "a client's call that is forgotten": [START, *CLIENT_CALL_EVENTS, STOP],
    "waiting for nothing": [START, RunFinished("calls")],
    "a question without the reason": [START, QUESTION, STOP],
    "the reason without a question": [START, RunFinished("interrupt")],
    "a question twice": [START, QUESTION, QUESTION, RunFinished("interrupt")],
    "an open step": [START, StepStart("n"), STOP],
    "a step that only ends": [START, StepEnd("n"), STOP],
    "a change of nothing": [START, StateDelta([]), STOP],
}


@pytest.mark.demand("agents.agent_contract_suite_same")
@each_case("name", GOOD)
def test_good(name: str) -> None:
    assert verify_events(GOOD[name]) == GOOD[name]


@pytest.mark.demand("agents.agent_contract_suite_same")
@each_case("name", BAD)
def test_bad(name: str) -> None:
    with pytest.raises(AssertionError):
        verify_events(BAD[name])


def test_a_result_of_an_earlier_call() -> None:
    events: list[Event] = [START, CallResult("c", "5"), STOP]
    assert verify_events(events, earlier_calls={"c"}) == events
