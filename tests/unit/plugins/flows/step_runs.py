"""One step on its stage: what a test says is what the flow would have got so far."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from rightseat.plugins.flows.step_context import FlowReferences, FlowServices, StepContext, StepOutput
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Tool
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel

NOW = datetime.fromisoformat("2026-11-15T10:00:00+00:00")


def make_flow(*steps: Step, **more: Any) -> Flow:
    more = {"plugin": "shop", "name": "sell", "description": "Sells things.", **more}
    return Flow(steps={step.name: step for step in steps}, **more)


def make_services(*lines: Any, operations: Mapping[str, Tool] | None = None, **more: Any) -> FlowServices:
    return FlowServices(
        model=FakeModel(*lines),
        operations=operations or {},
        scripts={},
        flows=more.pop("flows", {}),
        databases=more.pop("databases", {}),
        now=more.pop("now", lambda turn: NOW),
        **more,
    )


def make_context(
    step: Step,
    services: FlowServices,
    *,
    question: str = "What is there?",
    before: Any = None,
    outputs: dict[str, Any] | None = None,
    messages: tuple[Message, ...] | None = None,
    other_steps: tuple[Step, ...] = (),
    **more: Any,
) -> StepContext:
    made = {name: one if isinstance(one, StepOutput) else StepOutput(one) for name, one in (outputs or {}).items()}
    if before is not None:
        made["before"] = before if isinstance(before, StepOutput) else StepOutput(before)
    others = [Step(name=name, kind="api") for name in made if name != step.name]
    return StepContext(
        flow=make_flow(*others, step, *other_steps),
        step=step,
        services=services,
        turn=more.pop("turn", Turn(messages=messages or (text_message("user", question),))),
        question=question,
        outputs=made,
        previous=list(made.values())[-1] if made else None,
        **more,
    )


async def run_step(context: StepContext) -> list[Event | StepOutput | Pause]:
    async with closing(get_kind(context.step.kind).run(context)) as items:
        return [item async for item in items]


async def run_step_to_output(context: StepContext) -> StepOutput:
    last = (await run_step(context))[-1]
    assert isinstance(last, StepOutput), last
    return last


async def resume_step(context: StepContext, pause: Pause, answer: Any) -> list[Event | StepOutput | Pause]:
    """The step after its question was answered."""
    return await run_step(replace(context, state=pause.state, answers=(answer,)))


def list_prompts(services: FlowServices) -> list[Prompt]:
    assert isinstance(services.model, FakeModel)
    return services.model.prompts


def get_prompt_text(services: FlowServices, number: int = -1) -> str:
    """All that a model was told in one call."""
    return "\n".join(one.text for one in list_prompts(services)[number].messages)


def check_step(step: Step, known: FlowReferences | None = None, other_steps: tuple[Step, ...] = ()) -> list[Problem]:
    return list(get_kind(step.kind).check(step, make_flow(step, *other_steps), known or FlowReferences()))
