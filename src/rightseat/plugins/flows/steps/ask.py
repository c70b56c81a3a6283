"""Step kind `ask`: asks the user `params.question`, for free text, for one of `params.options`, or for values
that fit `params.schema`. The answer is the output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.errors import CallerError
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepOutput, make_step_problem
from rightseat.plugins.flows.templates import StepVariables, fill_template
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.schema import get_validator
from rightseat.types.tools import Ask, Pause

ANSWER = "answer"


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    if not isinstance(params.get("question"), str) or not params["question"].strip():
        yield make_step_problem(flow, step, "params.question", "It asks nothing.", "Write the question.")
    options = params.get("options")
    if options is not None and not (isinstance(options, list) and options):
        yield make_step_problem(flow, step, "params.options", "It is no list of answers.", "Write them, or none.")
    schema = params.get("schema")
    if schema is None:
        return
    try:
        if not isinstance(schema, dict):
            raise CallerError("It is no JSON Schema.")
        get_validator(schema)
    except CallerError as error:
        yield make_step_problem(flow, step, "params.schema", error.message, "Write `type:` and `properties:`.")


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    if ctx.answers:
        yield make_output(ctx.answers[-1], ctx.step.params)
    else:
        yield Pause((build_question(ctx),))


def build_question(ctx: StepContext) -> Ask:
    params = ctx.step.params
    text = fill_template(str(params.get("question") or ""), StepVariables(ctx))
    schema, options = params.get("schema"), params.get("options")
    if isinstance(schema, dict):
        return Ask(text, "form", schema)
    if isinstance(options, list) and options:
        field = {"enum": options}
        return Ask(text, "form", {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]})
    return Ask(text)


def make_output(answer: Any, params: dict[str, Any]) -> StepOutput:
    chosen = isinstance(params.get("options"), list) and not isinstance(params.get("schema"), dict)
    return StepOutput(answer[ANSWER] if chosen and isinstance(answer, dict) else answer)
