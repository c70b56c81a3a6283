"""The api step against a real server: where arguments come from, what is asked, and what fails."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.errors import ContextTooLong, FlowStopped
from rightseat.plugins.flows.step_context import FlowReferences, FlowServices, StepError, StepOutput
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.plugin import Operation, Step
from rightseat.types.events import Custom
from rightseat.types.text import estimate_tokens
from rightseat.types.tools import Pause
from tests.kit.app_server import reply_text
from tests.unit.plugins.flows.step_runs import (
    check_step,
    get_prompt_text,
    list_prompts,
    make_context,
    make_services,
    resume_step,
    run_step,
    run_step_to_output,
)
from tests.unit.plugins.http.plugin_values import (
    LOCAL_POLICY,
    make_object_body,
    make_operation,
    make_parameter,
    make_plugin,
    open_tools,
)
from tests.unit.plugins.http.recording_api import RecordingApi, make_json_response, serve_recording_api

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
pytestmark = pytest.mark.io


@pytest.fixture
async def api() -> AsyncIterator[RecordingApi]:
    async with serve_recording_api() as made:
        yield made


@asynccontextmanager
async def open_services(
    one: Operation, *lines: Any, gate: PluginPolicy = LOCAL_POLICY, **more: Any
) -> AsyncIterator[FlowServices]:
    async with open_tools(make_plugin(one), gate) as (tool,):
        yield make_services(*lines, operations={one.id: tool}, **more)


def make_api_step(endpoint: str, **params: Any) -> Step:
    return Step(name="start", kind="api", params={"endpoint": endpoint, **params})


def make_hosts_operation(url: str) -> Operation:
    return make_operation("GET", "/hosts", make_parameter("state", "query", TEXT), url=url, description="Lists hosts.")


def make_host_operation(url: str) -> Operation:
    return make_operation("GET", "/hosts/{id}", make_parameter("id", "path", TEXT), url=url)


def make_ticket_operation(url: str, **more: Any) -> Operation:
    body = make_object_body("application/json", ["host", "days"], host=TEXT, days=NUMBER, note=TEXT)
    return make_operation("POST", "/tickets", body=body, url=url, **more)


# Where arguments come from


@pytest.mark.demand("flows.api_arguments_question_context", "flows.call_type_embedded_model")
async def test_the_model_says_them_under_the_operations_schema(api: RecordingApi) -> None:
    async with open_services(make_hosts_operation(api.url), reply_text('{"state": "down"}')) as used:
        api.replies = [make_json_response({"hosts": ["db-1"]})]
        made = await run_step_to_output(
            make_context(make_api_step("get  /hosts"), used, question="Which hosts are down?")
        )
    assert made.data == {"hosts": ["db-1"]}
    assert api.last_request.query == [("state", "down")]
    schema = list_prompts(used)[0].output_schema
    assert schema is not None
    assert list(schema["properties"]) == ["state"]
    for part in ("Which hosts are down?", "GET /hosts", "Lists hosts."):
        assert part in get_prompt_text(used)


@pytest.mark.demand("flows.api_arguments_question_context", "flows.deterministic_steps_model_call")
async def test_nothing_to_say_asks_no_model(api: RecordingApi) -> None:
    async with open_services(make_operation("GET", "/hosts", url=api.url)) as used:
        await run_step_to_output(make_context(make_api_step("GET /hosts"), used))
    assert list_prompts(used) == []
    assert len(api.requests) == 1


@pytest.mark.demand("flows.api_arguments_question_context", "flows.deterministic_steps_model_call")
async def test_values_of_the_step_ask_no_model(api: RecordingApi) -> None:
    values = {"host": "{before.hosts[0]}", "days": "{before.days}"}
    async with open_services(make_ticket_operation(api.url)) as used:
        await run_step_to_output(
            make_context(make_api_step("POST /tickets", values=values), used, before={"hosts": ["db-1"], "days": 3})
        )
    assert list_prompts(used) == []
    assert api.last_request.body == b'{"host":"db-1","days":3}'


async def test_an_author_who_fixes_values_leaves_out_the_optional_ones(api: RecordingApi) -> None:
    async with open_services(make_hosts_operation(api.url)) as used:
        await run_step_to_output(make_context(make_api_step("GET /hosts", values={}), used))
    assert (list_prompts(used), api.last_request.query) == ([], [])


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_what_the_step_before_gave_by_the_same_names_asks_no_model(api: RecordingApi) -> None:
    async with open_services(make_ticket_operation(api.url)) as used:
        await run_step_to_output(
            make_context(make_api_step("POST /tickets"), used, before={"host": "db-1", "days": 3, "other": 1})
        )
    assert list_prompts(used) == []
    assert api.last_request.body == b'{"host":"db-1","days":3}'


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_what_does_not_fit_is_asked_of_the_model(api: RecordingApi) -> None:
    async with open_services(make_ticket_operation(api.url), reply_text('{"days": 4}')) as used:
        await run_step_to_output(
            make_context(make_api_step("POST /tickets"), used, before={"host": "db-1", "days": "some"})
        )
    schema = list_prompts(used)[0].output_schema
    assert schema is not None
    assert list(schema["properties"]) == ["days", "note"]
    assert api.last_request.body == b'{"host":"db-1","days":4}'


@pytest.mark.demand("flows.api_arguments_question_context")
async def test_a_model_may_say_that_it_does_not_know(api: RecordingApi) -> None:
    """Then a person is asked, by a form, and the call goes on with the answer."""
    async with open_services(make_ticket_operation(api.url), reply_text('{"host": "db-1", "days": null}')) as used:
        given = make_context(make_api_step("POST /tickets"), used, question="A ticket for db-1")
        [pause] = await run_step(given)
        assert isinstance(pause, Pause)
        [ask] = pause.asks
        assert ask.kind == "form"
        assert list(ask.schema["properties"]) == ["days"]
        assert api.requests == []
        [made] = await resume_step(given, pause, {"days": 2})
    assert made == StepOutput({"ok": True}, "Called POST /tickets.")
    assert api.last_request.body == b'{"host":"db-1","days":2}'
    assert len(list_prompts(used)) == 1


async def test_a_dangerous_operation_is_agreed_to_first(api: RecordingApi) -> None:
    one = make_ticket_operation(api.url, dangerous=True)
    step = make_api_step("POST /tickets", values={"host": "db-1", "days": 1})
    async with open_services(one) as used:
        given = make_context(step, used)
        [pause] = await run_step(given)
        assert isinstance(pause, Pause)
        assert pause.asks[0].kind == "confirm"
        with pytest.raises(FlowStopped, match="'start' was not allowed"):
            await resume_step(given, pause, {"approved": False})
        assert api.requests == []
        await resume_step(given, pause, {"approved": True})
    assert len(api.requests) == 1


async def test_values_that_cannot_be_are_an_error_that_says_why(api: RecordingApi) -> None:
    async with open_services(make_ticket_operation(api.url)) as used:
        with pytest.raises(StepError, match="days"):
            await run_step_to_output(
                make_context(make_api_step("POST /tickets", values={"host": "a", "days": "soon"}), used)
            )
    assert api.requests == []


# What comes of it


@pytest.mark.parametrize("count", [3, 20_000, 50_000])
async def test_all_of_a_large_answer_is_there_for_the_next_step(api: RecordingApi, count: int) -> None:
    rows = [{"name": f"host-{number}", "note": "x" * 50} for number in range(count)]
    async with open_services(make_operation("GET", "/hosts", url=api.url), context=1000) as used:
        api.replies = [make_json_response(rows)]
        made = await run_step_to_output(make_context(make_api_step("GET /hosts"), used))
    assert made.data == rows


@pytest.mark.demand("flows.api_2xx_success_other")
@pytest.mark.parametrize("status", [200, 201, 204, 299])
async def test_any_2xx_is_success(api: RecordingApi, status: int) -> None:
    async with open_services(make_operation("GET", "/x", url=api.url)) as used:
        api.replies = [make_json_response(None if status == 204 else {"a": 1}, status)]
        await run_step_to_output(make_context(make_api_step("GET /x"), used))


@pytest.mark.demand("flows.api_2xx_success_other")
@pytest.mark.parametrize("status", [304, 400, 404, 422, 500])
async def test_any_other_answer_is_an_error_with_status_and_body(api: RecordingApi, status: int) -> None:
    async with open_services(make_operation("POST", "/x", url=api.url)) as used:
        api.replies = [make_json_response({"detail": "the disk is full"}, status)]
        with pytest.raises(StepError, match=f"answered {status}") as caught:
            await run_step_to_output(make_context(make_api_step("POST /x"), used))
    if status != 304:
        assert "the disk is full" in str(caught.value)


async def test_every_try_has_the_same_key_and_another_step_another(api: RecordingApi) -> None:
    one = make_operation("POST", "/x", make_parameter("Idempotency-Key", "header", TEXT, required=True), url=api.url)
    async with open_services(one) as used:
        for key in ("a" * 32, "a" * 32, "b" * 32):
            await run_step_to_output(make_context(make_api_step("POST /x", values={}), used, key=key))
    assert [got.headers["idempotency-key"][0] for got in api.requests] == ["a", "a", "b"]


# The prompt


@pytest.mark.demand("flows.llm_context_conversation_finished")
async def test_its_prompt_stays_within_80_percent(api: RecordingApi) -> None:
    async with open_services(make_host_operation(api.url), reply_text('{"id": "1"}'), context=1500) as used:
        made = await run_step(make_context(make_api_step("GET /hosts/{id}"), used, before="word " * 20_000))
    assert any(isinstance(item, Custom) and item.name == "prompt_cut" for item in made)
    assert sum(estimate_tokens(one.text) for one in list_prompts(used)[0].messages) <= 1200


async def test_a_schema_that_fills_the_context_is_told(api: RecordingApi) -> None:
    wide = make_operation(
        "GET", "/x", *(make_parameter(f"value_number_{n}", "query", TEXT) for n in range(200)), url=api.url
    )
    async with open_services(wide, context=500) as used:
        with pytest.raises(ContextTooLong):
            await run_step_to_output(make_context(make_api_step("GET /x"), used))


# Before it runs


def test_params_are_checked() -> None:
    known = FlowReferences(endpoints=("GET /hosts", "GET /hosts/{id}"))
    assert check_step(make_api_step("get /hosts", values={"a": 1}), known) == []
    [found] = check_step(make_api_step("GET /host"), known)
    assert (found.key, found.fix) == ("steps.start.params.endpoint", "Did you mean 'GET /hosts'?")
    assert [one.key for one in check_step(make_api_step("GET /hosts", values=3), known)] == [
        "steps.start.params.values"
    ]
    [found] = check_step(make_api_step("GET /hosts", retries=3), known)
    assert found.gravity == "warning"
    [found] = check_step(make_api_step("GET /hosts", values={"a": ["{qestion}"], "b": "{question}", "c": 1}), known)
    assert (found.gravity, found.fix) == ("style", "Did you mean {question}?")


def test_what_may_be_repeated_is_the_kits_word() -> None:
    used = make_services(repeatable=("GET /hosts",))
    assert get_kind("api").repeatable(make_api_step("get /hosts"), used)
    assert not get_kind("api").repeatable(make_api_step("POST /hosts"), used)
