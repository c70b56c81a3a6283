"""Step kind `tool`: calls a tool of the plugin's lib/, named by `params.tool` or by the call_type itself.

Its arguments are `params.arguments`, or else the other params, with placeholders filled in. Missing arguments
are taken from the previous output by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.plugins.flows.context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.paths import decode_json_text
from rightseat.plugins.flows.templates import StepVariables, fill_value
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing
from rightseat.types.tools import APPROVAL_SCHEMA, Ask, Pause, Result, Tool, ToolContext, is_approved

KIND = "tool"


def get_tool_name(step: Step) -> str:
    return str(step.params.get("tool") or "") if step.kind == KIND else step.kind


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    name = get_tool_name(step)
    if not name:
        yield make_step_problem(flow, step, "params.tool", "It names no tool.", format_hint("", known.scripts))
    elif name not in known.scripts:
        what = f"There is no tool {name!r} in lib/."
        yield make_step_problem(flow, step, "params.tool", what, format_hint(name, known.scripts))
    arguments_value = step.params.get("arguments")
    if arguments_value is not None and not isinstance(arguments_value, dict):
        yield make_step_problem(flow, step, "params.arguments", "They are no mapping.", "Write names and values.")


def repeatable(step: Step, services: FlowServices) -> bool:
    return False


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    tool = ctx.services.scripts.get(get_tool_name(ctx.step))
    if tool is None:
        raise StepError(f"There is no tool {get_tool_name(ctx.step)!r}.")
    async with closing(stream_tool_call(tool, build_arguments(ctx, tool), ctx)) as items:
        async for item in items:
            yield item


def build_arguments(ctx: StepContext, tool: Tool) -> dict[str, Any]:
    params = ctx.step.params
    template = params.get("arguments")
    if not isinstance(template, dict):
        template = {key: value for key, value in params.items() if key not in (KIND, "arguments")}
    values: dict[str, Any] = fill_value(template, StepVariables(ctx))
    previous = decode_json_text(ctx.previous.data) if ctx.previous else None
    fields = tool.parameters.get("properties") or {}
    for name in fields:
        if name not in values and isinstance(previous, dict) and name in previous:
            values[name] = previous[name]
    if "question" in fields:
        values.setdefault("question", ctx.question)
    return values


async def stream_tool_call(
    tool: Tool, arguments: dict[str, Any], ctx: StepContext
) -> AsyncIterator[Event | StepOutput | Pause]:
    """Call a tool as a step: a failed result raises StepError. A tool with `confirm` first asks for approval;
    its own questions come after that."""
    if tool.call is None:
        raise StepError(f"The tool {tool.name} cannot be called from here.")
    problem = (tool.check or get_validator(tool.parameters).find_problem)(arguments)
    if problem is not None:
        raise StepError(f"{tool.name}: {problem}")
    answers = ctx.answers
    if tool.confirm:
        if not answers:
            text = f"Allow {tool.name} with {Result(arguments).text}?"
            yield Pause((Ask(text, "confirm", APPROVAL_SCHEMA),))
            return
        if not is_approved(answers[0]):
            raise StepError("The person did not allow this call.")
        answers = answers[1:]
    tool_context = ToolContext(
        ctx.turn, ctx.key, ctx.state, answers, budget=get_result_budget(ctx.services), idempotency_key=ctx.key
    )
    last: Result | Pause = Result()
    async with closing(tool.call(arguments, tool_context)) as items:
        async for item in items:
            if isinstance(item, Result | Pause):
                last = item
            else:
                yield item
    yield last if isinstance(last, Pause) else make_output(last)


def make_output(result: Result) -> StepOutput:
    """Return the step's output; a class of the original SDK returns `{"output", "message"}`."""
    if result.failed:
        raise StepError(get_error_message(result.content))
    match result.content:
        case {"output": data, "message": str(message)}:
            return StepOutput(data, message)
        case content:
            return StepOutput(content)


def get_error_message(content: Any) -> str:
    match content:
        case {"error": {"message": str(message)}}:
            return message
        case _:
            return Result(content).text


def get_result_budget(services: FlowServices) -> int | None:
    return None if services.context is None else services.context * 4 // 5
