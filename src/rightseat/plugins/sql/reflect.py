"""Reflection of a database's tables with SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rightseat.plugins.sql.query import QueryFailed
from rightseat.plugins.sql.schema import MAX_TABLES, DatabaseColumn, DatabaseTable

SYSTEM_SCHEMAS = {"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"}


def reflect_tables(url: str, connect: Callable[[], Any]) -> Iterator[DatabaseTable]:
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    engine = create_engine(url, creator=connect, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            inspector = inspect(connection)
            default = inspector.default_schema_name
            schemas: list[str | None] = [None]
            if engine.dialect.name == "mysql":
                # MySQL schemas are databases: use the one in the URL.
                schemas = [default]
            elif engine.dialect.name != "sqlite":
                schemas = list(inspector.get_schema_names())
            for schema in schemas:
                if schema not in SYSTEM_SCHEMAS:
                    yield from reflect_schema(inspector, schema, schema in (None, default))
    except SQLAlchemyError as error:
        raise QueryFailed(f"Its tables cannot be listed: {str(error).splitlines()[0]}") from None
    finally:
        engine.dispose()


def reflect_schema(inspector: Any, schema: str | None, default: bool) -> Iterator[DatabaseTable]:
    from sqlalchemy.engine.reflection import ObjectKind

    columns = inspector.get_multi_columns(schema, kind=ObjectKind.ANY)
    keys = inspector.get_multi_pk_constraint(schema, kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(schema, kind=ObjectKind.ANY)
    for number, ((_, name), column_infos) in enumerate(columns.items()):
        if number >= MAX_TABLES:
            return
        marks = dict.fromkeys((keys.get((schema, name)) or {}).get("constrained_columns", ()), "key")
        for foreign_key in foreign.get((schema, name), ()):
            for column, target in zip(
                foreign_key["constrained_columns"], foreign_key["referred_columns"], strict=False
            ):
                marks[column] = f"→ {foreign_key['referred_table']}.{target}"
        table_columns = tuple(
            DatabaseColumn(
                foreign_key["name"],
                str(foreign_key["type"]),
                foreign_key.get("comment") or "",
                marks.get(foreign_key["name"], ""),
            )
            for foreign_key in column_infos
        )
        yield DatabaseTable(
            name if default else f"{schema}.{name}", table_columns, table_comment(inspector, schema, name)
        )


def table_comment(inspector: Any, schema: str | None, name: str) -> str:
    if not inspector.dialect.supports_comments:
        return ""
    return inspector.get_table_comment(name, schema).get("text") or ""
