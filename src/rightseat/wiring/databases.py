"""Databases from [databases], for `sql` steps. One that cannot be opened is left out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rightseat.config.settings import Config, DatabaseSettings
from rightseat.errors import ConfigError

if TYPE_CHECKING:
    from rightseat.plugins.sql.database import Database

log = logging.getLogger(__name__)
MB = 1 << 20


def open_databases(config: Config) -> dict[str, Database]:
    opened = {}
    for name, settings in config.databases.items():
        try:
            opened[name] = open_configured_database(name, settings, config)
        except ConfigError as error:
            log.error("Database %s is left out: %s", name, error.message)
    return opened


def open_configured_database(name: str, settings: DatabaseSettings, config: Config) -> Database:
    """Make a database without connecting; ConfigError if its URL is invalid or a package is missing."""
    from rightseat.plugins.sql.database import open_database
    from rightseat.plugins.sql.query import QueryLimits

    return open_database(
        name,
        settings.url.reveal(),
        config.folder,
        description=settings.description,
        limits=QueryLimits(rows=settings.max_rows, bytes=settings.max_mb * MB, seconds=settings.timeout),
        tables=settings.tables,
        functions=settings.functions,
        plugins=settings.plugins,
    )
