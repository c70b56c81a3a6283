"""Check the thread store: readable, writable, version, size."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from rightseat.config.settings import Config
from rightseat.doctor.line import CheckResult, broken, good
from rightseat.stores.sqlite.schema import MIGRATIONS
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.wiring.keeping import SQLITE, data_folder, describe_store_location

OTHER_FOLDER_FIX = "name another folder in [store] path or RIGHTSEAT_DATA, or make room there"
MOVE_FILE_FIX = "move the file away: a new one is made; or put back the copy beside it that ends with .bak"


def check_store(config: Config) -> CheckResult:
    if config.store.kind != SQLITE:
        return good("store", describe_store_location(config))
    folder = data_folder(config)
    if problem := find_write_problem(folder):
        return broken("store", f"{folder} cannot be written: {problem}", OTHER_FOLDER_FIX)
    file = folder / DATABASE_FILE
    if not file.is_file():
        return good("store", f"{folder}: nothing is kept there yet")
    try:
        version, threads = read_version_and_count(file)
    except sqlite3.Error as error:
        return broken("store", f"{file} cannot be read: {error}", MOVE_FILE_FIX)
    if version > len(MIGRATIONS):
        newer = (
            f"{file} was written by a newer rightseat: version {version}, this one knows {len(MIGRATIONS)}"
        )
        return broken("store", newer, "use that one, or name another folder in [store] path")
    older = (
        f" (serve brings it to {len(MIGRATIONS)}, and copies it before)" if version < len(MIGRATIONS) else ""
    )
    size = sum(one.stat().st_size for one in folder.glob(f"{DATABASE_FILE}*")) / 1e6
    return good("store", f"{folder}: {threads} threads, {size:.1f} MB, version {version}{older}")


def find_write_problem(folder: Path) -> str | None:
    """Return why the folder, or its nearest existing parent, is not writable; None if it is."""
    existing = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def read_version_and_count(file: Path) -> tuple[int, int]:
    """Return the schema version and the number of threads; opens read-only, since a server may use it."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            return 0, 0
        (threads,) = database.execute("SELECT COUNT(*) FROM threads").fetchone()
        return version, threads
