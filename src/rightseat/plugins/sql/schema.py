"""Database schema as shown to the model: tables relevant to the question, with their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rightseat.documents.cut import fits, middle
from rightseat.plugins.search import Field, Index

MOST_TABLES = 2000
ALL = 12
"""Up to this number all tables are shown."""
BEST = 8
NEIGHBOURS = 4
MOST_COLUMNS = 120
COMMENT_TOKENS = 60
NAMES_TOKENS = 400
PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
ANY_CASE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Column(Struct, frozen=True):
    name: str
    kind: str
    comment: str = ""
    key: str = ""
    """`key` for the primary key, `→ table.column` for a foreign key."""


class Table(Struct, frozen=True):
    name: str
    """Name as written in queries, with its schema if that is not the default."""
    columns: tuple[Column, ...]
    comment: str = ""

    @property
    def neighbours(self) -> list[str]:
        targets = (one.key.removeprefix("→ ") for one in self.columns if one.key.startswith("→ "))
        return [target.rpartition(".")[0] for target in targets]


class Schema:
    """Tables of a database with a search index."""

    def __init__(self, tables: Sequence[Table], dialect: str) -> None:
        self.dialect = dialect
        self.tables = {table.name: table for table in tables}
        self.index = Index([fields(table) for table in self.tables.values()])

    def fitting(self, question: str) -> list[Table]:
        """Return the tables that match the question, best first, and those they reference."""
        listed = list(self.tables.values())
        if len(listed) <= ALL:
            return listed
        found = [listed[number] for number in self.index.search(question)[:BEST]] or listed[:BEST]
        near = dict.fromkeys(name for table in found for name in table.neighbours if name in self.tables)
        more = [self.tables[name] for name in near if self.tables[name] not in found]
        return [*found, *more[:NEIGHBOURS]]

    def told(self, question: str, budget: int) -> str:
        """Describe the relevant tables within a token budget; the least relevant are dropped first."""
        chosen = self.fitting(question)
        texts = [written(table, self.dialect) for table in chosen]
        while len(texts) > 1 and not fits("\n\n".join(texts), budget):
            texts.pop()
        rest = [name for name in self.tables if name not in {table.name for table in chosen[: len(texts)]}]
        if rest:
            texts.append(middle(f"Other tables: {', '.join(rest)}", min(NAMES_TOKENS, budget // 4)))
        return "\n\n".join(texts)


def fields(table: Table) -> list[Field]:
    columns = " ".join(f"{one.name} {one.comment}" for one in table.columns)
    return [Field(table.name, 3.0), Field(table.comment, 2.0), Field(columns, 1.0)]


def written(table: Table, dialect: str) -> str:
    name = ".".join(quoted(part, dialect) for part in table.name.split("."))
    lines = [f"{name}{noted(table.comment)}"]
    for column in table.columns[:MOST_COLUMNS]:
        mark = f" {column.key}" if column.key else ""
        lines.append(f"  {quoted(column.name, dialect)} {column.kind}{mark}{noted(column.comment)}")
    if len(table.columns) > MOST_COLUMNS:
        lines.append(f"  … {len(table.columns) - MOST_COLUMNS} more columns")
    return "\n".join(lines)


def quoted(name: str, dialect: str) -> str:
    """Quote a name where the dialect needs it: PostgreSQL folds unquoted names to lower case."""
    if (PLAIN if dialect == "postgres" else ANY_CASE).fullmatch(name):
        return name
    return f"`{name}`" if dialect == "mysql" else f'"{name}"'


def noted(comment: str) -> str:
    """Format a comment on one line, shortened: it is untrusted data."""
    return f" -- {middle(' '.join(comment.split()), COMMENT_TOKENS)}" if comment.strip() else ""
