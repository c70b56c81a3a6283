"""Questions in natural language: the model writes a query, the guard checks it, one failure is repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from rightseat.engine.structured import generate_structured
from rightseat.plugins.sql.database import Database
from rightseat.plugins.sql.guard import QueryRefused, guard_query
from rightseat.plugins.sql.query import QueryFailed, Rows, SqlQuery
from rightseat.types.model import Model

DIALECT_NAMES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "mysql": "MySQL"}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sql": {"type": "string", "description": "one SELECT statement"}},
    "required": ["sql"],
    "additionalProperties": False,
}
PROMPT = """\
Write one {dialect} SELECT statement that answers the question from this database{about}.
Use only the tables and columns below, name the columns of the result so that people understand them, and ask
for no more rows than needed.

Tables:
{tables}

{background}Question:
{question}
"""
REPAIR_PROMPT = """
This statement was written before:
{sql}

It failed:
{error}

Write it again so that it works.
"""


class QueryResult(Struct, frozen=True):
    database: str
    sql: str
    rows: Rows


class SqlQuestion(Struct, frozen=True, kw_only=True):
    text: str
    background: str = ""
    """Further context for the model, such as results of earlier steps."""
    budget: int = 8000
    """Tokens for the description of the tables."""


async def answer_question(model: Model, database: Database, question: SqlQuestion) -> QueryResult:
    """Answer a question with rows; QueryFailed or QueryRefused if the repaired query fails too."""
    schema = await database.schema()
    asked = format_prompt(database, schema.describe(question.text, question.budget), question)
    sql = await write_query(model, asked)
    try:
        return await run_query(database, sql)
    except (QueryRefused, QueryFailed) as error:
        # The cached schema may be outdated.
        schema = await database.schema(fresh=True)
        asked = format_prompt(database, schema.describe(question.text, question.budget), question)
        repair = REPAIR_PROMPT.format(sql=sql[:4000], error=str(error)[:1000])
        return await run_query(database, await write_query(model, asked + repair))


def format_prompt(database: Database, tables: str, question: SqlQuestion) -> str:
    return PROMPT.format(
        dialect=DIALECT_NAMES[database.dialect],
        about=f" ({database.description})" if database.description else "",
        tables=tables or "(none)",
        background=f"Background:\n{question.background}\n\n" if question.background else "",
        question=question.text,
    )


async def write_query(model: Model, prompt: str) -> str:
    answer = await generate_structured(model, prompt, ANSWER_SCHEMA)
    return str(answer["sql"])


async def run_query(database: Database, sql: str, values: Mapping[str, Any] | None = None) -> QueryResult:
    """Check and run a query, with values for its `:names`."""
    schema = await database.schema()
    # Parsing a long query blocks: use a thread.
    query: SqlQuery = await asyncio.to_thread(guard_query, sql, database.query_rules(schema), values)
    return QueryResult(database.name, sql if values else query.text, await database.query(query))


async def choose_database(databases: Sequence[Database], question: str) -> Database:
    """Choose the database whose tables match the question best, by word search."""
    if len(databases) == 1:
        return databases[0]
    from rightseat.plugins.search import SearchField, SearchIndex
    from rightseat.plugins.sql.schema import index_fields

    texts: list[list[SearchField]] = []
    owners: list[Database] = []
    failure: QueryFailed | None = None
    for database in databases:
        try:
            schema = await database.schema()
        except QueryFailed as error:
            # The other databases may still answer.
            failure = error
            continue
        for table in schema.tables.values():
            texts.append([*index_fields(table), SearchField(f"{database.name} {database.description}", 2.0)])
            owners.append(database)
    if failure and not owners:
        raise failure
    ranking = SearchIndex(texts).search(question)
    return owners[ranking[0]] if ranking else (owners or databases)[0]
