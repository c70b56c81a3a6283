"""Step kinds `api` and `tool`: call an operation of the plugin's API, or a tool of its lib/."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct, convert, to_builtins

from rightseat.engine.form_values import drop_required
from rightseat.engine.structured import generate_structured
from rightseat.errors import CallerError, FlowStopped, UpstreamGarbled
from rightseat.plugins.flows.paths import decode_json_text
from rightseat.plugins.flows.step_context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    StepStream,
    check_param_names,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.steps import TOOL, StepKind, never_repeatable
from rightseat.plugins.flows.templates import (
    StepVariables,
    as_text,
    check_placeholders,
    estimate_overhead,
    fill_value,
    get_input_data,
    render_prompts,
)
from rightseat.plugins.http.arguments import is_file, item_schema
from rightseat.plugins.http.files import list_attachments
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Custom
from rightseat.types.messages import text_message
from rightseat.types.schema import get_validator
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing, with_timeout
from rightseat.types.tools import Pause, Result, Tool, ToolContext, is_approved, make_approval

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


async def run_api(ctx: StepContext) -> StepStream:
    """Call the operation `endpoint`.

    Arguments come from the step's `values`, then from equally named data of the step before, then from the model;
    the operation asks a person for what is still missing. With `values`, other optional arguments are omitted.
    """
    endpoint = normalize_endpoint(ctx.step)
    tool = get_operation(ctx.step, ctx.services)
    if tool is None or tool.call is None:
        raise StepError(f"The plugin has no operation {endpoint!r} any more.")
    pending = convert(ctx.state, PendingCall) if isinstance(ctx.state, dict) else None
    if pending is None:
        arguments = get_known_arguments(ctx, tool)
        missing = build_missing_schema(tool, {*arguments, *list_own_files(ctx, tool)}, "values" in ctx.step.params)
        if missing is not None:
            operation = f"The operation is {endpoint}: {tool.description}"
            rendered = await render_prompts(ctx, ARGUMENTS_PROMPT, reserved=estimate_overhead(missing, operation))
            if rendered.cut:
                yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
            answer = await generate_arguments(ctx, f"{rendered.texts[0]}\n\n{operation}", missing)
            arguments = {**keep_usable_arguments(tool, answer), **arguments}
        if tool.check is not None and (wrong := tool.check(arguments)):
            raise StepError(f"The arguments do not fit {endpoint}: {wrong}")
        pending = PendingCall(arguments)
        if missing is not None:
            # Saved because a model may answer differently next time, and a retry must send the same request.
            await ctx.save_state(to_builtins(pending))
    tool_context = ToolContext(
        ctx.turn, ctx.key, pending.state, ctx.answers, budget=UNLIMITED_TOKENS, idempotency_key=ctx.key
    )
    async with closing(with_timeout(tool.call(pending.arguments, tool_context), tool.timeout)) as items:
        async for item in items:
            match item:
                case Pause(asks, state):
                    yield Pause(asks, to_builtins(PendingCall(pending.arguments, state)))
                case Result():
                    yield await make_api_output(ctx, item)
                case _:
                    yield item


async def generate_arguments(ctx: StepContext, question: str, schema: Schema) -> dict[str, Any]:
    """Return the model's arguments; none if its answer does not fit and a person will be asked for required ones."""
    try:
        arguments: dict[str, Any] = await generate_structured(ctx.services.model, question, schema)
    except UpstreamGarbled:
        if not schema["required"]:
            # Nobody is asked: a call without its optional arguments could do more than was meant.
            raise
        return {}
    return arguments


def normalize_endpoint(step: Step) -> str:
    """Return the endpoint as an operation id: upper-case method, one space, path."""
    method, space, path = " ".join(str(step.params.get("endpoint", "")).split()).partition(" ")
    return f"{method.upper()} {path}" if space else method


def get_operation(step: Step, services: FlowServices) -> Tool | None:
    return services.operations.get(normalize_endpoint(step))


