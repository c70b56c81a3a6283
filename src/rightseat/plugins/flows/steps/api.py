"""Step kind `api`: calls an operation of the plugin's API.

Arguments come from the step's `values`, then from equally named data of the step before, then from the model;
the operation asks a person for what is still missing. With `values`, other optional arguments are omitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from msgspec import Struct, convert, to_builtins

from rightseat.engine.structured import structured
from rightseat.errors import CallerError, FlowStopped
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import Names, data_of, misspelt
from rightseat.plugins.flows.path import opened
from rightseat.plugins.flows.prompts import around, fitted
from rightseat.plugins.flows.stage import Kit, Output, Stage, StepFailed
from rightseat.plugins.flows.template import value_of
from rightseat.plugins.problem import Problem
from rightseat.types.events import Custom, Event
from rightseat.types.schema import checker
from rightseat.types.streams import closing, within
from rightseat.types.tools import Pause, Result, Tool, ToolContext

PARAMS = ("endpoint", "values")
WHOLE = 1 << 40
"""Token budget of the call: the next steps get the whole response; only prompts are cut."""
SMALL = 64 << 10
"""Characters of a response that is parsed in the event loop; longer ones go to a thread."""
Schema = dict[str, Any]
ASKED = """\
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


class Kept(Struct, frozen=True):
    """State between a question and its answer: the arguments and the tool's own state."""

    arguments: dict[str, Any]
    state: Any = None


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    tool = operation(stage)
    kept = convert(stage.state, Kept) if isinstance(stage.state, dict) else None
    if kept is None:
        known = settled(stage, tool)
        wanted = unknown(tool, known, "values" in stage.step.params)
        if wanted is not None:
            made = await fitted(stage, ASKED, beside=around(wanted, about(stage, tool)))
            if made.cut:
                yield Custom("prompt_cut", {"step": stage.step.name, "cut": list(made.cut)})
            known = {**await asked(stage, tool, made.texts[0], wanted), **known}
        if tool.check is not None and (wrong := tool.check(known)):
            raise StepFailed(f"The arguments do not fit {endpoint(stage.step)}: {wrong}")
        kept = Kept(known)
        if wanted is not None:
            # Saved because a model may answer differently next time, and a retry must send the same request.
            await stage.keep(to_builtins(kept))
    context = ToolContext(stage.turn, stage.key, kept.state, stage.answers, budget=WHOLE, key=stage.key)
    assert tool.call is not None
    async with closing(within(tool.call(kept.arguments, context), tool.timeout)) as items:
        async for item in items:
            match item:
                case Pause(asks, state):
                    yield Pause(asks, to_builtins(Kept(kept.arguments, state)))
                case Result():
                    yield await output(stage, item)
                case _:
                    yield item


def operation(stage: Stage) -> Tool:
    found = stage.kit.operations.get(endpoint(stage.step))
    if found is None or found.call is None:
        raise StepFailed(f"The plugin has no operation {endpoint(stage.step)!r} any more.")
    return found


def endpoint(step: Step) -> str:
    """Return the endpoint as an operation id: upper-case method, one space, path."""
    method, _, path = " ".join(str(step.params.get("endpoint", "")).split()).partition(" ")
    return f"{method.upper()} {path}"


async def output(stage: Stage, result: Result) -> Output:
    match result:
        case Result({"error": {"code": "denied"}}, failed=True):
            # Not an error: no retry and no on_error.
            raise FlowStopped(f"The step {stage.step.name!r} was not allowed, so the flow ends here.")
        case Result({"error": {"message": str(message)}}, failed=True):
            raise StepFailed(message)
        case Result(failed=True):
            raise StepFailed(result.text)
        case _:
            pass
    content = result.content
    large = isinstance(content, str) and len(content) > SMALL
    data = await asyncio.to_thread(opened, content) if large else opened(content)
    return Output(data, f"Called {endpoint(stage.step)}.")


# Arguments


def settled(stage: Stage, tool: Tool) -> dict[str, Any]:
    """Return the arguments known without a model: the step's values, then equal names of the step before."""
    given = stage.step.params.get("values")
    values = value_of(given, Names(stage)) if isinstance(given, dict) else {}
    known = {name: value for name, value in values.items() if value is not None}
    before = opened(data_of(stage))
    if not isinstance(before, dict):
        return known
    properties = tool.parameters.get("properties") or {}
    same = {
        name: before[name]
        for name in tool.parameters.get("required") or ()
        if name in before and name not in known and fits(tool, properties.get(name), before[name])
    }
    return {**same, **known}


def fits(tool: Tool, schema: Any, value: Any) -> bool:
    if not isinstance(schema, dict) or value is None:
        return False
    try:
        return checker(within_defs(tool, schema)).problem(value) is None
    except CallerError:
        return False


def within_defs(tool: Tool, schema: Schema) -> Schema:
    return {**schema, "$defs": tool.parameters["$defs"]} if "$defs" in tool.parameters else schema


def unknown(tool: Tool, known: Mapping[str, Any], fixed: bool) -> Schema | None:
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
    made: Schema = {"type": "object", "properties": wanted, "required": required}
    return within_defs(tool, made)


def about(stage: Stage, tool: Tool) -> str:
    return f"The operation is {endpoint(stage.step)}: {tool.description}"


async def asked(stage: Stage, tool: Tool, background: str, schema: Schema) -> dict[str, Any]:
    said = await structured(stage.kit.model, f"{background}\n\n{about(stage, tool)}", schema)
    return {name: value for name, value in said.items() if value is not None}


# Before it runs


def repeatable(step: Step, kit: Kit) -> bool:
    return endpoint(step) in kit.repeatable


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    for name in step.params:
        if name not in PARAMS:
            what = f"An api step has no {name!r}; it is passed over."
            yield problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    named = endpoint(step)
    if named not in known.endpoints:
        what = (
            f"openapi.yaml has no operation {named.strip()!r}." if named.strip() else "It names no endpoint."
        )
        yield problem(flow, step, "params.endpoint", what, hint(named, known.endpoints))
    if not isinstance(step.params.get("values", {}), dict):
        fix = "Write names and values, such as host: web-1."
        yield problem(flow, step, "params.values", "They are no mapping.", fix)
    for hole, near in misspelt(step.params.get("values"), flow):
        what = f"{{{hole}}} is text: nothing is called so."
        yield problem(flow, step, "params.values", what, f"Did you mean {{{near}}}?", "style")
