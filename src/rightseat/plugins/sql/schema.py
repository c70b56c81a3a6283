"""Database schema as shown to the model (tables relevant to the question, with their columns), and its reflection with
SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from rightseat.documents.document import cut_middle, fits_budget
from rightseat.plugins.sql.query import QueryFailed
from rightseat.tools.word_search import SearchField, SearchIndex

MAX_TABLES = 2000
MAX_ALL_SHOWN = 12
"""Up to this number all tables are shown."""
MAX_BEST = 8
MAX_NEIGHBOURS = 4
MAX_COLUMNS = 120
COMMENT_TOKENS = 60
NAMES_TOKENS = 400
LOWERCASE_NAME = re.compile(r"[a-z_][a-z0-9_]*")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SYSTEM_SCHEMAS = {"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"}


class DatabaseColumn(Struct, frozen=True):
    name: str
    kind: str
    comment: str = ""
    key: str = ""
    """`key` for the primary key, `→ table.column` for a foreign key."""


class DatabaseTable(Struct, frozen=True):
    name: str
    """Name as written in queries, with its schema if that is not the default."""
    columns: tuple[DatabaseColumn, ...]
    comment: str = ""

    @property
    def referenced_tables(self) -> list[str]:
        foreign = (column.key for column in self.columns if column.key.startswith("→ "))
        return [key.removeprefix("→ ").rpartition(".")[0] for key in foreign]


class DatabaseSchema:
    """Tables of a database with a search index."""

    def __init__(self, tables: Sequence[DatabaseTable], dialect: str) -> None:
        self.dialect = dialect
        self.tables = {table.name: table for table in tables}
        self.index = SearchIndex([index_fields(table) for table in self.tables.values()])

    def relevant_tables(self, question: str) -> list[DatabaseTable]:
        """Return the tables that match the question, best first, and those they reference."""
        listed = list(self.tables.values())
        if len(listed) <= MAX_ALL_SHOWN:
            return listed
        best = [listed[number] for number in self.index.search(question)[:MAX_BEST]] or listed[:MAX_BEST]
        near = dict.fromkeys(name for table in best for name in table.referenced_tables if name in self.tables)
        more = [self.tables[name] for name in near if self.tables[name] not in best]
        return [*best, *more[:MAX_NEIGHBOURS]]

    def describe(self, question: str, budget: int) -> str:
        """Describe the relevant tables within a token budget; the least relevant are dropped first."""
        chosen = self.relevant_tables(question)
        texts = [format_table(table, self.dialect) for table in chosen]
        while len(texts) > 1 and not fits_budget("\n\n".join(texts), budget):
            texts.pop()
        other_names = [name for name in self.tables if name not in {table.name for table in chosen[: len(texts)]}]
        if other_names:
            texts.append(cut_middle(f"Other tables: {', '.join(other_names)}", min(NAMES_TOKENS, budget // 4)))
        return "\n\n".join(texts)


def index_fields(table: DatabaseTable) -> list[SearchField]:
    columns = " ".join(f"{column.name} {column.comment}" for column in table.columns)
    return [SearchField(table.name, 3.0), SearchField(table.comment, 2.0), SearchField(columns, 1.0)]


def format_table(table: DatabaseTable, dialect: str) -> str:
    name = ".".join(quote_name(part, dialect) for part in table.name.split("."))
    lines = [f"{name}{format_comment(table.comment)}"]
    for column in table.columns[:MAX_COLUMNS]:
        mark = f" {column.key}" if column.key else ""
        lines.append(f"  {quote_name(column.name, dialect)} {column.kind}{mark}{format_comment(column.comment)}")
    if len(table.columns) > MAX_COLUMNS:
        lines.append(f"  … {len(table.columns) - MAX_COLUMNS} more columns")
    return "\n".join(lines)


def quote_name(name: str, dialect: str) -> str:
    """Quote a name where the dialect needs it: PostgreSQL folds unquoted names to lower case."""
    if (LOWERCASE_NAME if dialect == "postgres" else PLAIN_NAME).fullmatch(name):
        return name
    return f"`{name}`" if dialect == "mysql" else f'"{name}"'


def format_comment(comment: str) -> str:
    """Format a comment on one line, shortened: it is untrusted data."""
    return f" -- {cut_middle(' '.join(comment.split()), COMMENT_TOKENS)}" if comment.strip() else ""


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
            targets = (f"→ {foreign_key['referred_table']}.{target}" for target in foreign_key["referred_columns"])
            marks |= dict(zip(foreign_key["constrained_columns"], targets, strict=False))
        table_columns = tuple(
            DatabaseColumn(
                column["name"], str(column["type"]), column.get("comment") or "", marks.get(column["name"], "")
            )
            for column in column_infos
        )
        comment = ""
        if inspector.dialect.supports_comments:
            comment = inspector.get_table_comment(name, schema).get("text") or ""
        yield DatabaseTable(name if default else f"{schema}.{name}", table_columns, comment)
