"""SQLiteStore: a store in one SQLite file of the data folder, which outlives the process.

- store: the async API. threads: rows of threads, entries and leases.
- database: folder lock, migrations, checksums of rows and the writer thread.
  totals: sums over the tables that every process sees alike.
- shared: SharedSQLiteStore, for several processes. presence: which of them are alive.
- repair: what is readable of a damaged file, in a new one. pages: raw pages of a file and its log.
- transfer: rows from and to another store.
"""

from rightseat.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
