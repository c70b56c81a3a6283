"""What the demo shows, by the embedded model: a call, an approval, a chart. `make eval` has sixty ways."""

from typing import Any

import pytest

from evals.demo.cases import CASES, draws_chart, make_booking_check, run_case, serve_demo, tells_the_time


@pytest.mark.demand("adapter.demo_serve_works_adapter", "demo.sales_chart_of_the_default")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_wording_of_each_brings_what_it_should() -> None:
    async with serve_demo() as url:
        for wishes in CASES.values():
            events = await run_case(url, wishes[1])
            assert wishes[1].is_met(events), (wishes[1].wording, events)


CLOCK_CALL = {"type": "TOOL_CALL_START", "toolCallName": "demo_clock"}
CLOCK_RESULT = {"type": "TOOL_CALL_RESULT", "content": "2026-11-15 12:30:01 UTC"}


def make_text_event(words: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "delta": words}


@pytest.mark.demand("adapter.demo_serve_works_adapter")
def test_a_time_that_the_clock_did_not_tell_is_seen() -> None:
    assert tells_the_time([CLOCK_CALL, CLOCK_RESULT, make_text_event("It is 12:"), make_text_event("30.")])
    assert not tells_the_time([CLOCK_CALL, CLOCK_RESULT, make_text_event("It is 13:30.")])
    assert not tells_the_time([make_text_event("It is 12:30.")])


@pytest.mark.demand("adapter.demo_serve_works_adapter")
def test_a_table_for_others_or_without_a_question_is_seen() -> None:
    question = {"message": 'Allow demo_book with {"people":2}?'}
    asked = {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [question]}}
    assert make_booking_check(2)([asked])
    assert not make_booking_check(3)([asked])
    assert not make_booking_check(2)([{"type": "RUN_FINISHED", "outcome": {"type": "success"}}])


@pytest.mark.demand("adapter.demo_serve_works_adapter")
def test_a_flow_without_a_chart_is_seen() -> None:
    chart = {"type": "CUSTOM", "name": "artifact", "value": {"kind": "chart"}}
    assert draws_chart([chart, make_text_event("The best month was June.")])
    assert not draws_chart([make_text_event("The best month was June.")])


@pytest.mark.demand("adapter.demo_serve_works_adapter")
def test_there_are_sixty_wordings_in_both_languages() -> None:
    counts = {name: len({wish.wording for wish in wishes}) for name, wishes in CASES.items()}
    assert counts == {"a tool call": 20, "an approval": 20, "a flow with a chart": 10, "the flow as a tool": 10}
    for wishes in CASES.values():
        assert {wish.wording.isascii() for wish in wishes} == {True, False}
