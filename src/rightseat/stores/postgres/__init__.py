"""PostgresStore: a store in PostgreSQL for several machines. Needs the extra `rightseat[cluster]`.

- store: the async API. threads: threads, leases and entries. records: continuations, questions, results, checkpoints.
- writer: entries of all runs, in windows. lease_log: those of one run. windows: their rows.
- prepared: a statement that runs very often.
- retention: what is deleted, and when.
- statements: every statement. schema: tables and their versions. keys: names as PostgreSQL can hold them.
- row_security: rows that only statements of their owner see.
- refusals: which right an account lacks.
- database: connections. health: whether the database answers. presence: which processes are alive.
- clock: the server's time. transfer: rows from and to another store.
"""
