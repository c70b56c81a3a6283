"""A whole turn with tools: what Gemini cannot be held to is checked here, what it signed goes back to it."""

import pytest

from rightseat import Runtime, tool
from rightseat.types.events import RunFinished
from tests.kit.vendors.google import GoogleReply, answer_text, make_call_part, make_chunk
from tests.unit.engine.turns import list_call_results, run_turn
from tests.unit.models.google.model_calls import connect_model

pytestmark = pytest.mark.io

# An integer by the schema; nothing keeps the model from a text.
WRONG = GoogleReply(
    [make_chunk(make_call_part("double", {"n": "two"}, id="up_1", signature=b"first")), make_chunk(finish="STOP")]
)
RIGHT = GoogleReply(
    [
        make_chunk(
            make_call_part("double", {"n": 2}, id="up_2", signature=b"second"),
            make_call_part("double", {"n": 3}, id="up_3"),
        ),
        make_chunk(finish="STOP"),
    ]
)


@pytest.mark.demand("models.google_gemini_api")
async def test_a_call_that_does_not_fit_is_not_run_and_the_model_is_told() -> None:
    given: list[int] = []

    @tool
    def double(n: int) -> int:
        given.append(n)
        return 2 * n

    async with connect_model(answer_text("Done."), "gemini-3-pro") as (upstream, model):
        upstream.queue_replies(WRONG, RIGHT)
        events = await run_turn(Runtime(model=model, tools=[double]))
        assert isinstance(events[-1], RunFinished)
        last = upstream.requests[-1].json["contents"]
    assert given == [2, 3]
    assert list_call_results(events)[-2:] == ["4", "6"]
    # The user, and twice what was called and what came of it.
    _, *rounds = last
    assert [[name for part in one["parts"] for name in part if name.startswith("function")] for one in rounds] == [
        ["functionCall"],
        ["functionResponse"],
        ["functionCall"] * 2,
        ["functionResponse"] * 2,
    ]
    assert "n" in str(rounds[1]["parts"][0]["functionResponse"]["response"])
    assert [part["functionResponse"]["id"] for part in rounds[3]["parts"]] == ["up_2", "up_3"]
    assert [part.get("thoughtSignature") for part in rounds[0]["parts"]] == ["Zmlyc3Q="]
    assert [part.get("thoughtSignature") for part in rounds[2]["parts"]] == ["c2Vjb25k", None]
