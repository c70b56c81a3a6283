"""Step kind `choice`: continues with the step of the first true condition, or with the model's pick."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from msgspec import Struct

from rightseat.engine.structured import generate_structured
from rightseat.plugins.flows.conditions import (
    Condition,
    InvalidCondition,
    evaluate_condition,
    iter_paths,
    parse_condition,
)
from rightseat.plugins.flows.context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.templates import (
    BUILT_IN,
    StepVariables,
    estimate_overhead,
    is_known_variable,
    render_prompts,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Custom, Event
from rightseat.types.tools import Pause

PARAMS = ("instruction", "choices")
DECISION_PROMPT = """\
Decide how a workflow goes on.

Question of the user:
{question}

Data of the step before:
{data}

Background:
{context}
"""
OPTIONS_HEADING = "The ways, each with when it is taken:"


class ChoiceOption(Struct, frozen=True):
    step: str
    description: str = ""
    when: Condition | None = None


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    choices = [parse_option(one) for one in ctx.step.params["choices"]]
    names = StepVariables(ctx)
    matched = next((one for one in choices if one.when is not None and evaluate_condition(one.when, names)), None)
    if matched is not None:
        yield make_jump_output(matched.step, "a condition holds")
        return
    open_options = [one for one in choices if one.when is None]
    if not open_options:
        raise StepError("No condition of the choice is true. Add a choice without `when` for this case.")
    if len({one.step for one in open_options}) == 1:
        yield make_jump_output(open_options[0].step, "it is the only way")
        return
    instruction = str(ctx.step.params.get("instruction") or "")
    listing = "\n".join(f"- {one.step}: {one.description}" for one in open_options)
    schema = build_choice_schema(open_options)
    rendered = await render_prompts(
        ctx, DECISION_PROMPT, reserved=estimate_overhead(schema, instruction, OPTIONS_HEADING, listing)
    )
    if rendered.cut:
        yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
    question = f"{rendered.texts[0]}\n{instruction}\n{OPTIONS_HEADING}\n{listing}"
    answer = await generate_structured(ctx.services.model, question, schema)
    yield make_jump_output(answer["step"], instruction)


def build_choice_schema(choices: Iterable[ChoiceOption]) -> dict[str, Any]:
    """Return a schema that allows only the steps' names."""
    steps = list(dict.fromkeys(one.step for one in choices))
    return {
        "type": "object",
        "properties": {"step": {"type": "string", "enum": steps}},
        "required": ["step"],
        "additionalProperties": False,
    }


def make_jump_output(step: str, why: str) -> StepOutput:
    return StepOutput(step, f"Goes on with {step}: {why}" if why else f"Goes on with {step}", jump=step)


def parse_option(value: dict[str, Any]) -> ChoiceOption:
    when = value.get("when")
    return ChoiceOption(
        str(value["step"]), str(value.get("description") or ""), None if when is None else parse_condition(when)
    )


def jumps(step: Step) -> Iterator[str]:
    for one in get_options(step):
        if isinstance(one, dict) and isinstance(one.get("step"), str):
            yield one["step"]


def get_options(step: Step) -> list[Any]:
    options = step.params.get("choices")
    return options if isinstance(options, list) else []


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    for name in step.params:
        if name not in PARAMS:
            what = f"A choice has no {name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    if not get_options(step):
        fix = "Write a list of steps, each with a description or a `when`."
        yield make_step_problem(flow, step, "params.choices", "There is nothing to choose from.", fix)
    for number, one in enumerate(get_options(step)):
        key = f"params.choices[{number}]"
        if not isinstance(one, dict) or not isinstance(one.get("step"), str):
            yield make_step_problem(flow, step, key, "It names no step.", "Write step: NAME and a description.")
            continue
        yield from check_condition(step, flow, one, key)
    yield from check_descriptions(step, flow)


def check_condition(step: Step, flow: Flow, option: dict[str, Any], key: str) -> Iterator[Problem]:
    if option.get("when") is None:
        return
    try:
        condition = parse_condition(option["when"])
    except InvalidCondition as error:
        fix = "See docs/flows.md, Conditions."
        yield make_step_problem(flow, step, f"{key}.when", str(error), fix)
        return
    for path in iter_paths(condition):
        if not is_known_variable(path, flow):
            what = f"The path {path!r} begins with no step's name."
            yield make_step_problem(flow, step, f"{key}.when", what, format_hint(path, (*BUILT_IN, *flow.steps)))


def check_descriptions(step: Step, flow: Flow) -> Iterator[Problem]:
    """Warn where the model picks among options without descriptions."""
    open_ways = [one for one in get_options(step) if isinstance(one, dict) and one.get("when") is None]
    if len(open_ways) > 1 and not all(one.get("description") for one in open_ways):
        what = "The model is to pick among steps that are not described."
        yield make_step_problem(flow, step, "params.choices", what, "Describe each, or give it a `when`.", "warning")
