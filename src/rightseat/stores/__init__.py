"""Stores: implementations of Store, CheckpointStore and ThreadStore.

- memory: MemoryStore, bounded and gone with the process.
- sqlite: SQLiteStore, one file in the data folder.
"""
