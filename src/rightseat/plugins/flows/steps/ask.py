"""Step kind `ask`: asks the user `params.question`, for free text, for one of `params.options`, or for values
that fit `params.schema`. The answer is the output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.errors import CallerError
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.names import Names
from rightseat.plugins.flows.stage import Output, Stage
from rightseat.plugins.flows.template import filled
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.schema import checker
from rightseat.types.tools import Ask, Pause

ANSWER = "answer"


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    params = step.params
    if not isinstance(params.get("question"), str) or not params["question"].strip():
        yield problem(flow, step, "params.question", "It asks nothing.", "Write the question.")
    options = params.get("options")
    if options is not None and not (isinstance(options, list) and options):
        yield problem(flow, step, "params.options", "It is no list of answers.", "Write them, or none.")
    schema = params.get("schema")
    if schema is None:
        return
    try:
        if not isinstance(schema, dict):
            raise CallerError("It is no JSON Schema.")
        checker(schema)
    except CallerError as error:
        yield problem(flow, step, "params.schema", error.message, "Write `type:` and `properties:`.")


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    if stage.answers:
        yield output(stage.answers[-1], stage.step.params)
    else:
        yield Pause((question(stage),))


def question(stage: Stage) -> Ask:
    params = stage.step.params
    text = filled(str(params.get("question") or ""), Names(stage))
    schema, options = params.get("schema"), params.get("options")
    if isinstance(schema, dict):
        return Ask(text, "form", schema)
    if isinstance(options, list) and options:
        field = {"enum": options}
        return Ask(text, "form", {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]})
    return Ask(text)


def output(answer: Any, params: dict[str, Any]) -> Output:
    chosen = isinstance(params.get("options"), list) and not isinstance(params.get("schema"), dict)
    return Output(answer[ANSWER] if chosen and isinstance(answer, dict) else answer)
