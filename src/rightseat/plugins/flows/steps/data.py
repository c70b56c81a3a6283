"""Step kinds `extract`, `sql` and `render`: values of a step's output, rows of a database, and a chart of a table."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.documents.document import cut_middle
from rightseat.documents.json import JsonCutter, encode_json
from rightseat.engine.structured import generate_structured
from rightseat.errors import UpstreamGarbled
from rightseat.plugins.charts.chart import (
    CHART_KINDS,
    MAX_TITLE_LENGTH,
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
from rightseat.plugins.flows.paths import (
    InvalidPath,
    PathNotFound,
    decode_json_text,
    describe_value,
    find_jsonpath,
    is_jsonpath,
    last_jsonpath_key,
    parse_path,
    resolve_path,
)
from rightseat.plugins.flows.step_context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    StepStream,
    check_param_names,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.steps import StepKind
from rightseat.plugins.flows.templates import (
    PromptVariables,
    StepVariables,
    as_text,
    check_placeholders,
    choose_text,
    fill_template,
    fill_value,
    get_input_data,
    is_known_variable,
    is_text,
    iter_placeholders,
    prompt_budget,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Artifact, Custom
from rightseat.types.turn import Turn

SQL_PARAMS = ("database", "question", "background", "sql", "values", "title")
CHART_PARAMS = ("kind", "x", "y", "series", "log")
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


def get_source_data(ctx: StepContext, problem: str) -> Any:
    """Return the data of the step `params.from`, or of the step before; raise with `problem` if it has not run."""
    name = ctx.step.params.get("from")
    if name is None:
        return get_input_data(ctx)
    if name not in ctx.outputs:
        raise PathNotFound(f"The step {name!r} has {problem}.")
    return ctx.outputs[name].data


def check_source(step: Step, flow: Flow) -> Iterator[Problem]:
    source = step.params.get("from")
    if source is not None and source not in flow.steps:
        what = f"There is no step {source!r}."
        yield make_step_problem(flow, step, "params.from", what, format_hint(str(source), flow.steps))


def format_title(ctx: StepContext) -> str:
    """Return the step's `title`, with its placeholders filled; empty if it has none."""
    title = ctx.step.params.get("title")
    if not title or not is_text(title):
        return ""
    text = fill_template(choose_text(title, ctx.turn), StepVariables(ctx))
    return " ".join(text.split())[:MAX_TITLE_LENGTH]


def check_title(step: Step, flow: Flow) -> Iterator[Problem]:
    if not is_text(step.params.get("title", "")):
        yield make_step_problem(flow, step, "params.title", "It is not a text.", "Write title: Hours by host.")
    yield from check_placeholders(flow, step, "title")


async def run_extract(ctx: StepContext) -> StepStream:
    """Take the values `keys` from a step's output, by dotted paths or JSONPath (`$…`)."""
    data = decode_json_text(get_source_data(ctx, "not run, so it has no output"))
    paths = parse_keys(ctx.step.params["keys"])
    # A JSONPath may scan all of large data.
    uses_jsonpath = any(map(is_jsonpath, paths.values()))
    values = await asyncio.to_thread(extract_all, data, paths) if uses_jsonpath else extract_all(data, paths)
    yield Artifact(f"extract-{secrets.token_hex(8)}", "table", format_title(ctx) or ctx.step.name, make_rows(values))
    yield StepOutput(values, f"Took {', '.join(values)}.")


def parse_keys(value: Any) -> dict[str, str]:
    """Return name → path. A listed path is named by its last key, or in full where two would be equal."""
    if isinstance(value, dict):
        return {str(name): str(path) for name, path in value.items()}
    paths = [str(one) for one in (value if isinstance(value, list) else [value])]
    last_keys = [get_last_key(path) for path in paths]
    count = Counter(last_keys)
    return {key if count[key] == 1 else path: path for key, path in zip(last_keys, paths, strict=True)}


def get_last_key(path: str) -> str:
    if is_jsonpath(path):
        return last_jsonpath_key(path)
    names = [key for key in parse_path(path) if isinstance(key, str)]
    return names[-1] if names else path


