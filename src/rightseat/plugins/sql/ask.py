"""Questions in natural language: the model writes a query, the guard checks it, one failure is repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from rightseat.engine.structured import structured
from rightseat.plugins.sql.database import Database
from rightseat.plugins.sql.guard import Refused, guarded
from rightseat.plugins.sql.query import Query, QueryFailed, Rows
from rightseat.types.model import Model

DIALECTS = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "mysql": "MySQL"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sql": {"type": "string", "description": "one SELECT statement"}},
    "required": ["sql"],
    "additionalProperties": False,
}
ASKED = """\
Write one {dialect} SELECT statement that answers the question from this database{about}.
Use only the tables and columns below, name the columns of the result so that people understand them, and ask
for no more rows than needed.

Tables:
{tables}

{background}Question:
{question}
"""
AGAIN = """
This statement was written before:
{sql}

It failed:
{error}

Write it again so that it works.
"""


class Found(Struct, frozen=True):
    database: str
    sql: str
    rows: Rows


class Question(Struct, frozen=True, kw_only=True):
    text: str
    background: str = ""
    """Further context for the model, such as results of earlier steps."""
    budget: int = 8000
    """Tokens for the description of the tables."""


async def answered(model: Model, database: Database, question: Question) -> Found:
    """Answer a question with rows; QueryFailed or QueryRefused if the repaired query fails too."""
    schema = await database.schema()
    asked = prompt(database, schema.told(question.text, question.budget), question)
    sql = await composed(model, asked)
    try:
        return await ran(database, sql)
    except (Refused, QueryFailed) as error:
        # The cached schema may be outdated.
        schema = await database.schema(fresh=True)
        asked = prompt(database, schema.told(question.text, question.budget), question)
        again = AGAIN.format(sql=sql[:4000], error=str(error)[:1000])
        return await ran(database, await composed(model, asked + again))


def prompt(database: Database, tables: str, question: Question) -> str:
    return ASKED.format(
        dialect=DIALECTS[database.dialect],
        about=f" ({database.description})" if database.description else "",
        tables=tables or "(none)",
        background=f"Background:\n{question.background}\n\n" if question.background else "",
        question=question.text,
    )


async def composed(model: Model, asked: str) -> str:
    answer = await structured(model, asked, SCHEMA)
    return str(answer["sql"])


async def ran(database: Database, sql: str, values: Mapping[str, Any] | None = None) -> Found:
    """Check and run a query, with values for its `:names`."""
    schema = await database.schema()
    # Parsing a long query blocks: use a thread.
    query: Query = await asyncio.to_thread(guarded, sql, database.rules(schema), values)
    return Found(database.name, sql if values else query.text, await database.query(query))


async def about(databases: Sequence[Database], question: str) -> Database:
    """Choose the database whose tables match the question best, by word search."""
    if len(databases) == 1:
        return databases[0]
    from rightseat.plugins.search import Field, Index
    from rightseat.plugins.sql.schema import fields

    texts: list[list[Field]] = []
    owners: list[Database] = []
    lost: QueryFailed | None = None
    for one in databases:
        try:
            schema = await one.schema()
        except QueryFailed as error:
            # The other databases may still answer.
            lost = error
            continue
        for table in schema.tables.values():
            texts.append([*fields(table), Field(f"{one.name} {one.description}", 2.0)])
            owners.append(one)
    if lost and not owners:
        raise lost
    found = Index(texts).search(question)
    return owners[found[0]] if found else (owners or databases)[0]
