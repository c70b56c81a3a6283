"""A real MariaDB: questions, limits, and attacks with the guard left out."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings

from rightseat.plugins.sql import database
from rightseat.plugins.sql.database import Database, open_database
from rightseat.plugins.sql.guard import QueryRefused
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, SqlQuery
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.sql import attacks
from tests.unit.plugins.sql.mariadb_server import run_mariadb
from tests.unit.plugins.sql.quoting import guard_literals, quoted_queries

pytestmark = pytest.mark.peers
STATE = """SELECT (SELECT count(*) FROM shop.orders), (SELECT sum(total) FROM shop.orders),
    (SELECT count(*) FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'sys')),
    (SELECT count(*) FROM information_schema.columns WHERE table_schema = 'shop'),
    (SELECT count(*) FROM mysql.user), (SELECT count(*) FROM mysql.proc WHERE db = 'shop'),
    @@global.read_only, @@global.max_statement_time"""
BUSY = "SELECT count(*) FROM information_schema.processlist WHERE user = 'reader' AND command = 'Query'"
LONG = "SELECT count(*) FROM seq_1_to_100000 a, seq_1_to_100000 b WHERE a.seq * b.seq = 7"
CUSTOMERS = {"Ada", "Bo", "Chen"}


@pytest.fixture(scope="module")
def url(record_driven: Callable[[str, str], None]) -> Iterator[str]:
    with run_mariadb() as found:
        [version] = query_as_owner(found, "SELECT version()")
        record_driven("mariadb", str(version).partition("-")[0])
        yield found


def query_as_owner(url: str, sql: str) -> tuple[Any, ...]:
    with pymysql.connect(unix_socket=url.partition("=")[2], user="root") as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
        assert row is not None
        return tuple(row)


def open_shop_database(url: str, **limits: Any) -> Database:
    return open_database("shop", url, Path(), limits=QueryLimits(**{"seconds": HANG_TIMEOUT, **limits}))


@pytest.mark.demand("security.names_resolved_by_database")
async def test_no_name_trick_reads_a_table_that_is_not_allowed(url: str) -> None:
    shop = open_database("shop", url, Path(), limits=QueryLimits(seconds=HANG_TIMEOUT), tables=("orders",))
    read, answered = [], 0
    for sql in (*attacks.NAME_TRICKS, *(sql.replace('"', "`") for sql in attacks.NAME_TRICKS if '"' in sql)):
        try:
            answer = await database.run_query(shop, sql)
        except (QueryFailed, QueryRefused):
            continue
        answered += 1
        read += [sql for row in answer.rows.rows if CUSTOMERS & set(row)]
    assert read == []
    # Those that read no table but `orders` are answered: it is not the database that refuses everything.
    assert answered


async def test_the_tricks_read_the_table_where_it_is_allowed(url: str) -> None:
    read = []
    for sql in attacks.NAME_TRICKS:
        try:
            answer = await database.run_query(open_shop_database(url), sql)
        except (QueryFailed, QueryRefused):
            continue
        read += [sql] if any(CUSTOMERS & set(row) for row in answer.rows.rows) else []
    assert len(read) > 3


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_question_is_answered(url: str) -> None:
    sql = """SELECT c.name, sum(o.total) AS total, max(o.day) AS last FROM orders o
        JOIN customers c ON c.id = o.customer_id WHERE c.region = :region AND c.name LIKE '%a%'
        AND c.id IN (:ids) GROUP BY 1"""
    answer = await database.run_query(open_shop_database(url), sql, {"region": "north", "ids": [1, 3]})
    assert answer.rows.to_dicts() == [{"name": "Ada", "total": 30.5, "last": "2026-02-06"}]


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_schema_has_tables_and_keys(url: str) -> None:
    told = (await open_shop_database(url).schema()).describe("orders", 1000)
    assert "customer_id INTEGER" in told
    assert "total DECIMAL(10, 2)" in told


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_attacks_leave_nothing_behind(url: str) -> None:
    """The account may write and own tables here: it is the session that keeps it from that."""
    before = query_as_owner(url, STATE)
    found = open_shop_database(url, seconds=0.3)
    for sql in (*attacks.ANY_DIALECT, *attacks.MYSQL):
        try:
            await found.query(SqlQuery(sql))
        except QueryFailed:
            continue
    assert query_as_owner(url, STATE) == before


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_rows_are_limited(url: str) -> None:
    answer = await database.run_query(open_shop_database(url, rows=2), "SELECT id FROM orders ORDER BY id")
    assert (answer.rows.rows, answer.rows.truncated) == (((1,), (2,)), True)


@pytest.mark.demand("flows.sql_statement_kinds_functions")
async def test_long_query_is_ended(url: str) -> None:
    with pytest.raises(QueryFailed, match=r"longer than 0\.2 s|max_statement_time"):
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


async def test_nobody_there_is_said(tmp_path: Path) -> None:
    found = open_database("shop", "mysql://reader@127.0.0.1:9/shop", tmp_path)
    with pytest.raises(QueryFailed, match="connect"):
        await found.query(SqlQuery("SELECT 1"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(quoted_queries())
async def test_quotes_mean_the_same_to_the_guard_and_to_the_database(url: str, sql: str) -> None:
    if (found := guard_literals(sql, "mysql")) is None:
        return
    query, columns = found
    assert (await open_shop_database(url).query(query)).rows == (tuple(columns),)
