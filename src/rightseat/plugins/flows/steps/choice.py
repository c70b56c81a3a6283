"""Step kind `choice`: continues with the step of the first true condition, or with the model's pick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightseat.engine.structured import generate_structured
from rightseat.plugins.flows.conditions import InvalidCondition, evaluate_condition, iter_paths, parse_condition
from rightseat.plugins.flows.step_context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    StepStream,
    check_keys,
    check_param_names,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.steps import StepKind
from rightseat.plugins.flows.templates import (
    BUILT_IN,
    StepVariables,
    estimate_overhead,
    is_known_variable,
    render_prompts,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Custom

DECISION_PROMPT = """\
Decide how a workflow goes on.

Question of the user:
{question}

Data of the step before:
{data}

Background:
{context}
"""
OPTION_KEYS = ("step", "description", "when")
OPTIONS_HEADING = "The ways, each with when it is taken:"


async def run(ctx: StepContext) -> StepStream:
    variables = StepVariables(ctx)
    open_options = []
    for option in get_options(ctx.step):
        if option.get("when") is None:
            open_options.append(option)
        elif evaluate_condition(parse_condition(option["when"]), variables):
            yield make_jump_output(option["step"], "a condition holds")
            return
    steps = list(dict.fromkeys(option["step"] for option in open_options))
    if not steps:
        raise StepError("No condition of the choice is true. Add a choice without `when` for this case.")
    if len(steps) == 1:
        yield make_jump_output(steps[0], "it is the only way")
        return
    instruction = str(ctx.step.params.get("instruction") or "")
    listing = "\n".join(f"- {option['step']}: {option.get('description') or ''}" for option in open_options)
    # Only the steps' names are allowed.
    schema = {
        "type": "object",
        "properties": {"step": {"type": "string", "enum": steps}},
        "required": ["step"],
        "additionalProperties": False,
    }
    overhead = estimate_overhead(schema, instruction, OPTIONS_HEADING, listing)
    rendered = await render_prompts(ctx, DECISION_PROMPT, reserved=overhead)
    if rendered.cut:
        yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
    question = f"{rendered.texts[0]}\n{instruction}\n{OPTIONS_HEADING}\n{listing}"
    answer = await generate_structured(ctx.services.model, question, schema)
    yield make_jump_output(answer["step"], instruction)


def make_jump_output(step: str, why: str) -> StepOutput:
    return StepOutput(step, f"Goes on with {step}: {why}" if why else f"Goes on with {step}", jump=step)


def get_options(step: Step) -> list[Any]:
    options = step.params.get("choices")
    return options if isinstance(options, list) else []


def jumps(step: Step) -> Iterator[str]:
    for option in get_options(step):
        if isinstance(option, dict) and isinstance(option.get("step"), str):
            yield option["step"]


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "A choice", ("instruction", "choices"))
    options = get_options(step)
    if not options:
        fix = "Write a list of steps, each with a description or a `when`."
        yield make_step_problem(flow, step, "params.choices", "There is nothing to choose from.", fix)
    for number, option in enumerate(options):
        key = f"params.choices[{number}]"
        if not isinstance(option, dict) or not isinstance(option.get("step"), str):
            yield make_step_problem(flow, step, key, "It names no step.", "Write step: NAME and a description.")
            continue
        for name, fix in check_keys(option, OPTION_KEYS):
            yield make_step_problem(flow, step, f"{key}.{name}", "Nothing reads this.", fix, "warning")
        if option.get("when") is not None:
            yield from check_condition(step, flow, option["when"], f"{key}.when")
    open_options = [option for option in options if isinstance(option, dict) and option.get("when") is None]
    if len(open_options) > 1 and not all(option.get("description") for option in open_options):
        what = "The model is to pick among steps that are not described."
        yield make_step_problem(flow, step, "params.choices", what, "Describe each, or give it a `when`.", "warning")


def check_condition(step: Step, flow: Flow, value: Any, key: str) -> Iterator[Problem]:
    try:
        condition = parse_condition(value)
    except InvalidCondition as error:
        yield make_step_problem(flow, step, key, str(error), "See docs/flows.md, Conditions.")
        return
    for path in iter_paths(condition):
        if not is_known_variable(path, flow):
            what = f"The path {path!r} begins with no step's name."
            yield make_step_problem(flow, step, key, what, format_hint(path, (*BUILT_IN, *flow.steps)))


STEP_KINDS = {"choice": StepKind(run, check, jumps)}
