"""Results as text, questions out of a tool, who shadows whom, and secrets in other people's words."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pydantic
import pytest

from rightseat import Runtime, tool
from rightseat.config import secret
from rightseat.config.secret import Secret, mask
from rightseat.types.events import RunFinished, Usage
from rightseat.types.model import ToolSpec
from rightseat.types.streams import closing
from rightseat.types.tools import (
    APPROVAL_SCHEMA,
    Ask,
    AskSignal,
    Result,
    Tool,
    ToolContext,
    error_result,
    make_client_tool,
)
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.cases import each_case


@dataclass
class Point:
    x: int


class Model(pydantic.BaseModel):
    a: int = 1


@each_case(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ('{"as": "it is"}', '{"as": "it is"}'),
        (0, "0"),
        (False, "false"),
        ("你好", "你好"),
        (["你好"], '["你好"]'),
        ({1: 2}, '{"1":2}'),
        (Point(1), '{"x":1}'),
        (Usage(1, 2), '{"input":1,"output":2,"cached":0,"cost":0.0}'),
        (datetime(2024, 5, 1, tzinfo=UTC), '"2024-05-01T00:00:00Z"'),
        ({"cost": Decimal("1.10")}, '{"cost":1.10}'),
        ([2**70], "[1180591620717411303424]"),
        ([object], "[\"<class 'object'>\"]"),
    ],
)
def test_a_result_as_text(content: Any, text: str) -> None:
    assert Result(content).text == text


def test_a_pydantic_model_is_json() -> None:
    assert Result(Model()).text == '{"a":1}'
    assert Result([Model()]).text == '[{"a":1}]'


async def test_a_result_that_cannot_be_written_fails_its_call_and_not_the_run() -> None:
    @tool
    def broken() -> dict[str, str]:
        return {"half a pair": "\ud800"}

    runtime = Runtime(model=FakeModel(reply_calls(("broken", "{}")), reply_text("ok")), tools=[broken])
    async with closing(runtime.run(Turn(messages=()))) as events:
        assert isinstance([event async for event in events][-1], RunFinished)


def test_a_failure_has_one_shape() -> None:
    result = error_result("timeout", "too late")
    assert result.failed
    assert result.text == '{"error":{"code":"timeout","message":"too late"}}'


def test_asking_raises_until_there_is_an_answer() -> None:
    schema = {"type": "integer"}
    with pytest.raises(AskSignal) as caught:
        ToolContext(Turn(messages=())).ask("How many?", schema)
    assert caught.value.ask == Ask("How many?", "form", schema)
    with pytest.raises(AskSignal) as caught:
        ToolContext(Turn(messages=())).ask("Who?")
    assert caught.value.ask == Ask("Who?", "ask", {"type": "string"})


def test_answers_are_given_in_the_order_of_the_questions() -> None:
    context = ToolContext(Turn(messages=()), answers=("Rome", {"approved": True}))
    assert context.ask("Where?") == "Rome"
    assert context.confirm("Really?") is True
    with pytest.raises(AskSignal, match="And when"):
        context.ask("And when?")


@pytest.mark.parametrize("answer", [{"approved": False}, True, "yes", None, {"approved": 1, "x": 0}])
def test_only_an_approval_approves(answer: Any) -> None:
    assert ToolContext(Turn(messages=()), answers=(answer,)).confirm("Really?") is False


def test_confirm_asks_for_an_approval() -> None:
    with pytest.raises(AskSignal) as caught:
        ToolContext(Turn(messages=())).confirm("Really?")
    assert caught.value.ask == Ask("Really?", "confirm", APPROVAL_SCHEMA)


def test_a_tools_own_except_does_not_eat_the_question() -> None:
    assert not issubclass(AskSignal, Exception)


def test_a_tool_without_a_call_runs_on_the_client() -> None:
    spec = ToolSpec("f", "theirs", {})
    assert make_client_tool(spec).spec == spec
    assert make_client_tool(spec).runs_on_client
    assert not Tool("f", "ours", {}, call=lambda args, ctx: _never()).runs_on_client


def _never() -> Any:
    raise AssertionError("not called")


def test_secrets_are_masked_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "_known", set())
    Secret("sk-123456")
    Secret("short")
    assert mask("401 for sk-123456, then sk-123456!") == "401 for ***, then ***!"
    assert mask("nothing short of it") == "nothing short of it"


def test_the_longer_secret_is_masked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "_known", dict.fromkeys(["sk-123", "sk-123-and-more"]))
    assert mask("key sk-123-and-more") == "key ***"
