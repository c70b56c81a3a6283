"""Results of tools as text for the model: whole, or cut and said to be cut."""

import json
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.engine.loop import Assistant
from rightseat.engine.result_text import make_result_text
from rightseat.types.events import Custom, RunFinished
from rightseat.types.json_values import NotJsonError
from rightseat.types.messages import text_message
from rightseat.types.text import estimate_tokens
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.engine.turns import run_turn

ROWS = [{"n": number, "text": "word " * (number % 7)} for number in range(20_000)]


@pytest.mark.parametrize("content", [None, "", "text", {"a": 1}, [1, 2], ROWS[:300]])
@pytest.mark.parametrize("budget", [None, 50_000])
async def test_what_fits_is_whole(content: Any, budget: int | None) -> None:
    result = await make_result_text(content, budget)
    assert not result.is_cut
    whole = content or "" if content is None or isinstance(content, str) else content
    assert result.text == whole or json.loads(result.text) == whole


async def test_a_text_is_cut_only_where_the_window_is_known() -> None:
    text = "x" * 1_000_000
    assert (await make_result_text(text, None)).text == text
    result = await make_result_text(text, 1000)
    assert result.is_cut
    assert "1000000 characters, the middle left out" in result.text


@pytest.mark.parametrize("budget", [None, 100, 1000, 20_000])
@pytest.mark.parametrize("count", [300, 501, 2000, 20_000])
async def test_a_long_table_keeps_its_first_and_last_rows(budget: int | None, count: int) -> None:
    result = await make_result_text(ROWS[:count], budget)
    if not result.is_cut:
        assert json.loads(result.text) == ROWS[:count]
        return
    assert result.rows is not None
    shown, total = result.rows
    text, _, note = result.text.partition("\n\n[")
    rows = json.loads(text)["rows"]
    gap = rows.index(f"… {count - shown} rows left out …")
    assert (total, len(rows) - 1) == (count, shown)
    assert [row[0] for row in rows[:gap]] == list(range(gap))
    assert [row[0] for row in rows[gap + 1 :]] == list(range(count - (shown - gap), count))
    assert f"{shown} of {count} rows are shown" in note
    assert estimate_tokens(text) <= (budget or 64_000)


async def test_a_table_inside_an_object() -> None:
    result = await make_result_text({"prices": ROWS, "source": "x"}, 1000)
    assert result.is_cut
    assert "of 20000 rows are shown" in result.text
    assert '"source":"x"' in result.text


async def test_a_list_whose_first_items_are_objects_and_others_are_not() -> None:
    result = await make_result_text([*ROWS, 5, "x"], 1000)
    assert result.is_cut
    assert "of 20002 items of a list are shown" in result.text


async def test_a_value_without_a_json_form() -> None:
    with pytest.raises(NotJsonError):
        await make_result_text(iter(ROWS), None)


@pytest.mark.demand("openbb.large_tables")
async def test_a_result_that_is_larger_than_the_context_window_does_not_fail_the_run() -> None:
    @tool
    def prices() -> Any:
        """All prices."""
        return ROWS

    model = FakeModel(reply_calls(("prices", "{}")), reply_text("Here."))
    assistant = Assistant("default", model, tools=(prices,), context=4096)
    events = await run_turn(Runtime(assistants=[assistant]), messages=(text_message("user", "the prices"),))
    assert isinstance(events[-1], RunFinished)
    [message] = [event.value["message"] for event in events if isinstance(event, Custom) and event.name == "progress"]
    assert " of 20,000 rows of prices were read" in message
