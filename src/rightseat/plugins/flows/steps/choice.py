"""Step kind `choice`: continues with the step of the first true condition, or with the model's pick."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from msgspec import Struct

from rightseat.engine.structured import structured
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import BUILT_IN, Names, named
from rightseat.plugins.flows.prompts import around, fitted
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.flows.when import BadCondition, Condition, holds, paths, read
from rightseat.plugins.problem import Problem
from rightseat.types.events import Custom, Event
from rightseat.types.tools import Pause

PARAMS = ("instruction", "choices")
ASKED = """\
Decide how a workflow goes on.

Question of the user:
{question}

Data of the step before:
{data}

Background:
{context}
"""
WAYS = "The ways, each with when it is taken:"


class Choice(Struct, frozen=True):
    step: str
    description: str = ""
    when: Condition | None = None


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    choices = [choice(one) for one in stage.step.params["choices"]]
    names = Names(stage)
    decided = next((one for one in choices if one.when is not None and holds(one.when, names)), None)
    if decided is not None:
        yield chosen(decided.step, "a condition holds")
        return
    rest = [one for one in choices if one.when is None]
    if not rest:
        raise StepFailed("No condition of the choice holds, and it has no other way. Add one without `when`.")
    if len({one.step for one in rest}) == 1:
        yield chosen(rest[0].step, "it is the only way")
        return
    instruction = str(stage.step.params.get("instruction") or "")
    ways = "\n".join(f"- {one.step}: {one.description}" for one in rest)
    schema = picking(rest)
    made = await fitted(stage, ASKED, beside=around(schema, instruction, WAYS, ways))
    if made.cut:
        yield Custom("prompt_cut", {"step": stage.step.name, "cut": list(made.cut)})
    asked = f"{made.texts[0]}\n{instruction}\n{WAYS}\n{ways}"
    answer = await structured(stage.kit.model, asked, schema)
    yield chosen(answer["step"], instruction)


def picking(choices: Iterable[Choice]) -> dict[str, Any]:
    """Return a schema that allows only the steps' names."""
    steps = list(dict.fromkeys(one.step for one in choices))
    return {
        "type": "object",
        "properties": {"step": {"type": "string", "enum": steps}},
        "required": ["step"],
        "additionalProperties": False,
    }


def chosen(step: str, why: str) -> Output:
    return Output(step, f"Goes on with {step}: {why}" if why else f"Goes on with {step}", jump=step)


def choice(given: dict[str, Any]) -> Choice:
    when = given.get("when")
    return Choice(
        str(given["step"]), str(given.get("description") or ""), None if when is None else read(when)
    )


def jumps(step: Step) -> Iterator[str]:
    for one in listed(step):
        if isinstance(one, dict) and isinstance(one.get("step"), str):
            yield one["step"]


def listed(step: Step) -> list[Any]:
    given = step.params.get("choices")
    return given if isinstance(given, list) else []


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    for name in step.params:
        if name not in PARAMS:
            what = f"A choice has no {name!r}; it is passed over."
            yield problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    if not listed(step):
        fix = "Write a list of steps, each with a description or a `when`."
        yield problem(flow, step, "params.choices", "There is nothing to choose from.", fix)
    for number, one in enumerate(listed(step)):
        key = f"params.choices[{number}]"
        if not isinstance(one, dict) or not isinstance(one.get("step"), str):
            yield problem(flow, step, key, "It names no step.", "Write step: NAME and a description.")
            continue
        yield from conditioned(step, flow, one, key)
    yield from undescribed(step, flow)


def conditioned(step: Step, flow: Flow, given: dict[str, Any], key: str) -> Iterator[Problem]:
    if given.get("when") is None:
        return
    try:
        condition = read(given["when"])
    except BadCondition as error:
        fix = "See docs/flows.md, Conditions."
        yield problem(flow, step, f"{key}.when", str(error), fix)
        return
    for path in paths(condition):
        if not named(path, flow):
            what = f"The path {path!r} begins with no step's name."
            yield problem(flow, step, f"{key}.when", what, hint(path, (*BUILT_IN, *flow.steps)))


def undescribed(step: Step, flow: Flow) -> Iterator[Problem]:
    """Warn where the model picks among options without descriptions."""
    open_ways = [one for one in listed(step) if isinstance(one, dict) and one.get("when") is None]
    if len(open_ways) > 1 and not all(one.get("description") for one in open_ways):
        what = "The model is to pick among steps that are not described."
        yield problem(flow, step, "params.choices", what, "Describe each, or give it a `when`.", "warning")
