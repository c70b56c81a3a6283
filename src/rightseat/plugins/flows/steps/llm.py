"""Step kind `llm`: sends `system_prompt` and `user_prompt` to the model. As the last step it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.engine.assembler import Assembly
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.names import misspelt
from rightseat.plugins.flows.prompts import SYSTEM, USER, fitted, prompt
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.problem import Problem
from rightseat.types.events import Custom, Event
from rightseat.types.model import Settings
from rightseat.types.stores import Ids
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

TEXTS = ("system_prompt", "user_prompt")
PARAMS = (*TEXTS, "temperature", "max_tokens")
NUMBERS = ("temperature", "max_tokens")


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    params = stage.step.params
    made = await fitted(
        stage, str(params.get("system_prompt") or SYSTEM), str(params.get("user_prompt") or USER)
    )
    if made.cut:
        yield Custom("prompt_cut", {"step": stage.step.name, "cut": list(made.cut)})
    schema = stage.turn.output_schema if stage.last else None
    asked = prompt(made.texts, settings(stage), schema)
    desk = Assembly(Ids(), {})
    async with closing(stage.kit.model.stream(asked)) as fragments:
        async for fragment in fragments:
            for event in desk.take(fragment):
                if stage.last:
                    yield event
    for event in desk.end():
        if stage.last:
            yield event
    answered = desk.answered()
    if not answered.message.text.strip():
        why = " because of its filter" if answered.reason == "content_filter" else ""
        raise StepFailed(f"The model said nothing{why}.")
    yield Output(answered.message.text, "The model has worked on what the steps before gave.")


def settings(stage: Stage) -> Settings:
    """Return the step's settings; as the last step, on top of the caller's."""
    given = stage.turn.settings if stage.last else Settings()
    return replace(given, **{name: stage.step.params[name] for name in NUMBERS if name in stage.step.params})


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    for name in TEXTS:
        if not isinstance(step.params.get(name, ""), str):
            yield problem(flow, step, f"params.{name}", "It is not a text.", "Write the prompt as text.")
        for hole, near in misspelt(step.params.get(name), flow):
            what = f"{{{hole}}} is text: nothing is called so."
            yield problem(flow, step, f"params.{name}", what, f"Did you mean {{{near}}}?", "style")
    for name in NUMBERS:
        if not fits(name, step.params.get(name, 0)):
            yield problem(flow, step, f"params.{name}", "It is not such a number.", "Write 0.2, or 500.")
    for name in step.params:
        if name not in PARAMS:
            what = f"An llm step has no {name!r}; it is passed over."
            yield problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")


def fits(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return False
    return name != "max_tokens" or isinstance(value, int)
