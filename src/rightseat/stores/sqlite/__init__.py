"""SQLiteStore: a store in one SQLite file of the data folder, which outlives the process."""

from rightseat.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
