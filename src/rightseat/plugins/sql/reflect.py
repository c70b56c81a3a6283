"""Reflection of a database's tables with SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rightseat.plugins.sql.query import QueryFailed
from rightseat.plugins.sql.schema import MOST_TABLES, Column, Table

OWN = {"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"}


def reflected(url: str, connect: Callable[[], Any]) -> Iterator[Table]:
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
                if schema not in OWN:
                    yield from of_schema(inspector, schema, schema in (None, default))
    except SQLAlchemyError as error:
        raise QueryFailed(f"Its tables cannot be listed: {str(error).splitlines()[0]}") from None
    finally:
        engine.dispose()


def of_schema(inspector: Any, schema: str | None, default: bool) -> Iterator[Table]:
    from sqlalchemy.engine.reflection import ObjectKind

    columns = inspector.get_multi_columns(schema, kind=ObjectKind.ANY)
    keys = inspector.get_multi_pk_constraint(schema, kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(schema, kind=ObjectKind.ANY)
    for number, ((_, name), found) in enumerate(columns.items()):
        if number >= MOST_TABLES:
            return
        marks = dict.fromkeys((keys.get((schema, name)) or {}).get("constrained_columns", ()), "key")
        for one in foreign.get((schema, name), ()):
            for column, target in zip(one["constrained_columns"], one["referred_columns"], strict=False):
                marks[column] = f"→ {one['referred_table']}.{target}"
        made = tuple(
            Column(one["name"], str(one["type"]), one.get("comment") or "", marks.get(one["name"], ""))
            for one in found
        )
        yield Table(name if default else f"{schema}.{name}", made, comment(inspector, schema, name))


def comment(inspector: Any, schema: str | None, name: str) -> str:
    if not inspector.dialect.supports_comments:
        return ""
    return inspector.get_table_comment(name, schema).get("text") or ""
