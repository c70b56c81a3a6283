"""The api step against a real server: where arguments come from, what is asked, and what fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.errors import ContextTooLong, FlowStopped
from rightseat.plugins.flows.context import FlowReferences, FlowServices, StepError, StepOutput
from rightseat.plugins.flows.flow import Step
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.plugin import Operation
from rightseat.types.events import Custom
from rightseat.types.text import estimate_tokens
from rightseat.types.tools import Pause
from tests.kit.house import says
from tests.unit.plugins.flows.staged import again, asked, gave, kit, problems, run, stage, told
from tests.unit.plugins.http.plugged import LOCAL, object_body, operation, parameter, plugin, tools
from tests.unit.plugins.http.target import Target, said, target

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
pytestmark = pytest.mark.io


@pytest.fixture
async def api() -> AsyncIterator[Target]:
    async with target() as made:
        yield made


@asynccontextmanager
async def kitted(one: Operation, *lines: Any, gate: PluginPolicy = LOCAL, **more: Any) -> AsyncIterator[FlowServices]:
    async with tools(plugin(one), gate) as (tool,):
        yield kit(*lines, operations={one.id: tool}, **more)


def calls(endpoint: str, **params: Any) -> Step:
    return Step(name="start", kind="api", params={"endpoint": endpoint, **params})


def hosts(url: str) -> Operation:
    return operation("GET", "/hosts", parameter("state", "query", TEXT), url=url, description="Lists hosts.")


def host(url: str) -> Operation:
    return operation("GET", "/hosts/{id}", parameter("id", "path", TEXT), url=url)


def ticket(url: str, **more: Any) -> Operation:
    body = object_body("application/json", ["host", "days"], host=TEXT, days=NUMBER, note=TEXT)
    return operation("POST", "/tickets", body=body, url=url, **more)


# Where arguments come from


@pytest.mark.demand("flows.api_arguments_question_context", "flows.call_type_embedded_model")
async def test_the_model_says_them_under_the_operations_schema(api: Target) -> None:
    async with kitted(hosts(api.url), says('{"state": "down"}')) as used:
        api.replies = [said({"hosts": ["db-1"]})]
        made = await gave(stage(calls("get  /hosts"), used, question="Which hosts are down?"))
    assert made.data == {"hosts": ["db-1"]}
    assert api.last.query == [("state", "down")]
    schema = asked(used)[0].output_schema
    assert schema is not None
    assert list(schema["properties"]) == ["state"]
    for part in ("Which hosts are down?", "GET /hosts", "Lists hosts."):
        assert part in told(used)


@pytest.mark.demand("flows.api_arguments_question_context", "flows.deterministic_steps_model_call")
async def test_nothing_to_say_asks_no_model(api: Target) -> None:
    async with kitted(operation("GET", "/hosts", url=api.url)) as used:
        await gave(stage(calls("GET /hosts"), used))
    assert asked(used) == []
    assert len(api.got) == 1


@pytest.mark.demand("flows.api_arguments_question_context", "flows.deterministic_steps_model_call")
async def test_values_of_the_step_ask_no_model(api: Target) -> None:
    values = {"host": "{before.hosts[0]}", "days": "{before.days}"}
    async with kitted(ticket(api.url)) as used:
        await gave(stage(calls("POST /tickets", values=values), used, before={"hosts": ["db-1"], "days": 3}))
    assert asked(used) == []
    assert api.last.body == b'{"host":"db-1","days":3}'


async def test_an_author_who_fixes_values_leaves_out_the_optional_ones(api: Target) -> None:
    async with kitted(hosts(api.url)) as used:
        await gave(stage(calls("GET /hosts", values={}), used))
    assert (asked(used), api.last.query) == ([], [])


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_what_the_step_before_gave_by_the_same_names_asks_no_model(api: Target) -> None:
    async with kitted(ticket(api.url)) as used:
        await gave(stage(calls("POST /tickets"), used, before={"host": "db-1", "days": 3, "other": 1}))
    assert asked(used) == []
    assert api.last.body == b'{"host":"db-1","days":3}'


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_what_does_not_fit_is_asked_of_the_model(api: Target) -> None:
    async with kitted(ticket(api.url), says('{"days": 4}')) as used:
        await gave(stage(calls("POST /tickets"), used, before={"host": "db-1", "days": "some"}))
    schema = asked(used)[0].output_schema
    assert schema is not None
    assert list(schema["properties"]) == ["days", "note"]
    assert api.last.body == b'{"host":"db-1","days":4}'


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_a_model_may_say_that_it_does_not_know(api: Target) -> None:
    """Then a person is asked, by a form, and the call goes on with the answer."""
    async with kitted(ticket(api.url), says('{"host": "db-1", "days": null}')) as used:
        given = stage(calls("POST /tickets"), used, question="A ticket for db-1")
        [pause] = await run(given)
        assert isinstance(pause, Pause)
        [ask] = pause.asks
        assert ask.kind == "form"
        assert list(ask.schema["properties"]) == ["days"]
        assert api.got == []
        [made] = await again(given, pause, {"days": 2})
    assert made == StepOutput({"ok": True}, "Called POST /tickets.")
    assert api.last.body == b'{"host":"db-1","days":2}'
    assert len(asked(used)) == 1


async def test_a_dangerous_operation_is_agreed_to_first(api: Target) -> None:
    one = ticket(api.url, dangerous=True)
    step = calls("POST /tickets", values={"host": "db-1", "days": 1})
    async with kitted(one) as used:
        given = stage(step, used)
        [pause] = await run(given)
        assert isinstance(pause, Pause)
        assert pause.asks[0].kind == "confirm"
        with pytest.raises(FlowStopped, match="'start' was not allowed"):
            await again(given, pause, {"approved": False})
        assert api.got == []
        await again(given, pause, {"approved": True})
    assert len(api.got) == 1


async def test_values_that_cannot_be_are_an_error_that_says_why(api: Target) -> None:
    async with kitted(ticket(api.url)) as used:
        with pytest.raises(StepError, match="days"):
            await gave(stage(calls("POST /tickets", values={"host": "a", "days": "soon"}), used))
    assert api.got == []


# What comes of it


@pytest.mark.parametrize("count", [3, 20_000, 50_000])
async def test_all_of_a_large_answer_is_there_for_the_next_step(api: Target, count: int) -> None:
    rows = [{"name": f"host-{number}", "note": "x" * 50} for number in range(count)]
    async with kitted(operation("GET", "/hosts", url=api.url), context=1000) as used:
        api.replies = [said(rows)]
        made = await gave(stage(calls("GET /hosts"), used))
    assert made.data == rows


@pytest.mark.demand("flows.api_2xx_success_other")
@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_any_2xx_is_success(api: Target, status: int) -> None:
    async with kitted(operation("GET", "/x", url=api.url)) as used:
        api.replies = [said(None if status == 204 else {"a": 1}, status)]
        await gave(stage(calls("GET /x"), used))


@pytest.mark.demand("flows.api_2xx_success_other")
@pytest.mark.parametrize("status", [304, 400, 404, 422, 500])
async def test_any_other_answer_is_an_error_with_status_and_body(api: Target, status: int) -> None:
    async with kitted(operation("POST", "/x", url=api.url)) as used:
        api.replies = [said({"detail": "the disk is full"}, status)]
        with pytest.raises(StepError, match=f"answered {status}") as caught:
            await gave(stage(calls("POST /x"), used))
    if status != 304:
        assert "the disk is full" in str(caught.value)


async def test_every_try_has_the_same_key_and_another_step_another(api: Target) -> None:
    one = operation("POST", "/x", parameter("Idempotency-Key", "header", TEXT, required=True), url=api.url)
    async with kitted(one) as used:
        for key in ("a" * 32, "a" * 32, "b" * 32):
            await gave(stage(calls("POST /x", values={}), used, key=key))
    assert [got.headers["idempotency-key"][0] for got in api.got] == ["a", "a", "b"]


# The prompt


@pytest.mark.demand("flows.llm_context_conversation_finished")
async def test_its_prompt_stays_within_80_percent(api: Target) -> None:
    async with kitted(host(api.url), says('{"id": "1"}'), context=1500) as used:
        made = await run(stage(calls("GET /hosts/{id}"), used, before="word " * 20_000))
    assert any(isinstance(item, Custom) and item.name == "prompt_cut" for item in made)
    assert sum(estimate_tokens(one.text) for one in asked(used)[0].messages) <= 1200


async def test_a_schema_that_fills_the_context_is_told(api: Target) -> None:
    wide = operation("GET", "/x", *(parameter(f"value_number_{n}", "query", TEXT) for n in range(200)), url=api.url)
    async with kitted(wide, context=500) as used:
        with pytest.raises(ContextTooLong):
            await gave(stage(calls("GET /x"), used))


# Before it runs


def test_params_are_checked() -> None:
    known = FlowReferences(endpoints=("GET /hosts", "GET /hosts/{id}"))
    assert problems(calls("get /hosts", values={"a": 1}), known) == []
    [found] = problems(calls("GET /host"), known)
    assert (found.key, found.fix) == ("steps.start.params.endpoint", "Did you mean 'GET /hosts'?")
    assert [one.key for one in problems(calls("GET /hosts", values=3), known)] == ["steps.start.params.values"]
    [found] = problems(calls("GET /hosts", retries=3), known)
    assert found.gravity == "warning"
    [found] = problems(calls("GET /hosts", values={"a": ["{qestion}"], "b": "{question}", "c": 1}), known)
    assert (found.gravity, found.fix) == ("style", "Did you mean {question}?")


def test_what_may_be_repeated_is_the_kits_word() -> None:
    used = kit(repeatable=("GET /hosts",))
    assert get_kind("api").repeatable(calls("get /hosts"), used)
    assert not get_kind("api").repeatable(calls("POST /hosts"), used)
