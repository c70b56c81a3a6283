"""Replicas on real engines: a PostgreSQL and a Valkey of the bench's own, and servers that use them."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import psycopg

from bench.peers import BenchPeer
from tests.kit import process
from tests.kit.postgres import PostgresServer, find_packaged_programs, find_system_programs, run_server
from tests.kit.valkey import ValkeyServer

MEMORY, SQLITE, SHARED, POSTGRES, VALKEY = "memory", "SQLite", "SQLite, 2 workers", "PostgreSQL", "PostgreSQL, Valkey"
PLANES = (MEMORY, SQLITE, SHARED, POSTGRES, VALKEY)
SIZES = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
WHERE nspname = %(schema)s AND relkind = 'r'"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %(name)s"
COMMIT_ROUNDS = 200


@dataclass(frozen=True)
class Engines:
    postgres: PostgresServer
    valkey: ValkeyServer
    folder: Path

    def make_peer(self, peer: BenchPeer, plane: str, name: str = "bench") -> BenchPeer:
        """Return the peer with a configuration of its own; `name` is that of its connections to PostgreSQL."""
        lines = ["[server]", "access_log = false", "max_runs = 100000", "[store]"]
        if plane in (POSTGRES, VALKEY):
            lines += ['kind = "postgres"', f'url = "{self.postgres.url}&application_name={name}"']
            lines += [f'schema = "{get_schema(plane)}"', "max_threads = 100000"]
        elif plane == MEMORY:
            lines += ['kind = "memory"']
        if plane == VALKEY:
            lines += ["[live]", f'url = "{self.valkey.url}"']
        file = self.folder / f"{name}.toml"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        more = ["--workers", "2"] if plane == SHARED else []

        def make_command(upstream: str) -> list[str]:
            command = list(peer.command(upstream))
            command[command.index("--config") + 1] = str(file)
            return [*command, *more]

        return replace(peer, command=make_command, start_timeout=120)

    def measure_cpu_seconds(self) -> float:
        """CPU of both engines, sessions that have ended included in PostgreSQL's parent."""
        pids = [engine.process.pid for engine in (self.postgres, self.valkey) if engine.process is not None]
        return sum(map(process.measure_cpu_seconds, pids))

    def connect(self) -> psycopg.Connection[tuple[int]]:
        return psycopg.connect(self.postgres.url, autocommit=True)

    def measure_storage(self, plane: str) -> tuple[int, int]:
        """Return rows of entries and bytes of all tables with their indexes, without the space of deleted rows, which
        the database uses again."""
        with self.connect() as connection:
            for name in ("threads", "entries", "runs", "kept"):
                table = psycopg.sql.Identifier(get_schema(plane), name)
                connection.execute(psycopg.sql.SQL("VACUUM FULL {}").format(table))
            table = psycopg.sql.Identifier(get_schema(plane), "entries")
            [(rows,)] = connection.execute(psycopg.sql.SQL("SELECT count(*) FROM {}").format(table)).fetchall()
            [(size,)] = connection.execute(SIZES, {"schema": get_schema(plane)}).fetchall()
        return rows, size

    def count_connections(self, name: str) -> int:
        with self.connect() as connection:
            [(count,)] = connection.execute(CONNECTIONS, {"name": name}).fetchall()
        return count

    def measure_commit(self) -> float:
        """Return ms of one commit that waits for this disk: the median of many."""
        waits = []
        with self.connect() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS bench_commit (number int)")
            for number in range(COMMIT_ROUNDS):
                begun = time.perf_counter()
                connection.execute("INSERT INTO bench_commit VALUES (%s)", (number,))
                waits.append((time.perf_counter() - begun) * 1000)
        return median(waits)


def get_schema(plane: str) -> str:
    return "bench_valkey" if plane == VALKEY else "bench_postgres"


@contextlib.contextmanager
def run_engines(folder: Path) -> Iterator[Engines | None]:
    """Run both engines, as they are used: every commit waits for the disk. None where there is no PostgreSQL."""
    programs = find_packaged_programs() or find_system_programs()
    if programs is None:
        yield None
        return
    with run_server(programs, fsync="on", shared_buffers="64MB") as postgres, ValkeyServer() as valkey:
        yield Engines(postgres, valkey, folder)
