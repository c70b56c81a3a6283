"""Step kind `extract`: takes values from a step's output, by dotted paths or JSONPath (`$…`)."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.documents.shape import written
from rightseat.plugins.flows import jsonpath
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import data_of
from rightseat.plugins.flows.path import BadPath, Missing, at, keys, opened, there
from rightseat.plugins.flows.stage import Output, Stage
from rightseat.plugins.problem import Problem
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause

PARAMS = ("keys", "from")


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    data = opened(source(stage))
    paths = wanted(stage.step.params["keys"])
    # A JSONPath may scan all of large data.
    far = any(map(jsonpath.is_one, paths.values()))
    found = await asyncio.to_thread(all_of, data, paths) if far else all_of(data, paths)
    yield Artifact(f"extract-{secrets.token_hex(8)}", "table", stage.step.name, table(found))
    yield Output(found, f"Took {', '.join(found)}.")


def all_of(data: Any, paths: dict[str, str]) -> dict[str, Any]:
    return {name: taken(data, path) for name, path in paths.items()}


def source(stage: Stage) -> Any:
    name = stage.step.params.get("from")
    if name is None:
        return data_of(stage)
    if name not in stage.outputs:
        raise Missing(f"The step {name!r} has not run, so it gave nothing to take from.")
    return stage.outputs[name].data


def wanted(given: Any) -> dict[str, str]:
    """Return name → path. A listed path is named by its last key, or in full where two would be equal."""
    if isinstance(given, dict):
        return {str(name): str(path) for name, path in given.items()}
    listed = [str(one) for one in (given if isinstance(given, list) else [given])]
    count = Counter(map(last, listed))
    return {last(path) if count[last(path)] == 1 else path: path for path in listed}


def last(path: str) -> str:
    if jsonpath.is_one(path):
        return jsonpath.last_name(path)
    names = [key for key in keys(path) if isinstance(key, str)]
    return names[-1] if names else path


def taken(data: Any, path: str) -> Any:
    if jsonpath.is_one(path):
        return jsonpath.taken(data, path)
    if not isinstance(data, dict | list):
        raise Missing(f"There is no {path!r}: there is {there(data)}.")
    try:
        return at(data, keys(path))
    except Missing:
        if isinstance(data, dict) and path in data:
            # A key that contains dots.
            return data[path]
        raise


def table(found: dict[str, Any]) -> Any:
    """Return rows: lists of equal length become columns; a single list of objects is the table itself."""
    values = list(found.values())
    if len(values) == 1 and isinstance(values[0], list) and values[0]:
        [[name, rows]] = found.items()
        if all(isinstance(row, dict) for row in rows):
            return rows
        return [{name: cell(one)} for one in rows]
    if values and all(isinstance(one, list) for one in values) and len({len(one) for one in values}) == 1:
        return [dict(zip(found, map(cell, row), strict=True)) for row in zip(*values, strict=True)]
    return [{name: cell(value) for name, value in found.items()}]


def cell(value: Any) -> Any:
    return written(value) if isinstance(value, dict | list) else value


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    for given_name in step.params:
        if given_name not in PARAMS:
            what = f"An extract step has no {given_name!r}; it is passed over."
            yield problem(flow, step, f"params.{given_name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    source = step.params.get("from")
    if source is not None and source not in flow.steps:
        yield problem(
            flow, step, "params.from", f"There is no step {source!r}.", hint(str(source), flow.steps)
        )
    given = step.params.get("keys")
    items = list(given.values()) if isinstance(given, dict) else [given] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        fix = "Write keys: [result.url], or a JSONPath such as $.hosts[*].name."
        yield problem(flow, step, "params.keys", "It says not what to take.", fix)
        return
    for number, path in enumerate(items):
        try:
            wanted([path])
        except BadPath as error:
            yield problem(flow, step, f"params.keys[{number}]", str(error), "See docs/flows.md, extract.")
