"""SQLite and DuckDB, really asked. With the guard left out the database itself refuses."""

import asyncio
import hashlib
import os
import sys
import time
from pathlib import Path

import pytest

from rightseat.errors import ConfigError
from rightseat.plugins.sql import database, drivers
from rightseat.plugins.sql.database import Database, open_database
from rightseat.plugins.sql.guard import QueryRefused
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, SqlQuery
from tests.kit.process import list_tree
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.sql import attacks
from tests.unit.plugins.sql.shops import open_shop

pytestmark = [pytest.mark.io, pytest.mark.usefixtures("close_shops")]

KINDS = ("sqlite", "duckdb")
DIALECT_ATTACKS = {"sqlite": attacks.SQLITE, "duckdb": attacks.DUCKDB}
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
    return str(request.param)


@pytest.fixture
def shop_database(kind: str, tmp_path: Path) -> Database:
    return open_shop(kind, tmp_path)


def hash_files(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


@pytest.mark.demand("flows.real_postgresql_sqlite_sql")
@pytest.mark.slow
async def test_database_refuses_every_attack_itself(shop_database: Database, kind: str, tmp_path: Path) -> None:
    before = hash_files(tmp_path)
    passed = []
    for sql in (*attacks.ANY_DIALECT, *DIALECT_ATTACKS[kind]):
        try:
            await shop_database.query(SqlQuery(sql.replace("{folder}", str(tmp_path))))
        except QueryFailed:
            continue
        passed.append(sql)
    assert passed == []
    assert hash_files(tmp_path) == before


@pytest.mark.demand("security.names_resolved_by_database")
async def test_no_name_trick_reads_a_table_that_is_not_allowed(kind: str, tmp_path: Path) -> None:
    shop = open_shop(kind, tmp_path, tables=("orders",))
    read = []
    for sql in attacks.NAME_TRICKS:
        try:
            answer = await database.run_query(shop, sql)
        except (QueryFailed, QueryRefused):
            continue
        read += [sql for row in answer.rows.rows if {"Ada", "Bo", "Chen"} & set(row)]
    assert read == []


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("WITH customers AS (SELECT total FROM orders WHERE id = 3) SELECT customers.total FROM customers", [5.25]),
        ("WITH orders AS (SELECT total FROM orders WHERE id = 3) SELECT o.total FROM orders AS o", [5.25]),
        ("WITH a(x) AS (SELECT 1), b AS (SELECT a.x + 1 AS y FROM a) SELECT b.y FROM a JOIN b ON a.x < b.y", [2]),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT n.x + 1 FROM n WHERE n.x < 3) SELECT max(x) FROM n", [3]),
        ("WITH a AS (WITH a AS (SELECT 7 AS x) SELECT x FROM a) SELECT a.x FROM a", [7]),
    ],
)
async def test_names_of_with_keep_working(shop_database: Database, sql: str, rows: list[float]) -> None:
    answer = await database.run_query(shop_database, sql)
    assert [float(value) for (value,) in answer.rows.rows] == rows


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_question_is_answered(shop_database: Database) -> None:
    sql = """SELECT c.name, sum(o.total) AS total, max(o.day) AS last FROM orders o
             JOIN customers c ON c.id = o.customer_id WHERE c.region = :region GROUP BY c.name ORDER BY 2"""
    answer = await database.run_query(shop_database, sql, {"region": "north"})
    assert answer.rows.to_dicts() == [
        {"name": "Ada", "total": 30.5, "last": "2026-02-06"},
        {"name": "Chen", "total": 100, "last": "2026-03-08"},
    ]
    assert not answer.rows.truncated


async def test_value_is_never_part_of_the_query(shop_database: Database) -> None:
    sql = "SELECT name FROM customers WHERE name = :name"
    answer = await database.run_query(shop_database, sql, {"name": "x' OR '1'='1"})
    assert answer.rows.rows == ()


