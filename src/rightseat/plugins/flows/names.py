"""Variables of a step: question, data, context, time, description, steps, and earlier steps by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from rightseat.documents.cut import middle
from rightseat.documents.shape import Shape
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.path import at, keys
from rightseat.plugins.flows.stage import Output, Stage
from rightseat.plugins.flows.template import Unknown, as_text, holes
from rightseat.types.turn import Turn

QUESTION, DATA, CONTEXT, TIME = "question", "data", "context", "time"
DESCRIPTION, STEPS = "description", "steps"
BUILT_IN = (QUESTION, DATA, CONTEXT, TIME, DESCRIPTION, STEPS)
ALIKE = 0.75
LAST_MESSAGES = 20
# Tokens of one message and of one step's output in {context}; {step name} is not shortened.
OF_MESSAGE, OF_STEP = 500, 300


class Names:
    """Resolves a variable, or a path that begins with one; raises UnknownVariable for other names."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def __call__(self, path: str) -> Any:
        found = head(path, (*BUILT_IN, *self.stage.flow.steps, *self.stage.outputs))
        if found is None:
            raise Unknown(path)
        value = self.value(found)
        rest = path[len(found) :]
        return at(value, keys(rest), found) if rest else value

    def value(self, name: str) -> Any:
        stage = self.stage
        match name:
            case "question":
                return stage.question
            case "data":
                return data_of(stage)
            case "context":
                return context_of(stage)
            case "time":
                return stage.kit.now(stage.turn).strftime("%Y-%m-%d %H:%M:%S %Z").strip()
            case "description":
                return stage.flow.description
            case "steps":
                return {name: output.data for name, output in finished(stage)}
            case _:
                # A step that was skipped by a choice has no output.
                return stage.outputs[name].data if name in stage.outputs else None


def head(path: str, names: Iterable[str]) -> str | None:
    """Return the name that a path begins with; the longest, because names may contain dots."""
    fits = [name for name in names if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(fits, key=len, default=None)


def named(path: str, flow: Flow) -> bool:
    """Whether the path begins with a built-in variable or a step's name."""
    return head(path, (*BUILT_IN, *flow.steps)) is not None


def misspelt(template: Any, flow: Flow) -> Iterator[tuple[str, str]]:
    """Yield (placeholder, nearest name) for placeholders that resemble a known name."""
    match template:
        case str():
            for hole in holes(template):
                word = hole.partition(".")[0].partition("[")[0]
                near = difflib.get_close_matches(word, (*BUILT_IN, *flow.steps), 1, ALIKE)
                if near and not named(hole, flow):
                    yield hole, near[0]
        case dict() | list():
            for inner in template.values() if isinstance(template, dict) else template:
                yield from misspelt(inner, flow)
        case _:
            pass


def data_of(stage: Stage) -> Any:
    """Return the previous output's data; in an on_error step, the error message."""
    return stage.failure or (before.data if (before := before_of(stage)) else None)


def before_of(stage: Stage) -> Output | None:
    """Return the previous output, skipping choices: they produce no data."""
    if stage.previous is None or stage.previous.jump is None:
        return stage.previous
    return next((output for output in reversed(list(stage.outputs.values())) if output.jump is None), None)


def finished(stage: Stage) -> Iterator[tuple[str, Output]]:
    """Yield the steps that produced data."""
    for name, output in stage.outputs.items():
        step = stage.flow.steps.get(name)
        if output.jump is None and output.data is not None and (step is None or step.kind != "none"):
            yield name, output


def context_of(stage: Stage) -> str:
    """Return the conversation and the step outputs, shortened, without a model call."""
    parts = [
        titled("Conversation", conversation(stage.turn, stage.question)),
        titled("The application says", [f"{one.description}: {one.value}" for one in stage.turn.context]),
        titled("Finished steps", [f"{name}: {told(output)}" for name, output in finished(stage)]),
    ]
    return "\n\n".join(part for part in parts if part)


def titled(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *lines]) if lines else ""


def conversation(turn: Turn, question: str) -> list[str]:
    messages = [one for one in turn.messages if one.role in ("user", "assistant") and one.text.strip()]
    if messages and messages[-1].role == "user" and messages[-1].text.strip() == question.strip():
        messages.pop()
    return [f"{one.role}: {middle(one.text, OF_MESSAGE)}" for one in messages[-LAST_MESSAGES:]]


def told(output: Output) -> str:
    data = output.data
    shown = middle(as_text(data), OF_STEP) if isinstance(data, str) else Shape().cut(data, OF_STEP)
    return f"{output.message} {shown}".strip()
