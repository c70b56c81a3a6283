"""The steps that ask a model, with the embedded one: whatever it says is in the form that was asked for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rightseat.models.llamacpp.options import make_local_model
from rightseat.plugins.flows.context import FlowServices, StepOutput
from rightseat.plugins.flows.flow import NextFlow, Step
from rightseat.plugins.flows.responder import suggest_next_questions
from rightseat.types.events import TextDelta
from rightseat.types.tools import Pause
from tests.unit.plugins.flows.staged import flow, kit, run, stage
from tests.unit.plugins.http.plugged import operation, parameter, plugin, tools
from tests.unit.plugins.http.target import said, target

pytestmark = [pytest.mark.model, pytest.mark.long, pytest.mark.timeout(900)]


@asynccontextmanager
async def embedded(**more: Any) -> AsyncIterator[FlowServices]:
    # A small model that loses itself in a long text has said all it knows before.
    model = make_local_model("", {"context": 4096, "max_tokens": 200})
    await model.start()
    try:
        yield replace(kit(context=4096, **more), model=model)
    finally:
        await model.close()


@pytest.mark.demand("flows.call_type_embedded_model")
async def test_all_of_them() -> None:
    """One start of the model for all: it takes longer than what is asked of it. Those of databases and charts
    are in tests/unit/plugins/sql."""
    async with embedded() as used:
        await llm(used)
        await choice(used)
        await api(used)
        await suggestions(used)


async def llm(used: FlowServices) -> None:
    step = Step(
        name="end", kind="llm", params={"user_prompt": "{question}\nData: {data}", "temperature": 0, "max_tokens": 40}
    )
    made = await run(stage(step, used, before={"city": "Oslo", "degrees": 7}, question="How warm?", last=True))
    assert any(isinstance(item, TextDelta) for item in made)
    assert isinstance(made[-1], StepOutput)
    assert made[-1].data.strip()
    print(f"llm: {made[-1].data!r}")


async def choice(used: FlowServices) -> None:
    ways = [
        {"step": "repair", "description": "The host is offline or broken."},
        {"step": "praise", "description": "The host is online and well."},
    ]
    step = Step(name="pick", kind="choice", params={"instruction": "How is the host?", "choices": ways})
    [made] = await run(stage(step, used, before={"host": "web-1", "state": "offline"}))
    assert isinstance(made, StepOutput)
    assert made.jump in ("repair", "praise")
    print(f"choice: {made.jump}")


async def api(used: FlowServices) -> None:
    city = parameter("city", "query", {"type": "string", "minLength": 1, "maxLength": 40}, required=True)
    async with target() as server:
        one = operation("GET", "/temperature", city, url=server.url, description="How warm it is in a city.")
        async with tools(plugin(one)) as (tool,):
            server.replies = [said({"degrees": 7})]
            step = Step(name="start", kind="api", params={"endpoint": one.id})
            given = stage(step, replace(used, operations={one.id: tool}), question="How warm is it in Oslo?")
            made = (await run(given))[-1]
            # A small model may say that it does not know: then the person is asked.
            assert isinstance(made, Pause) or (isinstance(made, StepOutput) and made.data == {"degrees": 7})
        asked = [got.query for got in server.got]
    print(f"api: {asked or made}")


async def suggestions(used: FlowServices) -> None:
    other = flow(Step(name="start", kind="none"), name="tickets", description="Opens a repair ticket for a host.")
    used = replace(used, flows={other.id: other})
    first = flow(Step(name="start", kind="none"), next_flow=(NextFlow(flow="tickets"),))
    made = await suggest_next_questions(first, used, "Which hosts are offline?", "web-1 is offline.")
    assert made is not None
    assert len(made.prompts) == 1
    print(f"suggested: {made.prompts}")
