"""Step kind `sql`: queries a database, with SQL from the model or with `sql` and `values` for its :names."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.documents.cut import middle
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import Names
from rightseat.plugins.flows.prompts import room
from rightseat.plugins.flows.stage import Output, Stage, StepFailed
from rightseat.plugins.flows.template import as_text, filled, value_of
from rightseat.plugins.problem import Problem
from rightseat.types.events import Artifact, Custom, Event
from rightseat.types.tools import Pause

PARAMS = ("database", "question", "background", "sql", "values")


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    from rightseat.plugins.sql.guard import Refused
    from rightseat.plugins.sql.query import QueryFailed

    try:
        found = await asked(stage)
    except Refused as error:
        raise StepFailed(f"The query was not run: {error}") from None
    except QueryFailed as error:
        raise StepFailed(f"The database did not answer: {error}") from None
    yield Custom("sql", {"step": stage.step.name, "database": found.database, "sql": found.sql})
    rows = found.rows.objects()
    yield Artifact(f"sql-{secrets.token_hex(8)}", "table", stage.step.name, rows)
    more = ", and there are more" if found.rows.cut else ""
    yield Output(rows, f"The database gave {len(rows)} {'row' if len(rows) == 1 else 'rows'}{more}.")


async def asked(stage: Stage) -> Any:
    from rightseat.plugins.sql import ask

    params, names = stage.step.params, Names(stage)
    question = filled(str(params.get("question") or "{question}"), names)
    database = await chosen(stage, question)
    if params.get("sql"):
        values = value_of(params.get("values") or {}, names)
        plain = {name: scalar(one) for name, one in values.items()}
        return await ask.ran(database, str(params["sql"]), plain)
    background = as_text(value_of(params.get("background") or "", names))
    # Tables get half of the budget; the rest is for the question and the background.
    half = room(stage.kit.context) // 2
    wanted = ask.Question(text=question, background=middle(background, half // 2), budget=half)
    return await ask.answered(stage.kit.model, database, wanted)


async def chosen(stage: Stage, question: str) -> Any:
    from rightseat.plugins.sql import ask

    databases = stage.kit.databases
    name = stage.step.params.get("database")
    if name is None and databases:
        return await ask.about(list(databases.values()), question)
    if not isinstance(name, str) or name not in databases:
        what = f"There is no database {name!r}." if name else "There is no database."
        raise StepFailed(f"{what} Write [databases.{name or 'NAME'}] with its url into rightseat.toml.")
    return databases[name]


def scalar(value: Any) -> Any:
    """Return a value that a query accepts: objects become text."""
    if isinstance(value, list):
        return [scalar(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else as_text(value)


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    params = step.params
    for name in params:
        if name not in PARAMS:
            what = f"An sql step has no {name!r}; it is passed over."
            yield problem(flow, step, f"params.{name}", what, f"It has {', '.join(PARAMS)}.", "warning")
    database = params.get("database")
    if known.databases is not None and database is not None and database not in known.databases:
        what = f"There is no database {database!r}."
        yield problem(flow, step, "params.database", what, hint(str(database), known.databases), "warning")
    if not isinstance(params.get("sql", ""), str):
        fix = "Write one SELECT, with :names for values."
        yield problem(flow, step, "params.sql", "It is not a text.", fix)
    values = params.get("values")
    if values is not None and (not isinstance(values, dict) or "sql" not in params):
        what = "Values are names and what they stand for in `sql`."
        yield problem(flow, step, "params.values", what, "Write for example values: {region: '{question}'}.")
