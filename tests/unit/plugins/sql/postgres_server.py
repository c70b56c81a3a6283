"""A real PostgreSQL of the tests' own, with a shop in it."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.kit.postgres import find_system_programs, run_server
from tests.peers.install import SystemProgram
from tests.peers.prerequisites import require
from tests.unit.plugins.sql.shops import SCRIPT

SETUP_STATEMENTS = (
    "CREATE SEQUENCE numbers",
    "CREATE SCHEMA stock",
    'CREATE TABLE stock."Items" (id INTEGER PRIMARY KEY, "Unit price" NUMERIC)',
    'INSERT INTO stock."Items" VALUES (1, 2.5)',
    "COMMENT ON TABLE orders IS 'what people bought'",
    "COMMENT ON COLUMN orders.total IS 'in euros'",
    "CREATE ROLE reader LOGIN",
    "GRANT USAGE ON SCHEMA stock TO reader",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public, stock TO reader",
    # More than the documentation advises: what is refused is then refused for being a write.
    "GRANT ALL ON ALL TABLES IN SCHEMA public TO reader",
    "GRANT ALL ON SEQUENCE numbers TO reader",
    "GRANT CREATE ON SCHEMA public TO reader",
)
POSTGRES = SystemProgram("PostgreSQL", ("postgresql",), find_system_programs)


@contextmanager
def run_postgres() -> Iterator[str]:
    """Its URL, for a role that may write to the shop; the guard and the session must keep it from that."""
    with run_server(require(POSTGRES), max_connections="20") as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for statement in (*SCRIPT, *SETUP_STATEMENTS):
                connection.execute(statement)
        yield server.url.replace("postgres@", "reader@")
