"""SQLiteStore: a store in one SQLite file of the data folder, which outlives the process.

- store: the async API. threads: rows of threads, entries and leases.
- database: folder lock, migrations and the writer thread.
"""

from rightseat.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
