"""Step kind `api`: calls an operation of the plugin's API.

Arguments come from the step's `values`, then from equally named data of the step before, then from the model;
the operation asks a person for what is still missing. With `values`, other optional arguments are omitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from msgspec import Struct, convert, to_builtins

from rightseat.engine.structured import generate_structured
from rightseat.errors import CallerError, FlowStopped
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
from rightseat.plugins.flows.templates import (
    StepVariables,
    estimate_overhead,
    fill_value,
    find_misspelt_variables,
    get_input_data,
    render_prompts,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Custom, Event
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing, with_timeout
from rightseat.types.tools import Pause, Result, Tool, ToolContext

PARAMS = ("endpoint", "values")
UNLIMITED_TOKENS = 1 << 40
"""Token budget of the call: the next steps get the whole response; only prompts are cut."""
INLINE_PARSE_LIMIT = 64 << 10
"""Characters of a response that is parsed in the event loop; longer ones go to a thread."""
Schema = dict[str, Any]
ARGUMENTS_PROMPT = """\
A workflow calls an operation of an API. Say the arguments.

Question of the user:
{question}

Data of the step before:
{data}

Background:
{context}

The time is {time}.

Take values from the question first, then from the data and the background. Where nobody has said a value, \
leave it out or write null; never make one up."""


class PendingCall(Struct, frozen=True):
    """State between a question and its answer: the arguments and the tool's own state."""

    arguments: dict[str, Any]
    state: Any = None


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    tool = find_operation(ctx)
    pending = convert(ctx.state, PendingCall) if isinstance(ctx.state, dict) else None
    if pending is None:
        arguments = get_known_arguments(ctx, tool)
        missing = build_missing_schema(tool, arguments, "values" in ctx.step.params)
        if missing is not None:
            rendered = await render_prompts(
                ctx, ARGUMENTS_PROMPT, reserved=estimate_overhead(missing, describe_operation(ctx, tool))
            )
            if rendered.cut:
                yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
            arguments = {**await ask_model(ctx, tool, rendered.texts[0], missing), **arguments}
        if tool.check is not None and (wrong := tool.check(arguments)):
            raise StepError(f"The arguments do not fit {normalize_endpoint(ctx.step)}: {wrong}")
        pending = PendingCall(arguments)
        if missing is not None:
            # Saved because a model may answer differently next time, and a retry must send the same request.
            await ctx.save_state(to_builtins(pending))
    tool_context = ToolContext(
        ctx.turn, ctx.key, pending.state, ctx.answers, budget=UNLIMITED_TOKENS, idempotency_key=ctx.key
    )
    assert tool.call is not None
    async with closing(with_timeout(tool.call(pending.arguments, tool_context), tool.timeout)) as items:
        async for item in items:
            match item:
                case Pause(asks, state):
                    yield Pause(asks, to_builtins(PendingCall(pending.arguments, state)))
                case Result():
                    yield await make_output(ctx, item)
                case _:
                    yield item


def find_operation(ctx: StepContext) -> Tool:
    tool = ctx.services.operations.get(normalize_endpoint(ctx.step))
    if tool is None or tool.call is None:
        raise StepError(f"The plugin has no operation {normalize_endpoint(ctx.step)!r} any more.")
    return tool


def normalize_endpoint(step: Step) -> str:
    """Return the endpoint as an operation id: upper-case method, one space, path."""
    method, _, path = " ".join(str(step.params.get("endpoint", "")).split()).partition(" ")
    return f"{method.upper()} {path}"


async def make_output(ctx: StepContext, result: Result) -> StepOutput:
    match result:
        case Result({"error": {"code": "denied"}}, failed=True):
            # Not an error: no retry and no on_error.
            raise FlowStopped(f"The step {ctx.step.name!r} was not allowed, so the flow ends here.")
        case Result({"error": {"message": str(message)}}, failed=True):
            raise StepError(message)
        case Result(failed=True):
            raise StepError(result.text)
        case _:
            pass
    content = result.content
    large = isinstance(content, str) and len(content) > INLINE_PARSE_LIMIT
    data = await asyncio.to_thread(decode_json_text, content) if large else decode_json_text(content)
    return StepOutput(data, f"Called {normalize_endpoint(ctx.step)}.")


# Arguments


def get_known_arguments(ctx: StepContext, tool: Tool) -> dict[str, Any]:
    """Return the arguments known without a model: the step's values, then equal names of the step before."""
    template = ctx.step.params.get("values")
    values = fill_value(template, StepVariables(ctx)) if isinstance(template, dict) else {}
    known = {name: value for name, value in values.items() if value is not None}
    previous = decode_json_text(get_input_data(ctx))
    if not isinstance(previous, dict):
        return known
    properties = tool.parameters.get("properties") or {}
    same = {
        name: previous[name]
        for name in tool.parameters.get("required") or ()
        if name in previous and name not in known and matches_schema(tool, properties.get(name), previous[name])
    }
    return {**same, **known}


def matches_schema(tool: Tool, schema: Any, value: Any) -> bool:
    if not isinstance(schema, dict) or value is None:
        return False
    try:
        return get_validator(add_defs(tool, schema)).find_problem(value) is None
    except CallerError:
        return False


def add_defs(tool: Tool, schema: Schema) -> Schema:
    return {**schema, "$defs": tool.parameters["$defs"]} if "$defs" in tool.parameters else schema


def build_missing_schema(tool: Tool, known: Mapping[str, Any], fixed: bool) -> Schema | None:
    """Return the schema of arguments for the model to fill: missing required ones (nullable), and optional
    ones unless `fixed`. None if nothing is missing."""
    properties = tool.parameters.get("properties") or {}
    required = [name for name in tool.parameters.get("required") or () if name not in known]
    needed = bool(tool.parameters.get("required"))
    others = [name for name in properties if name not in known and name not in required]
    if not required and (fixed or (needed and known) or not others):
        return None
    wanted = {name: {"anyOf": [properties.get(name, {}), {"type": "null"}]} for name in required}
    if not fixed:
        wanted |= {name: properties[name] for name in others}
    schema: Schema = {"type": "object", "properties": wanted, "required": required}
    return add_defs(tool, schema)


def describe_operation(ctx: StepContext, tool: Tool) -> str:
    return f"The operation is {normalize_endpoint(ctx.step)}: {tool.description}"


async def ask_model(ctx: StepContext, tool: Tool, background: str, schema: Schema) -> dict[str, Any]:
    answer = await generate_structured(ctx.services.model, f"{background}\n\n{describe_operation(ctx, tool)}", schema)
    return {name: value for name, value in answer.items() if value is not None}


# Before it runs


def repeatable(step: Step, services: FlowServices) -> bool:
    return normalize_endpoint(step) in services.repeatable


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    for name in step.params:
        if name not in PARAMS:
            what = f"An api step has no {name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    name_given = normalize_endpoint(step)
    if name_given not in known.endpoints:
        what = (
            f"openapi.yaml has no operation {name_given.strip()!r}." if name_given.strip() else "It names no endpoint."
        )
        yield make_step_problem(flow, step, "params.endpoint", what, format_hint(name_given, known.endpoints))
    if not isinstance(step.params.get("values", {}), dict):
        fix = "Write names and values, such as host: web-1."
        yield make_step_problem(flow, step, "params.values", "They are no mapping.", fix)
    for hole, near in find_misspelt_variables(step.params.get("values"), flow):
        what = f"{{{hole}}} is text: nothing is called so."
        yield make_step_problem(flow, step, "params.values", what, f"Did you mean {{{near}}}?", "style")
