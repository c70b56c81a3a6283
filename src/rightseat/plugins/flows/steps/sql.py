"""Step kind `sql`: queries a database, with SQL from the model or with `sql` and `values` for its :names."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.documents.document import cut_middle
from rightseat.plugins.flows.context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.templates import StepVariables, as_text, fill_template, fill_value, prompt_budget
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Artifact, Custom, Event
from rightseat.types.tools import Pause

PARAMS = ("database", "question", "background", "sql", "values")


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
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
    yield Artifact(f"sql-{secrets.token_hex(8)}", "table", ctx.step.name, rows)
    more = ", and there are more" if answer.rows.truncated else ""
    yield StepOutput(rows, f"The database gave {len(rows)} {'row' if len(rows) == 1 else 'rows'}{more}.")


async def run_query(ctx: StepContext) -> Any:
    from rightseat.plugins.sql import database as sql

    params, names = ctx.step.params, StepVariables(ctx)
    question = fill_template(str(params.get("question") or "{question}"), names)
    database = await choose_database(ctx, question)
    if params.get("sql"):
        values = fill_value(params.get("values") or {}, names)
        sql_values = {name: make_sql_value(one) for name, one in values.items()}
        return await sql.run_query(database, str(params["sql"]), sql_values)
    background = as_text(fill_value(params.get("background") or "", names))
    # Tables get half of the budget; the rest is for the question and the background.
    budget = prompt_budget(ctx.services.context) // 2
    request = sql.SqlQuestion(text=question, background=cut_middle(background, budget // 2), budget=budget)
    return await sql.answer_question(ctx.services.model, database, request)


async def choose_database(ctx: StepContext, question: str) -> Any:
    from rightseat.plugins.sql import database as sql

    databases = ctx.services.databases
    name = ctx.step.params.get("database")
    if name is None and databases:
        return await sql.choose_database(list(databases.values()), question)
    if not isinstance(name, str) or name not in databases:
        what = f"There is no database {name!r}." if name else "There is no database."
        raise StepError(f"{what} Write [databases.{name or 'NAME'}] with its url into rightseat.toml.")
    return databases[name]


def make_sql_value(value: Any) -> Any:
    """Return a value that a query accepts: objects become text."""
    if isinstance(value, list):
        return [make_sql_value(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else as_text(value)


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    for name in params:
        if name not in PARAMS:
            what = f"An sql step has no {name!r}; it is passed over."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    database = params.get("database")
    if known.databases is not None and database is not None and database not in known.databases:
        what = f"There is no database {database!r}."
        yield make_step_problem(
            flow, step, "params.database", what, format_hint(str(database), known.databases), "warning"
        )
    if not isinstance(params.get("sql", ""), str):
        fix = "Write one SELECT, with :names for values."
        yield make_step_problem(flow, step, "params.sql", "It is not a text.", fix)
    values = params.get("values")
    if values is not None and (not isinstance(values, dict) or "sql" not in params):
        what = "Values are names and what they stand for in `sql`."
        yield make_step_problem(flow, step, "params.values", what, "Write for example values: {region: '{question}'}.")
