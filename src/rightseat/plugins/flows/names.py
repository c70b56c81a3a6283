"""Variables of a step: question, data, context, time, description, steps, and earlier steps by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from rightseat.documents.cut import cut_middle
from rightseat.documents.shape import JsonCutter
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.path import parse_path, resolve_path
from rightseat.plugins.flows.stage import StepContext, StepOutput
from rightseat.plugins.flows.template import UnknownVariable, as_text, iter_placeholders
from rightseat.types.turn import Turn

QUESTION, DATA, CONTEXT, TIME = "question", "data", "context", "time"
DESCRIPTION, STEPS = "description", "steps"
BUILT_IN = (QUESTION, DATA, CONTEXT, TIME, DESCRIPTION, STEPS)
MIN_SIMILARITY = 0.75
MAX_MESSAGES = 20
# Tokens of one message and of one step's output in {context}; {step name} is not shortened.
MESSAGE_BUDGET, STEP_BUDGET = 500, 300


class StepVariables:
    """Resolves a variable, or a path that begins with one; raises UnknownVariable for other names."""

    def __init__(self, ctx: StepContext) -> None:
        self.ctx = ctx

    def __call__(self, path: str) -> Any:
        name = match_variable(path, (*BUILT_IN, *self.ctx.flow.steps, *self.ctx.outputs))
        if name is None:
            raise UnknownVariable(path)
        value = self.value(name)
        rest = path[len(name) :]
        return resolve_path(value, parse_path(rest), name) if rest else value

    def value(self, name: str) -> Any:
        ctx = self.ctx
        match name:
            case "question":
                return ctx.question
            case "data":
                return get_input_data(ctx)
            case "context":
                return build_context(ctx)
            case "time":
                return ctx.services.now(ctx.turn).strftime("%Y-%m-%d %H:%M:%S %Z").strip()
            case "description":
                return ctx.flow.description
            case "steps":
                return {name: output.data for name, output in iter_finished_steps(ctx)}
            case _:
                # A step that was skipped by a choice has no output.
                return ctx.outputs[name].data if name in ctx.outputs else None


def match_variable(path: str, names: Iterable[str]) -> str | None:
    """Return the name that a path begins with; the longest, because names may contain dots."""
    fits = [name for name in names if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(fits, key=len, default=None)


def is_known_variable(path: str, flow: Flow) -> bool:
    """Whether the path begins with a built-in variable or a step's name."""
    return match_variable(path, (*BUILT_IN, *flow.steps)) is not None


def find_misspelt_variables(template: Any, flow: Flow) -> Iterator[tuple[str, str]]:
    """Yield (placeholder, nearest name) for placeholders that resemble a known name."""
    match template:
        case str():
            for hole in iter_placeholders(template):
                word = hole.partition(".")[0].partition("[")[0]
                near = difflib.get_close_matches(word, (*BUILT_IN, *flow.steps), 1, MIN_SIMILARITY)
                if near and not is_known_variable(hole, flow):
                    yield hole, near[0]
        case dict() | list():
            for inner in template.values() if isinstance(template, dict) else template:
                yield from find_misspelt_variables(inner, flow)
        case _:
            pass


def get_input_data(ctx: StepContext) -> Any:
    """Return the previous output's data; in an on_error step, the error message."""
    return ctx.failure or (before.data if (before := get_previous_output(ctx)) else None)


def get_previous_output(ctx: StepContext) -> StepOutput | None:
    """Return the previous output, skipping choices: they produce no data."""
    if ctx.previous is None or ctx.previous.jump is None:
        return ctx.previous
    return next((output for output in reversed(list(ctx.outputs.values())) if output.jump is None), None)


def iter_finished_steps(ctx: StepContext) -> Iterator[tuple[str, StepOutput]]:
    """Yield the steps that produced data."""
    for name, output in ctx.outputs.items():
        step = ctx.flow.steps.get(name)
        if output.jump is None and output.data is not None and (step is None or step.kind != "none"):
            yield name, output


def build_context(ctx: StepContext) -> str:
    """Return the conversation and the step outputs, shortened, without a model call."""
    parts = [
        format_section("Conversation", format_conversation(ctx.turn, ctx.question)),
        format_section(
            "The application says", [f"{one.description}: {one.value}" for one in ctx.turn.context]
        ),
        format_section(
            "Finished steps",
            [f"{name}: {summarize_output(output)}" for name, output in iter_finished_steps(ctx)],
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def format_section(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *lines]) if lines else ""


def format_conversation(turn: Turn, question: str) -> list[str]:
    messages = [one for one in turn.messages if one.role in ("user", "assistant") and one.text.strip()]
    if messages and messages[-1].role == "user" and messages[-1].text.strip() == question.strip():
        messages.pop()
    return [f"{one.role}: {cut_middle(one.text, MESSAGE_BUDGET)}" for one in messages[-MAX_MESSAGES:]]


def summarize_output(output: StepOutput) -> str:
    data = output.data
    shown = (
        cut_middle(as_text(data), STEP_BUDGET)
        if isinstance(data, str)
        else JsonCutter().cut(data, STEP_BUDGET)
    )
    return f"{output.message} {shown}".strip()
