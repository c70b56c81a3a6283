"""Step kind `llm`: sends `system_prompt` and `user_prompt` to the model. As the last step it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.engine.assembler import EventAssembler
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepError, StepOutput, make_step_problem
from rightseat.plugins.flows.templates import (
    DEFAULT_SYSTEM_PROMPT,
    DEFAULT_USER_PROMPT,
    build_prompt,
    find_misspelt_variables,
    render_prompts,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Custom, Event
from rightseat.types.model import SamplingSettings
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

PROMPT_PARAMS = ("system_prompt", "user_prompt")
PARAMS = (*PROMPT_PARAMS, "temperature", "max_tokens")
NUMBER_PARAMS = ("temperature", "max_tokens")


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    params = ctx.step.params
    rendered = await render_prompts(
        ctx,
        str(params.get("system_prompt") or DEFAULT_SYSTEM_PROMPT),
        str(params.get("user_prompt") or DEFAULT_USER_PROMPT),
    )
    if rendered.cut:
        yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
    schema = ctx.turn.output_schema if ctx.last else None
    model_prompt = build_prompt(rendered.texts, build_settings(ctx), schema)
    assembler = EventAssembler(IdGenerator(), {})
    async with closing(ctx.services.model.stream(model_prompt)) as chunks:
        async for chunk in chunks:
            for event in assembler.push(chunk):
                if ctx.last:
                    yield event
    for event in assembler.finish():
        if ctx.last:
            yield event
    answered = assembler.build_answer()
    if not answered.message.text.strip():
        why = " because of its filter" if answered.reason == "content_filter" else ""
        raise StepError(f"The model said nothing{why}.")
    yield StepOutput(answered.message.text, "The model has worked on what the steps before gave.")


def build_settings(ctx: StepContext) -> SamplingSettings:
    """Return the step's settings; as the last step, on top of the caller's."""
    base = ctx.turn.settings if ctx.last else SamplingSettings()
    return replace(base, **{name: ctx.step.params[name] for name in NUMBER_PARAMS if name in ctx.step.params})


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    for name in PROMPT_PARAMS:
        if not isinstance(step.params.get(name, ""), str):
            yield make_step_problem(flow, step, f"params.{name}", "It is not a text.", "Write the prompt as text.")
        for hole, near in find_misspelt_variables(step.params.get(name), flow):
            what = f"{{{hole}}} is text: nothing is called so."
            yield make_step_problem(flow, step, f"params.{name}", what, f"Did you mean {{{near}}}?", "style")
    for name in NUMBER_PARAMS:
        if not is_valid_number(name, step.params.get(name, 0)):
            yield make_step_problem(flow, step, f"params.{name}", "It is not such a number.", "Write 0.2, or 500.")
    for name in step.params:
        if name not in PARAMS:
            what = f"An llm step has no {name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")


def is_valid_number(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return False
    return name != "max_tokens" or isinstance(value, int)
