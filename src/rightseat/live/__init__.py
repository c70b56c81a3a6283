"""Live planes: notifications and control messages between workers that share a store (types/live).

- memory: several workers in one process, for tests and as the reference of the contract.
- local: the workers of one machine, by Unix datagrams.
- postgres: workers on many machines, by LISTEN and NOTIFY.
- remote: what the planes over a server have in common.
- valkey: workers on many machines, by Valkey or Redis.
- valkey_server: address of a Valkey server, and a connection to it.
"""
