"""Step kind `extract`: takes values from a step's output, by dotted paths or JSONPath (`$…`)."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.documents.json import encode_json
from rightseat.plugins.flows import paths
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepOutput, format_hint, make_step_problem
from rightseat.plugins.flows.paths import (
    InvalidPath,
    PathNotFound,
    decode_json_text,
    describe_value,
    is_jsonpath,
    parse_path,
    resolve_path,
)
from rightseat.plugins.flows.templates import get_input_data
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause

PARAMS = ("keys", "from")


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    data = decode_json_text(get_source_data(ctx))
    paths = parse_keys(ctx.step.params["keys"])
    # A JSONPath may scan all of large data.
    uses_jsonpath = any(map(is_jsonpath, paths.values()))
    values = await asyncio.to_thread(extract_all, data, paths) if uses_jsonpath else extract_all(data, paths)
    yield Artifact(f"extract-{secrets.token_hex(8)}", "table", ctx.step.name, make_rows(values))
    yield StepOutput(values, f"Took {', '.join(values)}.")


def extract_all(data: Any, paths: dict[str, str]) -> dict[str, Any]:
    return {name: extract_value(data, path) for name, path in paths.items()}


def get_source_data(ctx: StepContext) -> Any:
    name = ctx.step.params.get("from")
    if name is None:
        return get_input_data(ctx)
    if name not in ctx.outputs:
        raise PathNotFound(f"The step {name!r} has not run, so it has no output.")
    return ctx.outputs[name].data


def parse_keys(value: Any) -> dict[str, str]:
    """Return name → path. A listed path is named by its last key, or in full where two would be equal."""
    if isinstance(value, dict):
        return {str(name): str(path) for name, path in value.items()}
    listed = [str(one) for one in (value if isinstance(value, list) else [value])]
    count = Counter(map(get_last_key, listed))
    return {get_last_key(path) if count[get_last_key(path)] == 1 else path: path for path in listed}


def get_last_key(path: str) -> str:
    if paths.is_jsonpath(path):
        return paths.last_jsonpath_key(path)
    names = [key for key in parse_path(path) if isinstance(key, str)]
    return names[-1] if names else path


def extract_value(data: Any, path: str) -> Any:
    if paths.is_jsonpath(path):
        return paths.find_jsonpath(data, path)
    if not isinstance(data, dict | list):
        raise PathNotFound(f"There is no {path!r}: there is {describe_value(data)}.")
    try:
        return resolve_path(data, parse_path(path))
    except PathNotFound:
        if isinstance(data, dict) and path in data:
            # A key that contains dots.
            return data[path]
        raise


def make_rows(values_by_name: dict[str, Any]) -> Any:
    """Return rows: lists of equal length become columns; a single list of objects is the table itself."""
    values = list(values_by_name.values())
    if len(values) == 1 and isinstance(values[0], list) and values[0]:
        [[name, rows]] = values_by_name.items()
        if all(isinstance(row, dict) for row in rows):
            return rows
        return [{name: make_cell(one)} for one in rows]
    if values and all(isinstance(one, list) for one in values) and len({len(one) for one in values}) == 1:
        return [dict(zip(values_by_name, map(make_cell, row), strict=True)) for row in zip(*values, strict=True)]
    return [{name: make_cell(value) for name, value in values_by_name.items()}]


def make_cell(value: Any) -> Any:
    return encode_json(value) if isinstance(value, dict | list) else value


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    for given_name in step.params:
        if given_name not in PARAMS:
            what = f"An extract step has no {given_name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{given_name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    source = step.params.get("from")
    if source is not None and source not in flow.steps:
        yield make_step_problem(
            flow, step, "params.from", f"There is no step {source!r}.", format_hint(str(source), flow.steps)
        )
    given = step.params.get("keys")
    items = list(given.values()) if isinstance(given, dict) else [given] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        fix = "Write keys: [result.url], or a JSONPath such as $.hosts[*].name."
        yield make_step_problem(flow, step, "params.keys", "It says not what to take.", fix)
        return
    for number, path in enumerate(items):
        try:
            parse_keys([path])
        except InvalidPath as error:
            yield make_step_problem(flow, step, f"params.keys[{number}]", str(error), "See docs/flows.md, extract.")
