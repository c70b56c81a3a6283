"""The Store that outlives the process: one SQLite file in the data folder."""

from rightseat.stores.sqlite.store import SQLite

__all__ = ["SQLite"]