async def test_columns_of_the_same_name_are_told_apart(shop_database: Database) -> None:
    answer = await database.run_query(
        shop_database, "SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id LIMIT 1"
    )
    assert answer.rows.columns == ("id", "customer_id", "total", "day", "id_2", "name", "region")


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_rows_and_bytes_are_limited(kind: str, tmp_path: Path) -> None:
    few = open_shop(kind, tmp_path, QueryLimits(rows=2))
    answer = await database.run_query(few, "SELECT id FROM orders ORDER BY id")
    assert (answer.rows.rows, answer.rows.truncated) == (((1,), (2,)), True)
    exact = await database.run_query(few, "SELECT id FROM orders ORDER BY id LIMIT 2")
    assert not exact.rows.truncated
    few.limits = QueryLimits(bytes=30)
    answer = await database.run_query(few, "SELECT id FROM orders ORDER BY id")
    assert (len(answer.rows.rows), answer.rows.truncated) == (3, True)


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_endless_query_is_ended(kind: str, tmp_path: Path) -> None:
    found = open_shop(kind, tmp_path, QueryLimits(seconds=0.2))
    started = time.monotonic()
    with pytest.raises(QueryFailed, match=r"longer than 0\.2 s"):
        await database.run_query(found, ENDLESS)
    assert time.monotonic() - started < HANG_TIMEOUT


async def test_leaving_ends_the_query(kind: str, tmp_path: Path) -> None:
    found = open_shop(kind, tmp_path, QueryLimits(seconds=10 * HANG_TIMEOUT))
    before = set(list_tree(os.getpid()))
    task = asyncio.create_task(found.query(SqlQuery(ENDLESS)))
    await asyncio.sleep(0)
    # Wherever it is by now: opening its session, or in the midst of the query.
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: set(list_tree(os.getpid())) <= before)


async def test_unknown_column_is_the_databases_word(shop_database: Database) -> None:
    with pytest.raises(QueryFailed, match="colour"):
        await database.run_query(shop_database, "SELECT colour FROM orders")


async def test_only_the_tables_that_the_operator_lists(kind: str, tmp_path: Path) -> None:
    open_shop(kind, tmp_path)
    name = "shop.db" if kind == "sqlite" else "shop.duckdb"
    narrow = open_database("shop", f"{kind}:///{name}", tmp_path, tables=("customers",))
    assert "orders" not in (await narrow.schema()).describe("orders", 1000)
    with pytest.raises(QueryRefused):
        await database.run_query(narrow, "SELECT * FROM orders")


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("sqlite:///nowhere.db", "no file"),
        ("sqlite://", "in memory"),
        ("oracle://x/y", "oracle is not a supported"),
        ("postgre://x/y", "Did you mean postgres"),
        ("shop.db", "not a database URL"),
    ],
)
def test_url_that_leads_nowhere_is_said(url: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=word):
        open_database("shop", url, tmp_path)


def test_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rightseat.plugins.sql.drivers.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r".*rightseat\[postgres\]"):
        open_database("shop", "postgresql://h/shop", tmp_path)
    monkeypatch.setattr(drivers, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"sqlalchemy is not installed: .*rightseat\[sql\]"):
        open_database("shop", "sqlite:///shop.db", tmp_path)


async def test_a_value_that_cannot_be_sent_is_a_failed_query(shop_database: Database) -> None:
    with pytest.raises(QueryFailed, match="no Unicode text"):
        await shop_database.query(SqlQuery("SELECT mark", {"mark": "\ud800"}))


@pytest.mark.demand("security.sql_in_killable_child")
async def test_a_query_that_ends_after_its_database_is_closed_leaves_no_process(kind: str, tmp_path: Path) -> None:
    shop = open_shop(kind, tmp_path)
    before = set(list_tree(os.getpid()))
    task = asyncio.create_task(shop.query(SqlQuery("SELECT count(*) FROM orders")))
    await wait_until(lambda: set(list_tree(os.getpid())) - before)
    await shop.close()
    assert (await task).rows == ((4,),)
    assert set(list_tree(os.getpid())) <= before
