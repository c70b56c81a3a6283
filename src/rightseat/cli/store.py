"""`rightseat store`: check, repair, backup, restore of the SQLite file in the data folder; migrate and protect of the
tables in PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.server.terminal_progress import show_spinner
from rightseat.stores.sqlite.database import FolderLock, check_file
from rightseat.stores.sqlite.repair import copy_database, find_file_damage, install_backup, repair_file
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.wiring.storage import POSTGRES, SQLITE, data_folder, read_database_url

if TYPE_CHECKING:
    import psycopg

NOT_IN_BACKUP = (
    "What was answered and what ran since the backup was made is not in it: open questions of the backup are left out, "
    "and a request that was sent since runs again when it is sent again."
)


def find_database(config: Path | None) -> Path:
    """Return the store's file of the configuration, which may not be there yet."""
    settings = load_config(config)
    if settings.store.kind != SQLITE:
        raise ConfigError(f"[store] kind is {settings.store.kind}: only a store of kind sqlite has a file.")
    return data_folder(settings) / DATABASE_FILE


def find_existing_database(config: Path | None) -> Path:
    path = find_database(config)
    if not path.is_file():
        raise ConfigError(f"There is no store yet: {path} does not exist. The server creates it when it starts.")
    return path


def check_store(config: Path | None) -> int:
    """Print whether the store is damaged; returns 1 if it is."""
    path = find_existing_database(config)
    problem = find_problem(path)
    if problem:
        typer.echo(f"{path} is damaged: {problem}.")
        typer.echo("Stop the server, then run: rightseat store repair")
        return 1
    typer.echo(f"{path} is intact ({path.stat().st_size / 1e6:.1f} MB).")
    return 0


def find_problem(path: Path) -> str:
    """Return what is damaged in the file; raises ConfigError if that cannot be found out."""
    try:
        with show_spinner(f"Checking {path.name}"):
            return check_file(path, whole=True)
    except sqlite3.Error as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def repair_store(config: Path | None) -> None:
    path = find_existing_database(config)
    with closing(FolderLock(path.parent)):
        with show_spinner(f"Checking {path.name}"):
            problem = find_file_damage(path, whole=True)
        if not problem:
            typer.echo(f"{path} is intact: nothing to repair.")
            return
        with show_spinner(f"Repairing {path.name}"):
            report = repair_file(path, problem)
    for line in report.lines():
        typer.echo(line)


def back_up_store(file: Path, config: Path | None, *, force: bool) -> None:
    path = find_existing_database(config)
    if file.is_dir():
        raise ConfigError(f"{file} is a folder. Name a file in it, such as {file / 'rightseat.backup'}.")
    if file.exists() and (not file.is_file() or file.resolve() == path.resolve()):
        raise ConfigError(f"{file} cannot be written over. Name another file.")
    if file.exists() and not force:
        raise ConfigError(f"{file} exists. Name another file, or replace it with --force.")
    with show_spinner(f"Copying {path.name}"):
        copy_database(path, file)
    typer.echo(f"Wrote {file} ({file.stat().st_size / 1e6:.1f} MB). Bring it back with: rightseat store restore {file}")


def restore_store(file: Path, config: Path | None, *, force: bool) -> None:
    path = find_database(config)
    if not file.is_file():
        raise ConfigError(f"{file} does not exist. Check the path.")
    if problem := find_problem(file):
        raise ConfigError(f"{file} is damaged: {problem}. Nothing was changed. Take another backup.")
    with closing(FolderLock(path.parent)):
        if path.exists() and not force:
            typer.echo(f"{path} is replaced by {file}; the present one is kept beside it. {NOT_IN_BACKUP}")
            typer.confirm("Go on?", abort=True)
        with show_spinner(f"Restoring {path.name}"):
            aside = install_backup(file, path)
    typer.echo(f"Restored {path} from {file}. {NOT_IN_BACKUP}")
    if aside is not None:
        typer.echo(f"What was there before is kept as {aside}.")


@contextmanager
def connect_store(config: Config) -> Iterator[psycopg.Connection[Any]]:
    """Connect to the database of a store of kind `postgres`, whose schema has a valid name."""
    url = read_database_url(config)
    # Imported here: they need an extra.
    from rightseat.stores.postgres.database import connect
    from rightseat.stores.postgres.refusals import explain_refusals
    from rightseat.stores.postgres.schema import check_schema_name

    schema = check_schema_name(config.store.schema)
    with closing(connect(url)) as connection, explain_refusals(connection, schema):
        yield connection


def migrate_store(config: Path | None) -> None:
    """Bring the tables in PostgreSQL to this version and print what was done."""
    loaded = load_config(config)
    schema = loaded.store.schema
    if loaded.store.kind != POSTGRES:
        raise ConfigError(f"[store] kind is {loaded.store.kind}: its file is migrated when the server starts.")
    with connect_store(loaded) as connection:
        # Imported here: it needs an extra.
        from rightseat.stores.postgres.schema import migrate

        before, after = migrate(connection, schema)
    if before == after:
        typer.echo(f"The tables in {schema} have version {after}: nothing to migrate.")
    else:
        typer.echo(f"Migrated the tables in {schema} from version {before} to {after}.")


def protect_store(config: Path | None, *, is_off: bool) -> None:
    """Switch row security of the tables in PostgreSQL on or off and print what was done."""
    loaded = load_config(config)
    schema, kind = loaded.store.schema, loaded.store.kind
    if kind != POSTGRES:
        raise ConfigError(f"[store] kind is {kind}: only the tables of kind {POSTGRES} can have row security.")
    if not is_off and not loaded.store.row_security:
        raise ConfigError(
            "[store] row_security is not set: servers with this file would see no rows. Write row_security = true, "
            "restart every server, and run this again."
        )
    with connect_store(loaded) as connection:
        # Imported here: it needs an extra.
        from rightseat.stores.postgres.row_security import find_bypassing_account, protect_tables

        has_changed = protect_tables(connection, schema, protect=not is_off)
        account = find_bypassing_account(connection)
    state = "no row security" if is_off else "row security"
    typer.echo(f"The tables in {schema} {'now ' if has_changed else ''}have {state}.")
    if account and not is_off:
        typer.echo(
            f"It does not hold for {account}, who may bypass it: give the servers a plain account in [store] url."
        )
