"""What `Runtime.ask` returns."""

from __future__ import annotations

from typing import Any

import pytest

from rightseat.runtime.answer import make_answer
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished
from rightseat.types.turn import Turn


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": '), ("[" * 5000, "[" * 5000), ('"\ud800"', '"\ud800"')],
    ids=["an object", "truncated", "too deep", "a lone surrogate"],
)
def test_arguments_that_are_not_json_stay_text(arguments: str, expected: Any) -> None:
    events: list[Event] = [CallStart("c", "add", "m"), CallArgs("c", arguments), CallEnd("c"), RunFinished("stop")]
    [call] = make_answer(Turn(messages=()), events).tool_calls
    assert (call.name, call.arguments) == ("add", expected)
