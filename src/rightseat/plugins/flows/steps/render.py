"""Step kind `render`: draws a chart of a step's table. Params, the model or the columns choose its kind."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.documents.shape import Shape
from rightseat.engine.structured import structured
from rightseat.errors import UpstreamGarbled
from rightseat.plugins.charts.chart import KINDS, Chart, default, fitting, schema
from rightseat.plugins.charts.grid import Grid, NoTable, grid
from rightseat.plugins.charts.option import option
from rightseat.plugins.charts.plot import Plot, plot
from rightseat.plugins.charts.svg import svg
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import Names, data_of
from rightseat.plugins.flows.path import opened
from rightseat.plugins.flows.prompts import room
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.flows.template import filled
from rightseat.plugins.problem import Problem
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn

GIVEN = ("kind", "x", "y", "series", "log")
PARAMS = ("from", "title", "choose", *GIVEN)
SHOWN = 400
ASKED = """\
Choose how to draw this table so that the chart answers the question.
kind: bar compares over x, line and area show a course, stacked the parts of a sum, pie and ring shares of
one, scatter two numbers against each other, heatmap a number over two columns (x and series).
series: the column that splits the numbers into several lines or stacks; empty for none.
log: only where the numbers differ by orders of magnitude.

Columns:
{columns}

The table:
{rows}

Question:
{question}
"""


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    try:
        found = await asyncio.to_thread(grid, opened(table_of(stage)))
    except NoTable as error:
        raise StepFailed(f"It cannot be drawn: {error}") from None
    chart = await chosen(stage, found)
    title = stage.step.params.get("title")
    if isinstance(title, str):
        chart = fitting(replace(chart, title=filled(title, Names(stage))), found)
    made = await asyncio.to_thread(plot, chart, found)
    drawn = option(made)
    yield shown(stage.turn, made, drawn, chart.title or stage.step.name)
    more = ", of its first rows" if found.cut else ""
    yield Output(drawn, f"Drew a chart: {chart.kind}{more}.")


def table_of(stage: Stage) -> Any:
    source = stage.step.params.get("from")
    if source is None:
        return data_of(stage)
    if source not in stage.outputs:
        raise StepFailed(f"The step {source!r} has given nothing to draw.")
    return stage.outputs[source].data


async def chosen(stage: Stage, found: Grid) -> Chart:
    guess = default(found, stage.question)
    given = {name: stage.step.params[name] for name in GIVEN if name in stage.step.params}
    if given:
        return fitting(filled_in(guess, given), found)
    if stage.step.params.get("choose", True) is False:
        return guess
    try:
        answer = await structured(stage.kit.model, asked(stage, found), schema(found))
    except UpstreamGarbled:
        # Fall back to the default chart.
        return guess
    return fitting(filled_in(guess, answer), found)


def filled_in(guess: Chart, given: dict[str, Any]) -> Chart:
    y = given.get("y", guess.y)
    x = str(given.get("x", guess.x) or "")
    # The guessed series may be the x that was given.
    series = str(given.get("series", "" if guess.series == x else guess.series) or "")
    return Chart(
        kind=given.get("kind", guess.kind),
        x=x,
        y=tuple([y] if isinstance(y, str) else y),
        series=series,
        title=str(given.get("title") or ""),
        log=given.get("log") is True,
    )


def asked(stage: Stage, found: Grid) -> str:
    columns = "\n".join(
        f"- {one.name} ({one.kind}, {len(one.distinct)} different values)" for one in found.columns
    )
    names = [one.name for one in found.columns]
    cells = zip(*(one.cells for one in found.columns), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    shortened = Shape().cut(rows, min(SHOWN, room(stage.kit.context) // 4))
    return ASKED.format(columns=columns, rows=shortened, question=stage.question)


def shown(turn: Turn, made: Plot, drawn: dict[str, Any], name: str) -> Artifact:
    """Return the chart as an artifact, or as an SVG file for clients that show no artifacts."""
    id = f"chart-{secrets.token_hex(8)}"
    if turn.shows_artifacts:
        return Artifact(id, "chart", name, drawn)
    data = base64.b64encode(svg(made).encode()).decode()
    return Artifact(id, "file", f"{name}.svg", {"media_type": "image/svg+xml", "data": data})


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    params = step.params
    for name in params:
        if name not in PARAMS:
            what = f"A render step has no {name!r}; it is passed over."
            yield problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    source = params.get("from")
    if source is not None and source not in flow.steps:
        what = f"There is no step {source!r}."
        yield problem(flow, step, "params.from", what, hint(str(source), flow.steps))
    kind = params.get("kind")
    if kind is not None and kind not in KINDS:
        what = f"There is no chart {kind!r}."
        yield problem(flow, step, "params.kind", what, hint(str(kind), KINDS))
    y = params.get("y", "")
    if not isinstance(y, str) and not (isinstance(y, list) and all(isinstance(one, str) for one in y)):
        yield problem(flow, step, "params.y", "It names no column.", "Write y: total, or a list of columns.")
    for name in ("x", "series"):
        if not isinstance(params.get(name, ""), str):
            yield problem(flow, step, f"params.{name}", "It names no column.", f"Write {name}: region.")
