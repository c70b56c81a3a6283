"""Stores: implementations of Store, CheckpointStore and ThreadStore.

- memory: MemoryStore, bounded and gone with the process.
- sqlite: SQLiteStore, one file in the data folder.
- postgres: PostgresStore, a database that several machines share.
- encoding: entries and records as JSON. transfer: all rows of one store, written to another.
- outage_log: what is logged of entries that wait for a store.
"""