async def make_api_output(ctx: StepContext, result: Result) -> StepOutput:
    content = result.content
    if result.failed:
        match content:
            case {"error": {"code": "denied"}}:
                # Not an error: no retry and no on_error.
                raise FlowStopped(get_sentence("request_denied", ctx.turn.get_language(), step=repr(ctx.step.name)))
            case _:
                raise StepError(get_error_message(result))
    large = isinstance(content, str) and len(content) > INLINE_PARSE_LIMIT
    data = await asyncio.to_thread(decode_json_text, content) if large else decode_json_text(content)
    return StepOutput(data, f"Called {normalize_endpoint(ctx.step)}.")


def get_error_message(result: Result) -> str:
    match result.content:
        case {"error": {"message": str(message)}}:
            return message
        case _:
            return result.text


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


def list_own_files(ctx: StepContext, tool: Tool) -> list[str]:
    """Return the required file arguments that the operation takes or asks for itself: at most one file is attached."""
    if len(list_attachments(ctx.turn.messages)) > 1:
        return []
    properties, schema = tool.parameters.get("properties") or {}, tool.parameters
    names = (name for name in schema.get("required") or () if name in properties)
    return [
        name
        for name in names
        if is_file(properties[name], schema) or is_file(item_schema(properties[name], schema), schema)
    ]


def build_missing_schema(tool: Tool, known: Collection[str], fixed: bool) -> Schema | None:
    """Return the schema of arguments for the model to fill: missing required ones (nullable), and optional
    ones unless `fixed`. None if nothing is missing."""
    properties = tool.parameters.get("properties") or {}
    required = [name for name in tool.parameters.get("required") or () if name not in known]
    needed = bool(tool.parameters.get("required"))
    others = [name for name in properties if name not in known and name not in required]
    if not required and (fixed or (needed and known) or not others):
        return None
    # Fields within a required argument are optional: a model that must give one makes it up.
    missing = {name: {"anyOf": [drop_required(properties.get(name, {})), {"type": "null"}]} for name in required}
    if not fixed:
        missing |= {name: properties[name] for name in others}
    schema = {"type": "object", "properties": missing, "required": required}
    defs = tool.parameters.get("$defs") or {}
    return {**schema, "$defs": {name: drop_required(inner) for name, inner in defs.items()}} if defs else schema


