"""The steps that ask a model, with the embedded one: whatever it says is in the form that was asked for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rightseat.models.llamacpp.options import make_local_model
from rightseat.plugins.flows.responder import suggest_next_questions
from rightseat.plugins.flows.step_context import FlowServices, StepOutput
from rightseat.plugins.plugin import NextFlow, Step
from rightseat.types.events import TextDelta
from rightseat.types.tools import Pause
from tests.unit.plugins.flows.step_runs import make_context, make_flow, make_services, run_step
from tests.unit.plugins.http.plugin_values import make_operation, make_parameter, make_plugin, open_tools
from tests.unit.plugins.http.recording_api import make_json_response, serve_recording_api

pytestmark = [pytest.mark.model, pytest.mark.long, pytest.mark.timeout(900)]


@asynccontextmanager
async def open_embedded_services(**more: Any) -> AsyncIterator[FlowServices]:
    # A small model that loses itself in a long text has said all it knows before.
    model = make_local_model("", {"context": 4096, "max_tokens": 200})
    await model.start()
    try:
        yield replace(make_services(context=4096, **more), model=model)
    finally:
        await model.close()


@pytest.mark.demand("flows.call_type_embedded_model")
async def test_all_of_them() -> None:
    """One start of the model for all: it takes longer than what is asked of it. Those of databases and charts
    are in tests/unit/plugins/sql."""
    async with open_embedded_services() as used:
        await check_llm_step(used)
        await check_choice_step(used)
        await check_api_step(used)
        await check_suggestions(used)


async def check_llm_step(used: FlowServices) -> None:
    step = Step(
        name="end", kind="llm", params={"user_prompt": "{question}\nData: {data}", "temperature": 0, "max_tokens": 40}
    )
    made = await run_step(
        make_context(step, used, before={"city": "Oslo", "degrees": 7}, question="How warm?", last=True)
    )
    assert any(isinstance(item, TextDelta) for item in made)
    assert isinstance(made[-1], StepOutput)
    assert made[-1].data.strip()
    print(f"llm: {made[-1].data!r}")


async def check_choice_step(used: FlowServices) -> None:
    ways = [
        {"step": "repair", "description": "The host is offline or broken."},
        {"step": "praise", "description": "The host is online and well."},
    ]
    step = Step(name="pick", kind="choice", params={"instruction": "How is the host?", "choices": ways})
    [made] = await run_step(make_context(step, used, before={"host": "web-1", "state": "offline"}))
    assert isinstance(made, StepOutput)
    assert made.jump in ("repair", "praise")
    print(f"choice: {made.jump}")


async def check_api_step(used: FlowServices) -> None:
    city = make_parameter("city", "query", {"type": "string", "minLength": 1, "maxLength": 40}, required=True)
    async with serve_recording_api() as server:
        one = make_operation("GET", "/temperature", city, url=server.url, description="How warm it is in a city.")
        async with open_tools(make_plugin(one)) as (tool,):
            server.replies = [make_json_response({"degrees": 7})]
            step = Step(name="start", kind="api", params={"endpoint": one.id})
            given = make_context(step, replace(used, operations={one.id: tool}), question="How warm is it in Oslo?")
            made = (await run_step(given))[-1]
            # A small model may say that it does not know: then the person is asked.
            assert isinstance(made, Pause) or (isinstance(made, StepOutput) and made.data == {"degrees": 7})
        asked = [got.query for got in server.requests]
    print(f"api: {asked or made}")


async def check_suggestions(used: FlowServices) -> None:
    other = make_flow(Step(name="start", kind="none"), name="tickets", description="Opens a repair ticket for a host.")
    used = replace(used, flows={other.id: other})
    first = make_flow(Step(name="start", kind="none"), next_flow=(NextFlow(flow="tickets"),))
    made = await suggest_next_questions(first, used, "Which hosts are offline?", "web-1 is offline.")
    assert made is not None
    assert len(made.prompts) == 1
    print(f"suggested: {made.prompts}")
