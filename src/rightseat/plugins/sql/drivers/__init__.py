"""The databases that can be asked: one file each. Each opens a session that can only read, by its own means.

A session is opened for one query and closed after it: nothing that a query does to it can outlive it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from rightseat.errors import ConfigError
from rightseat.plugins.sql.query import Limits, Query, Rows
from rightseat.plugins.sql.schema import Table
from rightseat.types.nearest import nearest

NEEDED = ("sqlalchemy", "sqlglot")
# By what a URL begins with; `+driver` may follow, as SQLAlchemy has it.
KINDS = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}


class Session(Protocol):
    def query(self, query: Query, /) -> Rows: ...

    def stop(self) -> None:
        """Ends a query that runs in another thread."""
        ...


class Driver(Protocol):
    dialect: str
    """sqlglot's name for its SQL."""

    def session(self, limits: Limits, /) -> AbstractContextManager[Session]: ...

    def tables(self) -> Iterator[Table]:
        """All tables and views that can be read, without the database's own."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is: SQLAlchemy's URL, and the folder that a file's name starts at."""

    url: Any
    folder: Path

    @property
    def file(self) -> Path:
        if not self.url.database or self.url.database == ":memory:":
            raise ConfigError("a database in memory has no tables. Name a file, such as sqlite:///shop.db.")
        found: Path = (self.folder / Path(self.url.database).expanduser()).resolve()
        if not found.is_file():
            raise ConfigError(f"there is no file {found}.")
        return found


def driver(url: str, folder: Path) -> Driver:
    """For a database's URL; ConfigError when there is none, or what it needs is not installed."""
    for needed in NEEDED:
        # Not imported here: that takes longer than a start should.
        if find_spec(needed) is None:
            raise ConfigError(f"{needed} is not installed: pip install 'rightseat[sql]'.")
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        made = make_url(url)
    except ArgumentError:
        raise ConfigError("it is no database's URL, such as postgresql://reader@host/shop.") from None
    kind = made.drivername.partition("+")[0]
    if kind not in KINDS:
        near = nearest(kind, KINDS)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(KINDS)}."
        raise ConfigError(f"{kind} is not among the databases that can be asked. {hint}")
    try:
        module = importlib.import_module(f"{__name__}.{KINDS[kind]}")
    except ImportError as error:
        extra = "sql" if KINDS[kind] == "sqlite" else KINDS[kind]
        raise ConfigError(f"{error.name} is not installed: pip install 'rightseat[{extra}]'.") from None
    found: Driver = module.open_driver(Place(made, folder))
    return found
