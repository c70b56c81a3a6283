"""[databases] → what `sql` steps ask. One that cannot be opened is left out; the others are not to blame."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rightseat.config.settings import Config, DatabaseSettings
from rightseat.errors import ConfigError

if TYPE_CHECKING:
    from rightseat.plugins.sql.database import Database

log = logging.getLogger(__name__)
MB = 1 << 20


def databases(config: Config) -> dict[str, Database]:
    made = {}
    for name, settings in config.databases.items():
        try:
            made[name] = database(name, settings, config)
        except ConfigError as error:
            log.error("Database %s is left out: %s", name, error.message)
    return made


def database(name: str, settings: DatabaseSettings, config: Config) -> Database:
    """Nothing is asked yet; ConfigError when its URL leads nowhere, or something is not installed."""
    from rightseat.plugins.sql.database import database
    from rightseat.plugins.sql.query import Limits

    return database(
        name,
        settings.url.reveal(),
        config.folder,
        description=settings.description,
        limits=Limits(rows=settings.max_rows, bytes=settings.max_mb * MB, seconds=settings.timeout),
        tables=settings.tables,
        functions=settings.functions,
        plugins=settings.plugins,
    )
