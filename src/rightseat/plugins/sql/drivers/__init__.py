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

from rightseat.config.installation import format_extra_command
from rightseat.errors import ConfigError
from rightseat.plugins.sql.query import QueryLimits, Rows, SqlQuery
from rightseat.plugins.sql.schema import DatabaseTable
from rightseat.types.text import closest_match

REQUIRED_PACKAGES = ("sqlalchemy", "sqlglot")
# URL scheme → module; a `+driver` suffix is allowed, as in SQLAlchemy.
MODULE_BY_SCHEME = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}


class DatabaseSession(Protocol):
    def query(self, query: SqlQuery, /) -> Rows: ...
    def stop(self) -> None:
        """Stop a query that runs in another thread."""


class Driver(Protocol):
    dialect: str
    """sqlglot's name of the dialect."""

    @property
    def file(self) -> Path | None:
        """File of a database without a server of its own: its queries run in a child process."""

    def session(self, limits: QueryLimits, /) -> AbstractContextManager[DatabaseSession]: ...

    def tables(self) -> Iterator[DatabaseTable]:
        """Yield readable tables and views, without system tables."""


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """Database URL (SQLAlchemy's), and the folder that relative file names start at."""

    url: Any
    folder: Path

    @property
    def file(self) -> Path:
        if not self.url.database or self.url.database == ":memory:":
            raise ConfigError("a database in memory has no tables. Name a file, such as sqlite:///shop.db.")
        path: Path = (self.folder / Path(self.url.database).expanduser()).resolve()
        if not path.is_file():
            raise ConfigError(f"there is no file {path}.")
        return path


def make_driver(url: str, folder: Path) -> Driver:
    """Make the driver for a URL; ConfigError if the URL is invalid or a package is not installed."""
    for needed in REQUIRED_PACKAGES:
        # Only look for the package: importing it would slow down the start.
        if find_spec(needed) is None:
            raise ConfigError(f"{needed} is not installed: {format_extra_command('sql')}")
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed_url = make_url(url)
    except ArgumentError:
        raise ConfigError("this is not a database URL. Write one such as postgresql://reader@host/shop.") from None
    kind = parsed_url.drivername.partition("+")[0]
    if kind not in MODULE_BY_SCHEME:
        near = closest_match(kind, MODULE_BY_SCHEME)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(MODULE_BY_SCHEME)}."
        raise ConfigError(f"{kind} is not a supported database. {hint}")
    try:
        module = importlib.import_module(f"{__name__}.{MODULE_BY_SCHEME[kind]}")
    except ImportError as error:
        extra = "sql" if MODULE_BY_SCHEME[kind] == "sqlite" else MODULE_BY_SCHEME[kind]
        raise ConfigError(f"{error.name} is not installed: {format_extra_command(extra)}") from None
    driver: Driver = module.open_driver(DatabaseLocation(parsed_url, folder))
    return driver
