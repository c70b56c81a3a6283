"""Step kind `tool`: calls a tool of the plugin's lib/, named by `params.tool` or by the call_type itself.

Its arguments are `params.arguments`, or else the other params, with placeholders filled in. Missing arguments
are taken from the previous output by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import Names
from rightseat.plugins.flows.path import opened
from rightseat.plugins.flows.stage import Kit, Output, Stage, StepFailed
from rightseat.plugins.flows.template import value_of
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.schema import checker
from rightseat.types.streams import closing
from rightseat.types.tools import APPROVAL, Ask, Pause, Result, Tool, ToolContext, approves

KIND = "tool"


def name_of(step: Step) -> str:
    return str(step.params.get("tool") or "") if step.kind == KIND else step.kind


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    name = name_of(step)
    if not name:
        yield problem(flow, step, "params.tool", "It names no tool.", hint("", known.scripts))
    elif name not in known.scripts:
        what = f"There is no tool {name!r} in lib/."
        yield problem(flow, step, "params.tool", what, hint(name, known.scripts))
    given = step.params.get("arguments")
    if given is not None and not isinstance(given, dict):
        yield problem(flow, step, "params.arguments", "They are no mapping.", "Write names and values.")


def repeatable(step: Step, kit: Kit) -> bool:
    return False


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    tool = stage.kit.scripts.get(name_of(stage.step))
    if tool is None:
        raise StepFailed(f"There is no tool {name_of(stage.step)!r}.")
    async with closing(called(tool, arguments(stage, tool), stage)) as items:
        async for item in items:
            yield item


def arguments(stage: Stage, tool: Tool) -> dict[str, Any]:
    params = stage.step.params
    given = params.get("arguments")
    if not isinstance(given, dict):
        given = {key: value for key, value in params.items() if key not in (KIND, "arguments")}
    made: dict[str, Any] = value_of(given, Names(stage))
    before = opened(stage.previous.data) if stage.previous else None
    fields = tool.parameters.get("properties") or {}
    for name in fields:
        if name not in made and isinstance(before, dict) and name in before:
            made[name] = before[name]
    if "question" in fields:
        made.setdefault("question", stage.question)
    return made


async def called(tool: Tool, given: dict[str, Any], stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    """Call a tool as a step: a failed result raises StepError. A tool with `confirm` first asks for approval;
    its own questions come after that."""
    if tool.call is None:
        raise StepFailed(f"The tool {tool.name} cannot be called from here.")
    problem = (tool.check or checker(tool.parameters).problem)(given)
    if problem is not None:
        raise StepFailed(f"{tool.name}: {problem}")
    answers = stage.answers
    if tool.confirm:
        if not answers:
            text = f"Allow {tool.name} with {Result(given).text}?"
            yield Pause((Ask(text, "confirm", APPROVAL),))
            return
        if not approves(answers[0]):
            raise StepFailed("The person did not allow this call.")
        answers = answers[1:]
    context = ToolContext(
        stage.turn, stage.key, stage.state, answers, budget=budget(stage.kit), key=stage.key
    )
    last: Result | Pause = Result()
    async with closing(tool.call(given, context)) as items:
        async for item in items:
            if isinstance(item, Result | Pause):
                last = item
            else:
                yield item
    yield last if isinstance(last, Pause) else output(last)


def output(result: Result) -> Output:
    """Return the step's output; a class of the original SDK returns `{"output", "message"}`."""
    if result.failed:
        raise StepFailed(reason(result.content))
    match result.content:
        case {"output": data, "message": str(message)}:
            return Output(data, message)
        case content:
            return Output(content)


def reason(content: Any) -> str:
    match content:
        case {"error": {"message": str(message)}}:
            return message
        case _:
            return Result(content).text


def budget(kit: Kit) -> int | None:
    return None if kit.context is None else kit.context * 4 // 5
