"""The same small shop in each database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from rightseat.plugins.sql.database import Database, open_database
from rightseat.plugins.sql.query import QueryLimits
from tests.kit.timeouts import HANG_TIMEOUT

TABLES = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, region VARCHAR(20))",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
       total DECIMAL(10, 2), day DATE)""",
)
ROWS = (
    "INSERT INTO customers VALUES (1, 'Ada', 'north'), (2, 'Bo', 'south'), (3, 'Chen', 'north')",
    """INSERT INTO orders VALUES (1, 1, 10.50, '2026-01-05'), (2, 1, 20.00, '2026-02-06'),
       (3, 2, 5.25, '2026-02-07'), (4, 3, 100.00, '2026-03-08')""",
)
opened_shops: list[Database] = []
"""Databases whose processes `close_shops` stops."""
SCRIPT = (*TABLES, *ROWS)
LIMITS = QueryLimits(rows=100, seconds=HANG_TIMEOUT)


def create_sqlite_shop(folder: Path) -> Path:
    file = folder / "shop.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(";".join(SCRIPT))
    return file


def create_duckdb_shop(folder: Path) -> Path:
    import duckdb

    file = folder / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as connection:
        for statement in (*SCRIPT, "CREATE SEQUENCE numbers"):
            connection.execute(statement)
    return file


def open_shop(kind: str, folder: Path, limits: QueryLimits = LIMITS, *, tables: tuple[str, ...] = ()) -> Database:
    file = create_sqlite_shop(folder) if kind == "sqlite" else create_duckdb_shop(folder)
    shop = open_database("shop", f"{kind}:///{file.name}", folder, limits=limits, tables=tables)
    opened_shops.append(shop)
    return shop