def extract_all(data: Any, paths: dict[str, str]) -> dict[str, Any]:
    return {name: extract_value(data, path) for name, path in paths.items()}


def extract_value(data: Any, path: str) -> Any:
    if is_jsonpath(path):
        return find_jsonpath(data, path)
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


def check_extract(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "An extract step", ("keys", "from", "title"))
    yield from check_source(step, flow)
    yield from check_title(step, flow)
    keys = step.params.get("keys")
    paths = list(keys.values()) if isinstance(keys, dict) else [keys] if isinstance(keys, str) else keys
    if not isinstance(paths, list) or not paths:
        fix = "Write keys: [result.url], or a JSONPath such as $.hosts[*].name."
        yield make_step_problem(flow, step, "params.keys", "It says not what to take.", fix)
        return
    for number, path in enumerate(paths):
        try:
            parse_keys([path])
        except InvalidPath as error:
            yield make_step_problem(flow, step, f"params.keys[{number}]", str(error), "See docs/flows.md, extract.")


async def run_sql(ctx: StepContext) -> StepStream:
    """Query a database, with SQL from the model or with `sql` and `values` for its :names."""
    from rightseat.plugins.sql.guard import QueryRefused
    from rightseat.plugins.sql.query import QueryFailed

    try:
        answer = await run_query(ctx)
    except QueryRefused as error:
        raise StepError(f"The query was not run: {error}") from None
    except QueryFailed as error:
        raise StepError(f"The database did not answer: {error}") from None
    yield Custom("sql", {"step": ctx.step.name, "database": answer.database, "sql": answer.sql})
    rows = answer.rows.to_dicts()
    yield Artifact(f"sql-{secrets.token_hex(8)}", "table", format_title(ctx) or ctx.step.name, rows)
    more = ", and there are more" if answer.rows.truncated else ""
    yield StepOutput(rows, f"The database gave {len(rows)} {'row' if len(rows) == 1 else 'rows'}{more}.")


