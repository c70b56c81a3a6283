"""Database drivers, one module each (sqlite, duckdb, postgres, mysql), with read-only sessions.

A session serves one query and is closed after it, so no state outlives a query. `make_driver` imports the
module for a URL and calls its `open_driver`.
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
# URL scheme → module; a `+driver` suffix is allowed, as in SQLAlchemy.
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
        """Stop a query that runs in another thread."""
        ...


class Driver(Protocol):
    dialect: str
    """sqlglot's name of the dialect."""

    def session(self, limits: Limits, /) -> AbstractContextManager[Session]: ...

    def tables(self) -> Iterator[Table]:
        """Yield readable tables and views, without system tables."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Database URL (SQLAlchemy's), and the folder that relative file names start at."""

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
    """Make the driver for a URL; ConfigError if the URL is invalid or a package is not installed."""
    for needed in NEEDED:
        # Only look for the package: importing it would slow down the start.
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
