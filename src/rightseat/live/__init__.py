"""Live planes: notifications and control messages between workers that share a store (types/live).

- memory: several workers in one process, for tests and as the reference of the contract.
- local: the workers of one machine, by Unix datagrams.
"""