async def run_query(ctx: StepContext) -> Any:
    from rightseat.plugins.sql import database as sql

    params = ctx.step.params
    template, background_template = str(params.get("question") or "{question}"), params.get("background") or ""
    names = PromptVariables(ctx, template, background_template)
    question = fill_template(template, names)
    databases = ctx.services.databases
    name = params.get("database")
    if name is None and databases:
        database = await sql.choose_database(list(databases.values()), question)
    elif isinstance(name, str) and name in databases:
        database = databases[name]
    else:
        what = f"There is no database {name!r}." if name else "There is no database."
        raise StepError(f"{what} Write [databases.{name or 'NAME'}] with its url into rightseat.toml.")
    if params.get("sql"):
        values = fill_value(params.get("values") or {}, StepVariables(ctx))
        sql_values = {name: make_sql_value(value) for name, value in values.items()}
        return await sql.run_query(database, str(params["sql"]), sql_values)
    background = as_text(fill_value(background_template, names))
    # Tables get half of the budget; the rest is for the question and the background.
    budget = prompt_budget(ctx.services.context) // 2
    request = sql.SqlQuestion(text=question, background=cut_middle(background, budget // 2), budget=budget)
    return await sql.answer_question(ctx.services.model, database, request)


def make_sql_value(value: Any) -> Any:
    """Return a value that a query accepts: objects become text."""
    if isinstance(value, list):
        return [make_sql_value(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else as_text(value)


def check_sql(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    # An error: without its SQL the step would let the model write another.
    yield from check_param_names(flow, step, "An sql step", SQL_PARAMS, "error")
    yield from check_title(step, flow)
    fix = "Write one SELECT, with :names for values, or leave it out: then the model writes it."
    text = params.get("sql", "SELECT")
    if not isinstance(text, str) or not text.strip():
        what = "It is not a text." if not isinstance(text, str) else "It is empty."
        yield make_step_problem(flow, step, "params.sql", what, fix)
    elif any(is_known_variable(name, flow) for name in iter_placeholders(text)):
        what = "SQL takes no placeholder: values are never part of its text."
        yield make_step_problem(flow, step, "params.sql", what, "Write :name, and values: {name: '{question}'}.")
    values = params.get("values")
    if values is not None and (not isinstance(values, dict) or "sql" not in params):
        what = "Values are names and what they stand for in `sql`."
        yield make_step_problem(flow, step, "params.values", what, "Write for example values: {region: '{question}'}.")


async def run_render(ctx: StepContext) -> StepStream:
    """Draw a chart of a step's table. Params, the model or the columns choose its kind."""
    data = decode_json_text(get_source_data(ctx, "given nothing to draw"))
    try:
        table = await asyncio.to_thread(parse_table, data)
    except NoTableFound as error:
        raise StepError(f"It cannot be drawn: {error}") from None
    chart = await choose_chart(ctx, table)
    if title := format_title(ctx):
        chart = replace(chart, title=title)
    plot = await asyncio.to_thread(build_plot, chart, table)
    option = build_option(plot)
    for artifact in make_artifacts(ctx.turn, plot, option, chart.title or ctx.step.name):
        yield artifact
    more = ", of its first rows" if table.is_truncated else ""
    drawn = "Drew a chart" if ctx.turn.client.shows_artifacts else "Made a table and a file, as no chart is drawn here"
    yield StepOutput(option, f"{drawn}: {chart.kind}{more}.")


async def choose_chart(ctx: StepContext, table: DataTable) -> ChartSpec:
    default = make_default_chart(table, ctx.question)
    params = {name: ctx.step.params[name] for name in CHART_PARAMS if name in ctx.step.params}
    if not params:
        if ctx.step.params.get("choose", True) is False:
            return default
        prompt = build_chart_prompt(ctx, table)
        try:
            params = await generate_structured(ctx.services.model, prompt, build_chart_schema(table))
        except UpstreamGarbled:
            return default
    return fit_to_table(apply_params(default, params), table)


def apply_params(default: ChartSpec, params: dict[str, Any]) -> ChartSpec:
    y = params.get("y", default.y)
    x = str(params.get("x", default.x) or "")
    # The default's series may be the x that was given.
    series = str(params.get("series", "" if default.series == x else default.series) or "")
    return ChartSpec(
        kind=params.get("kind", default.kind),
        x=x,
        y=tuple([y] if isinstance(y, str) else y),
        series=series,
        title=str(params.get("title") or ""),
        log=params.get("log") is True,
    )


def build_chart_prompt(ctx: StepContext, table: DataTable) -> str:
    columns = "\n".join(
        f"- {column.name} ({column.kind}, {len(column.distinct)} different values)" for column in table.columns
    )
    names = [column.name for column in table.columns]
    cells = zip(*(column.cells for column in table.columns), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    shortened = JsonCutter().cut(rows, min(MAX_TABLE_TOKENS, prompt_budget(ctx.services.context) // 4))
    return CHART_PROMPT.format(columns=columns, rows=shortened, question=ctx.question)


def make_artifacts(turn: Turn, plot: Plot, option: dict[str, Any], name: str) -> list[Artifact]:
    """Return the chart, or its numbers as a table and a CSV file for clients that show no artifacts."""
    id = f"chart-{secrets.token_hex(8)}"
    if turn.client.shows_artifacts:
        return [Artifact(id, "chart", name, option)]
    rows = list_rows(plot)
    file = {"media_type": "text/csv", "data": base64.b64encode(format_csv(rows).encode()).decode()}
    return [Artifact(f"{id}-table", "table", name, rows), Artifact(id, "file", f"{name}.csv", file)]


def check_render(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    yield from check_param_names(flow, step, "A render step", ("from", "title", "choose", *CHART_PARAMS))
    yield from check_source(step, flow)
    yield from check_title(step, flow)
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


STEP_KINDS = {
    "extract": StepKind(run_extract, check_extract),
    "sql": StepKind(run_sql, check_sql),
    "render": StepKind(run_render, check_render),
}
