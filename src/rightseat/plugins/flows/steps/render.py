"""Step kind `render`: draws a chart of a step's table. Params, the model or the columns choose its kind."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.documents.json import JsonCutter
from rightseat.engine.structured import generate_structured
from rightseat.errors import UpstreamGarbled
from rightseat.plugins.charts.chart import (
    CHART_KINDS,
    ChartSpec,
    Plot,
    build_chart_schema,
    build_option,
    build_plot,
    fit_to_table,
    format_csv,
    list_rows,
    make_default_chart,
)
from rightseat.plugins.charts.table import DataTable, NoTableFound, parse_table
from rightseat.plugins.flows.context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.paths import decode_json_text
from rightseat.plugins.flows.templates import StepVariables, fill_template, get_input_data, prompt_budget
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn

CHART_PARAMS = ("kind", "x", "y", "series", "log")
PARAMS = ("from", "title", "choose", *CHART_PARAMS)
MAX_TABLE_TOKENS = 400
CHART_PROMPT = """\
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


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    try:
        table = await asyncio.to_thread(parse_table, decode_json_text(get_table_data(ctx)))
    except NoTableFound as error:
        raise StepError(f"It cannot be drawn: {error}") from None
    chart = await choose_chart(ctx, table)
    title = ctx.step.params.get("title")
    if isinstance(title, str):
        chart = fit_to_table(replace(chart, title=fill_template(title, StepVariables(ctx))), table)
    plotted = await asyncio.to_thread(build_plot, chart, table)
    chart_option = build_option(plotted)
    for artifact in make_artifacts(ctx.turn, plotted, chart_option, chart.title or ctx.step.name):
        yield artifact
    more = ", of its first rows" if table.is_truncated else ""
    yield StepOutput(chart_option, f"Drew a chart: {chart.kind}{more}.")


def get_table_data(ctx: StepContext) -> Any:
    source = ctx.step.params.get("from")
    if source is None:
        return get_input_data(ctx)
    if source not in ctx.outputs:
        raise StepError(f"The step {source!r} has given nothing to draw.")
    return ctx.outputs[source].data


async def choose_chart(ctx: StepContext, table: DataTable) -> ChartSpec:
    guess = make_default_chart(table, ctx.question)
    params = {name: ctx.step.params[name] for name in CHART_PARAMS if name in ctx.step.params}
    if params:
        return fit_to_table(apply_params(guess, params), table)
    if ctx.step.params.get("choose", True) is False:
        return guess
    try:
        answer = await generate_structured(
            ctx.services.model, build_chart_prompt(ctx, table), build_chart_schema(table)
        )
    except UpstreamGarbled:
        # Fall back to the default chart.
        return guess
    return fit_to_table(apply_params(guess, answer), table)


def apply_params(guess: ChartSpec, params: dict[str, Any]) -> ChartSpec:
    y = params.get("y", guess.y)
    x = str(params.get("x", guess.x) or "")
    # The guessed series may be the x that was given.
    series = str(params.get("series", "" if guess.series == x else guess.series) or "")
    return ChartSpec(
        kind=params.get("kind", guess.kind),
        x=x,
        y=tuple([y] if isinstance(y, str) else y),
        series=series,
        title=str(params.get("title") or ""),
        log=params.get("log") is True,
    )


def build_chart_prompt(ctx: StepContext, table: DataTable) -> str:
    columns = "\n".join(f"- {one.name} ({one.kind}, {len(one.distinct)} different values)" for one in table.columns)
    names = [one.name for one in table.columns]
    cells = zip(*(one.cells for one in table.columns), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    shortened = JsonCutter().cut(rows, min(MAX_TABLE_TOKENS, prompt_budget(ctx.services.context) // 4))
    return CHART_PROMPT.format(columns=columns, rows=shortened, question=ctx.question)


def make_artifacts(turn: Turn, plotted: Plot, chart_option: dict[str, Any], name: str) -> list[Artifact]:
    """Return the chart, or its numbers as a table and a CSV file for clients that show no artifacts."""
    id = f"chart-{secrets.token_hex(8)}"
    if turn.shows_artifacts:
        return [Artifact(id, "chart", name, chart_option)]
    rows = list_rows(plotted)
    file = {"media_type": "text/csv", "data": base64.b64encode(format_csv(rows).encode()).decode()}
    return [Artifact(f"{id}-table", "table", name, rows), Artifact(id, "file", f"{name}.csv", file)]


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    for name in params:
        if name not in PARAMS:
            what = f"A render step has no {name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    source = params.get("from")
    if source is not None and source not in flow.steps:
        what = f"There is no step {source!r}."
        yield make_step_problem(flow, step, "params.from", what, format_hint(str(source), flow.steps))
    kind = params.get("kind")
    if kind is not None and kind not in CHART_KINDS:
        what = f"There is no chart {kind!r}."
        yield make_step_problem(flow, step, "params.kind", what, format_hint(str(kind), CHART_KINDS))
    y = params.get("y", "")
    if not isinstance(y, str) and not (isinstance(y, list) and all(isinstance(one, str) for one in y)):
        yield make_step_problem(flow, step, "params.y", "It names no column.", "Write y: total, or a list of columns.")
    for name in ("x", "series"):
        if not isinstance(params.get(name, ""), str):
            yield make_step_problem(flow, step, f"params.{name}", "It names no column.", f"Write {name}: region.")