def keep_usable_arguments(tool: Tool, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the model's arguments without nulls and without required ones that a person must give as a whole: a list
    whose items lack something. What lacks in an object is asked for alone."""
    properties, required = tool.parameters.get("properties") or {}, tool.parameters.get("required") or ()

    def is_usable(name: str, value: Any) -> bool:
        schema = properties.get(name)
        if value is None or name not in required or not isinstance(schema, dict):
            return value is not None
        return get_validator(add_defs(tool, schema)).find_missing(value) is not None

    return {name: value for name, value in answer.items() if is_usable(name, value)}


def check_api(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "An api step", ("endpoint", "values"))
    endpoint = normalize_endpoint(step)
    if endpoint not in known.endpoints:
        name = endpoint.strip()
        what = f"openapi.yaml has no operation {name!r}." if name else "It names no endpoint."
        yield make_step_problem(flow, step, "params.endpoint", what, format_hint(endpoint, known.endpoints))
    if not isinstance(step.params.get("values", {}), dict):
        fix = "Write names and values, such as host: web-1."
        yield make_step_problem(flow, step, "params.values", "They are no mapping.", fix)
    yield from check_placeholders(flow, step, "values")


async def run_tool(ctx: StepContext) -> StepStream:
    """Call the tool; a failed result raises StepError.

    Its arguments are `params.arguments`, or else the other params, with placeholders filled in. Missing arguments
    are taken from the previous output by name. A tool with `confirm` first asks for approval; its own questions
    come after that.
    """
    name = get_tool_name(ctx.step)
    tool = get_script(ctx.step, ctx.services)
    if tool is None:
        raise StepError(f"There is no tool {name!r}.")
    if tool.call is None:
        raise StepError(f"The tool {tool.name} cannot be called from here.")
    arguments = build_arguments(ctx, tool)
    problem = (tool.check or get_validator(tool.parameters).find_problem)(arguments)
    if problem is not None:
        raise StepError(f"{tool.name}: {problem}")
    answers, language = ctx.answers, ctx.turn.get_language()
    if tool.confirm:
        if not answers:
            arguments_json = Result(arguments).text
            text = get_sentence("allow_call", language, name=tool.name, arguments=arguments_json)
            yield Pause((make_approval(text),))
            return
        if not is_approved(answers[0]):
            raise StepError(get_sentence("call_denied", language))
        answers = answers[1:]
    budget = None if ctx.services.context is None else ctx.services.context * 4 // 5
    # A class of the original SDK reads `previous_data` from the last tool's message.
    before = get_input_data(ctx)
    messages = () if before is None else (text_message("tool", as_text(before)),)
    tool_context = ToolContext(ctx.turn, ctx.key, ctx.state, answers, messages, budget, idempotency_key=ctx.key)
    last: Result | Pause = Result()
    async with closing(tool.call(arguments, tool_context)) as items:
        async for item in items:
            if isinstance(item, Result | Pause):
                last = item
            else:
                yield item
    yield last if isinstance(last, Pause) else make_tool_output(last)


def get_tool_name(step: Step) -> str:
    """Return `params.tool`, or the call_type where that is the tool's name."""
    return str(step.params.get("tool") or "") if step.kind == TOOL else step.kind


def get_script(step: Step, services: FlowServices) -> Tool | None:
    return services.scripts.get(get_tool_name(step))


def build_arguments(ctx: StepContext, tool: Tool) -> dict[str, Any]:
    params = ctx.step.params
    template = params.get("arguments")
    if not isinstance(template, dict):
        template = {key: value for key, value in params.items() if key not in ("tool", "arguments")}
    values: dict[str, Any] = fill_value(template, StepVariables(ctx))
    previous = decode_json_text(ctx.previous.data) if ctx.previous else None
    fields = tool.parameters.get("properties") or {}
    for name in fields:
        if name not in values and isinstance(previous, dict) and name in previous:
            values[name] = previous[name]
    if "question" in fields:
        values.setdefault("question", ctx.question)
    return values


def make_tool_output(result: Result) -> StepOutput:
    """Return the step's output; a class of the original SDK returns `{"output", "message"}`."""
    if result.failed:
        raise StepError(get_error_message(result))
    match result.content:
        case {"output": data, "message": str(message)}:
            return StepOutput(data, message)
        case content:
            return StepOutput(content)


def check_tool(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    name = get_tool_name(step)
    if name not in known.scripts:
        what = f"There is no tool {name!r} in lib/." if name else "It names no tool."
        yield make_step_problem(flow, step, "params.tool", what, format_hint(name, known.scripts))
    arguments = step.params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        yield make_step_problem(flow, step, "params.arguments", "They are no mapping.", "Write names and values.")


def has_api_effect(step: Step, services: FlowServices) -> bool:
    """Whether the request changes something. One with an idempotency key does too: another run has another key."""
    tool = services.operations.get(normalize_endpoint(step))
    return tool is not None and tool.effect != "reads"


def has_tool_effect(step: Step, services: FlowServices) -> bool:
    tool = services.scripts.get(get_tool_name(step))
    return tool is not None and tool.effect != "reads"


STEP_KINDS = {
    "api": StepKind(
        run_api,
        check_api,
        repeatable=lambda step, services: normalize_endpoint(step) in services.repeatable,
        has_effect=has_api_effect,
        get_tool=get_operation,
    ),
    TOOL: StepKind(run_tool, check_tool, repeatable=never_repeatable, has_effect=has_tool_effect, get_tool=get_script),
}
