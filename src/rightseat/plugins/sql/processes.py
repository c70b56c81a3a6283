"""Child processes for queries that a model has written: warm, reused, and killed at their limits.

A function of a database may run for minutes without looking at a clock, and take memory that the database does not
count. SQLite and DuckDB stop most queries at their limit themselves; the others end with their process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import ChildDied
from rightseat.plugins.sql.child import QueryReply, max_reply_bytes
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery
from rightseat.tools.subprocess import Confinement, ToolProcesses

CHILD_MODULE = "rightseat.plugins.sql.child"
# Seconds in which a database may end its query itself.
GRACE_SECONDS = 0.5
# Threads of a query, each of which takes CPU time.
MAX_THREADS = 2
# Address space of Python and its libraries. DuckDB reserves gigabytes that it never uses: `child` watches its memory.
BASE_MEMORY = {"sqlite": 256 << 20, "duckdb": 16 << 30}


class ProcessLimits(Struct, frozen=True):
    seconds: float
    memory: int
    base_memory: int
    result_bytes: int


class QueryProcesses:
    """Calls one function of `child` in child processes."""

    def __init__(self, qualname: str, limits: ProcessLimits) -> None:
        self.memory = limits.memory
        self.is_closed = False
        confinement = Confinement(
            folder=str(Path(__file__).parent),
            memory=limits.memory + limits.base_memory,
            seconds=MAX_THREADS * (limits.seconds + GRACE_SECONDS),
        )
        self.processes = ToolProcesses(CHILD_MODULE, qualname, confinement, max_reply_bytes(limits.result_bytes) + 1024)

    async def call(self, args: dict[str, Any], seconds: float) -> QueryReply:
        """Call the function; QueryFailed if it takes too long or too much memory. Cancellation kills its process."""
        try:
            reply = await self.processes.call(args, seconds + GRACE_SECONDS)
        except TimeoutError:
            raise QueryFailed(f"It took longer than {seconds:g} s.") from None
        except ChildDied:
            raise QueryFailed("Its process ended: it needs more memory or time than a query may have.") from None
        except UnicodeEncodeError:
            raise QueryFailed("It has a character that is no Unicode text (a lone surrogate). Remove it.") from None
        finally:
            if self.is_closed:
                await self.processes.close()
        if reply.out_of_memory:
            raise QueryFailed(f"It needs more than {self.memory >> 20} MB of memory.")
        if reply.error:
            raise QueryFailed(reply.error)
        return msgspec.convert(reply.value, QueryReply)

    async def close(self) -> None:
        self.is_closed = True
        await self.processes.close()


class DatabaseProcesses:
    """Queries of one database file."""

    def __init__(self, dialect: str, file: Path, limits: QueryLimits) -> None:
        self.dialect = dialect
        self.file = file
        process_limits = ProcessLimits(limits.seconds, limits.memory, BASE_MEMORY[dialect], limits.bytes)
        self.processes = QueryProcesses("run_query", process_limits)

    async def query(self, query: SqlQuery, limits: QueryLimits) -> Rows:
        args = {
            "kind": self.dialect,
            "file": str(self.file),
            "text": query.text,
            "values": dict(query.values),
            "limits": msgspec.to_builtins(limits),
        }
        reply = await self.processes.call(args, limits.seconds)
        if reply.kind != "rows":
            raise QueryFailed(reply.text)
        return reply.rows

    async def close(self) -> None:
        await self.processes.close()
