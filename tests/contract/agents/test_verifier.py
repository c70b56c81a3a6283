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
from tests.contract.agents.verifier import verify

START, STOP = RunStarted("t", "r"), RunFinished("stop")
CALL: list[Event] = [CallStart("c", "add", "m"), CallArgs("c", "{}"), CallEnd("c")]
PAINT: list[Event] = [CallStart("c", "paint", "m", client=True), CallArgs("c", "{}"), CallEnd("c")]
TEXT: list[Event] = [TextStart("m"), TextDelta("m", "x"), TextEnd("m")]
ASK = Interrupt("q", "ask", "Which?", {})

GOOD: dict[str, list[Event]] = {
    "nothing": [START, STOP],
    "text": [START, *TEXT, STOP],
    "a call": [START, *CALL, CallResult("c", "5"), STOP],
    "a client's call": [START, *PAINT, RunFinished("calls", pending=("c",))],
    "a question": [START, ASK, RunFinished("interrupt")],
    "a call that waits for the answer": [START, *CALL, ASK, RunFinished("interrupt")],
    "a failure in the middle": [START, TextStart("m"), RunFailed("x", "y")],
    "state": [START, StepStart("n"), StateSnapshot({}), StateDelta([]), StepEnd("n"), STOP],
}
BAD: dict[str, list[Event]] = {
    "no start": [*TEXT, STOP],
    "two starts": [START, START, STOP],
    "no end": [START, *TEXT],
    "two ends": [START, STOP, STOP],
    "after the end": [START, STOP, *TEXT],
    "an open text": [START, TextStart("m"), STOP],
    "a text twice": [START, *TEXT, *TEXT, STOP],
    "words without a text": [START, TextDelta("m", "x"), STOP],
    "a call twice": [START, *CALL, *CALL, CallResult("c", ""), STOP],
    "arguments after the end": [START, *CALL, CallArgs("c", "{}"), STOP],
    "arguments that are no object": [START, CallStart("c", "a", "m"), CallArgs("c", "[]"), CallEnd("c"), STOP],
    "a result before the end": [START, CallStart("c", "a", "m"), CallResult("c", ""), STOP],
    "a result twice": [START, *CALL, CallResult("c", ""), CallResult("c", ""), STOP],
    "a result of nothing": [START, CallResult("c", ""), STOP],
    "no result": [START, *CALL, STOP],
    "a client's call that is forgotten": [START, *PAINT, STOP],
    "waiting for nothing": [START, RunFinished("calls")],
    "a question without the reason": [START, ASK, STOP],
    "the reason without a question": [START, RunFinished("interrupt")],
    "a question twice": [START, ASK, ASK, RunFinished("interrupt")],
    "an open step": [START, StepStart("n"), STOP],
    "a step that only ends": [START, StepEnd("n"), STOP],
    "a change of nothing": [START, StateDelta([]), STOP],
}


@pytest.mark.demand("agents.agent_contract_suite_same")
@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    assert verify(GOOD[name]) == GOOD[name]


@pytest.mark.demand("agents.agent_contract_suite_same")
@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    with pytest.raises(AssertionError):
        verify(BAD[name])


def test_a_result_of_an_earlier_call() -> None:
    verify([START, CallResult("c", "5"), STOP], earlier={"c"})
