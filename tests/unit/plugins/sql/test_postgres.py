"""A real PostgreSQL: questions, limits, and attacks with the guard left out."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

from rightseat.plugins.sql import database
from rightseat.plugins.sql.database import Database, open_database
from rightseat.plugins.sql.guard import QueryRefused
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, SqlQuery
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.sql import attacks
from tests.unit.plugins.sql.postgres_server import run_postgres
from tests.unit.plugins.sql.quoting import guard_literals, quoted_queries

pytestmark = pytest.mark.peers
STATE = """SELECT (SELECT count(*) FROM orders), (SELECT sum(total) FROM orders),
    (SELECT last_value FROM numbers), (SELECT count(*) FROM pg_class WHERE relname IN ('stolen', 'p')),
    (SELECT count(*) FROM pg_largeobject_metadata),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
    (SELECT count(*) FROM pg_proc WHERE proname IN ('f', 'evil'))"""
BUSY = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'"
LONG = "SELECT count(*) FROM generate_series(1, 100000000000)"


@pytest.fixture(scope="module")
def url(record_driven: Callable[[str, str], None]) -> Iterator[str]:
    with run_postgres() as found:
        [version] = query_as_owner(found, "SHOW server_version")
        record_driven("postgresql", str(version).partition(" ")[0])
        yield found


def query_as_owner(url: str, sql: str) -> tuple[Any, ...]:
    with psycopg.connect(url.replace("reader@", "postgres@")) as connection:
        row = connection.execute(sql.encode()).fetchone()
        assert row is not None
        return tuple(row)


def open_shop_database(url: str, **limits: Any) -> Database:
    return open_database("shop", url, Path(), limits=QueryLimits(**{"seconds": HANG_TIMEOUT, **limits}))


@pytest.mark.demand("security.names_resolved_by_database")
async def test_no_name_trick_reads_a_table_that_is_not_allowed(url: str) -> None:
    shop = open_database("shop", url, Path(), limits=QueryLimits(seconds=HANG_TIMEOUT), tables=("orders",))
    read = []
    for sql in attacks.NAME_TRICKS:
        try:
            answer = await database.run_query(shop, sql)
        except (QueryFailed, QueryRefused):
            continue
        read += [sql for row in answer.rows.rows if {"Ada", "Bo", "Chen"} & set(row)]
    assert read == []


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_question_is_answered(url: str) -> None:
    sql = """SELECT c.name, sum(o.total) AS total, max(o.day) AS last FROM orders o
        JOIN customers c ON c.id = o.customer_id WHERE c.region = :region AND c.name LIKE '%a%'
        AND c.id IN (:ids) GROUP BY 1"""
    answer = await database.run_query(open_shop_database(url), sql, {"region": "north", "ids": [1, 3]})
    assert answer.rows.to_dicts() == [{"name": "Ada", "total": 30.5, "last": "2026-02-06"}]


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_schema_has_comments_keys_and_quotes(url: str) -> None:
    told = (await open_shop_database(url).schema()).describe("orders", 1000)
    assert "orders -- what people bought" in told
    assert "customer_id INTEGER → customers.id" in told
    assert "total NUMERIC(10, 2) -- in euros" in told
    assert 'stock."Items"' in told
    answer = await database.run_query(open_shop_database(url), 'SELECT "Unit price" FROM stock."Items"')
    assert answer.rows.rows == ((2.5,),)
    with pytest.raises(QueryRefused):
        await database.run_query(open_shop_database(url), "SELECT * FROM stock.Items")


@pytest.mark.demand("flows.sql_statement_kinds_functions", "flows.real_postgresql_sqlite_sql")
async def test_database_refuses_every_attack_itself(url: str) -> None:
    """The role may write and own tables here: it is the session that keeps it from that."""
    before = query_as_owner(url, STATE)
    found = open_shop_database(url, seconds=0.3)
    passed = []
    for sql in (*attacks.ANY_DIALECT, *attacks.POSTGRES):
        try:
            await found.query(SqlQuery(sql))
        except QueryFailed:
            continue
        passed.append(sql)
    assert passed == []
    assert query_as_owner(url, STATE) == before


@pytest.mark.demand("flows.real_postgresql_sqlite_sql")
async def test_what_only_the_guard_refuses_leaves_nothing_behind(url: str) -> None:
    before = query_as_owner(url, STATE)
    found = open_shop_database(url, seconds=0.3)
    for sql in attacks.POSTGRES_GUARD_ONLY:
        try:
            await found.query(SqlQuery(sql))
        except QueryFailed:
            continue
    assert query_as_owner(url, STATE) == before


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_rows_and_bytes_are_limited(url: str) -> None:
    answer = await database.run_query(open_shop_database(url, rows=2), "SELECT id FROM orders ORDER BY id")
    assert (answer.rows.rows, answer.rows.truncated) == (((1,), (2,)), True)
    found = open_shop_database(url, rows=100_000, bytes=1000)
    many = await found.query(SqlQuery("SELECT g FROM generate_series(1, 100000) g"))
    assert many.truncated
    assert len(many.rows) == 125


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_long_query_is_ended(url: str) -> None:
    with pytest.raises(QueryFailed, match=r"longer than 0\.2 s"):
        await open_shop_database(url, seconds=0.2).query(SqlQuery(LONG))


async def test_leaving_ends_the_query_in_the_database(url: str) -> None:
    found = open_shop_database(url, seconds=50.0)
    task = asyncio.create_task(found.query(SqlQuery(LONG)))
    await wait_until(lambda: query_as_owner(url, BUSY) == (1,))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: query_as_owner(url, BUSY) == (0,))
    await wait_until(lambda: found.threads.abandoned == 0)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT 1.10::numeric(5, 2)", 1.1),
        ("SELECT 12345678901234567890.123456", "12345678901234567890.123456"),
        ("SELECT 2::numeric", 2),
        ("SELECT timestamptz '2026-01-02 03:04:05+00' AT TIME ZONE 'UTC'", "2026-01-02T03:04:05"),
        ("SELECT 'NaN'::float8", None),
        ("SELECT '\\x4142'::bytea", "4142"),
        ("SELECT '{\"a\": [1]}'::jsonb", {"a": [1]}),
        ("SELECT ARRAY[1, 2]", [1, 2]),
        ("SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("SELECT interval '1 day'", "1 day"),
        ("SELECT date 'infinity'", "infinity"),
    ],
)
async def test_cells_are_plain(url: str, sql: str, value: Any) -> None:
    assert (await open_shop_database(url).query(SqlQuery(sql))).rows == ((value,),)


async def test_nobody_there_is_said(tmp_path: Path) -> None:
    found = open_database("shop", f"postgresql://reader@/postgres?host={tmp_path}", tmp_path)
    with pytest.raises(QueryFailed, match="connect"):
        await found.query(SqlQuery("SELECT 1"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(quoted_queries())
async def test_quotes_mean_the_same_to_the_guard_and_to_the_database(url: str, sql: str) -> None:
    if (found := guard_literals(sql, "postgres")) is None:
        return
    query, columns = found
    assert (await open_shop_database(url).query(query)).rows == (tuple(columns),)
