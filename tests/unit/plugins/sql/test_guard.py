"""The guard alone: attacks are refused, ordinary questions pass, and what is sent is written anew."""

import logging
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.sql.guard import QueryRefused, QueryRules, guard_query
from tests.kit.cases import each_case
from tests.unit.plugins.sql import attacks
from tests.unit.plugins.sql.quoting import guard_literals, quoted_queries

TABLES = frozenset({"customers", "orders"})
CORPUS = {
    "sqlite": (*attacks.ANY_DIALECT, *attacks.SQLITE, *attacks.SQLITE_GUARD_ONLY),
    "duckdb": (*attacks.ANY_DIALECT, *attacks.DUCKDB, *attacks.DUCKDB_GUARD_ONLY),
    "postgres": (*attacks.ANY_DIALECT, *attacks.POSTGRES, *attacks.POSTGRES_GUARD_ONLY),
    "mysql": (*attacks.ANY_DIALECT, *attacks.MYSQL),
}
ORDINARY = (
    "SELECT * FROM orders",
    "SELECT name, count(*) AS n FROM customers GROUP BY name HAVING count(*) > 1 ORDER BY n DESC LIMIT 5",
    "SELECT c.name, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.name",
    "SELECT * FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
    "SELECT CASE WHEN total > 10 THEN 'much' ELSE 'little' END AS how, avg(total) FROM orders GROUP BY 1",
    "WITH big AS (SELECT * FROM orders WHERE total > 10) SELECT count(*) FROM big",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a) SELECT * FROM b UNION ALL SELECT id FROM orders",
    "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total BETWEEN 1 AND 9)",
    "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
    "SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY day DESC) AS n FROM orders",
    "SELECT id, lag(total) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders",
    "SELECT coalesce(region, 'none'), lower(name), upper(name), length(name), round(1.5) FROM customers",
    "SELECT DISTINCT region FROM customers WHERE name LIKE '%a%' AND NOT region IS NULL",
    "SELECT min(day), max(day), cast(total AS INTEGER) FROM orders GROUP BY total",
    "SELECT 'it''s; DROP TABLE orders' AS text, 1 AS \"a column\"",
    "SELECT 1 /* a word */ -- and another",
    "(SELECT id FROM orders) UNION (SELECT id FROM customers)",
)
DIALECT_QUERIES = {
    "sqlite": (
        "SELECT strftime('%Y-%m', day) AS month, total(total) FROM orders GROUP BY 1",
        "SELECT date('now', '-1 day'), julianday(day), ifnull(total, 0), group_concat(id) FROM orders",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) SELECT x FROM n",
    ),
    "duckdb": (
        "SELECT date_trunc('month', day), strftime(day, '%Y'), median(total) FROM orders GROUP BY 1, 2",
        "SELECT * EXCLUDE (region) FROM customers QUALIFY row_number() OVER (ORDER BY id) = 1",
    ),
    "postgres": (
        "SELECT date_trunc('month', day), to_char(day, 'YYYY'), extract(year FROM day) FROM orders",
        "SELECT id FROM orders WHERE day > now() - interval '30 days'",
        "SELECT string_agg(name, ', ' ORDER BY name) FROM customers WHERE name ~ 'x' FETCH FIRST 3 ROWS ONLY",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM customers",
        "SELECT round(avg(total)::numeric, 2), count(*) FILTER (WHERE total > 1) FROM orders",
        "SELECT * FROM customers c, LATERAL (SELECT max(total) FROM orders o WHERE o.customer_id = c.id) m",
        "SELECT DISTINCT ON (region) region, name FROM customers ORDER BY region, name",
    ),
    "mysql": (
        "SELECT date_format(day, '%Y-%m'), datediff(now(), day), ifnull(total, 0) FROM orders LIMIT 5, 10",
        "SELECT group_concat(name SEPARATOR ', '), concat(name, '!') FROM customers WHERE name REGEXP 'a'",
    ),
}


def make_rules(dialect: str, **given: Any) -> QueryRules:
    return QueryRules(dialect=dialect, tables=TABLES, **given)


@pytest.mark.demand("flows.sql_statement_kinds_functions", "flows.real_postgresql_sqlite_sql")
@each_case(("dialect", "sql"), [(name, sql) for name, all_ in CORPUS.items() for sql in all_])
def test_attack_is_refused(dialect: str, sql: str) -> None:
    with pytest.raises(QueryRefused):
        guard_query(sql, make_rules(dialect))


@pytest.mark.demand("flows.sql_statement_kinds_functions")
@each_case(("dialect", "sql"), [(name, sql) for name, own in DIALECT_QUERIES.items() for sql in (*ORDINARY, *own)])
def test_ordinary_question_passes_and_comes_out_the_same(dialect: str, sql: str) -> None:
    made = guard_query(sql, make_rules(dialect))
    assert guard_query(made.text, make_rules(dialect)).text == made.text
    assert "--" not in made.text
    assert "/*" not in made.text


@pytest.mark.demand("flows.real_postgresql_sqlite_sql")
def test_corpus_is_large() -> None:
    assert sum(map(len, CORPUS.values())) > 300


@pytest.mark.demand("flows.sql_statement_kinds_functions")
@each_case(
    ("sql", "limit"),
    [
        ("SELECT id FROM orders", "LIMIT 11"),
        ("SELECT id FROM orders LIMIT 3", "LIMIT 3"),
        ("SELECT id FROM orders LIMIT 1000000", "LIMIT 11"),
        ("SELECT id FROM orders LIMIT 3 OFFSET 2", "LIMIT 3 OFFSET 2"),
        ("SELECT id FROM orders UNION SELECT id FROM customers", "LIMIT 11"),
        ("SELECT id FROM orders FETCH FIRST 99 ROWS ONLY", "LIMIT 11"),
    ],
)
def test_no_more_rows_are_asked_for_than_fit(sql: str, limit: str) -> None:
    assert guard_query(sql, make_rules("postgres", rows=10)).text.endswith(limit)


@pytest.mark.parametrize("sql", ["SELECT 1 LIMIT 1 + 1", "SELECT 1 LIMIT ALL", "SELECT 1 LIMIT -1"])
def test_limit_that_is_no_number_is_refused(sql: str) -> None:
    with pytest.raises(QueryRefused):
        guard_query(sql, make_rules("postgres"))


@pytest.mark.parametrize("dialect", CORPUS)
def test_names_become_values_but_not_in_texts(dialect: str) -> None:
    sql = "SELECT id FROM orders WHERE id = :id AND day IN (:days) AND 'a :id' <> :other_thing LIMIT :most"
    values = {"id": 7, "days": ["a", "b"], "other_thing": "x'; --", "most": 2}
    made = guard_query(sql, make_rules(dialect), values)
    assert list(made.values.values()) == [7, "a", "b", "x'; --"]
    shown = made.with_placeholders("<{}>")
    for name in made.values:
        assert shown.count(f"<{name}>") == 1
    assert "'a :id'" in shown
    assert shown.endswith("LIMIT 2")


def test_empty_list_matches_nothing() -> None:
    made = guard_query("SELECT id FROM orders WHERE id IN (:ids)", make_rules("sqlite"), {"ids": []})
    assert "IN (NULL)" in made.text


def test_percent_signs_survive_a_driver_that_reads_them() -> None:
    made = guard_query("SELECT id FROM orders WHERE day LIKE '%x' AND id = :id", make_rules("postgres"), {"id": 1})
    assert "'%%x'" in made.with_placeholders("%({})s", percent=True)
    alone = guard_query("SELECT id FROM orders WHERE day LIKE '%x'", make_rules("postgres"))
    assert "'%x'" in alone.with_placeholders("%({})s", percent=True)


def test_operator_may_allow_a_function() -> None:
    sql = "SELECT generate_series(1, 3)"
    with pytest.raises(QueryRefused, match="generate_series"):
        guard_query(sql, make_rules("postgres"))
    assert guard_query(sql, make_rules("postgres", functions={"generate_series"})).text
    with pytest.raises(QueryRefused, match="mine"):
        guard_query("SELECT mine(1)", make_rules("postgres"))
    assert guard_query("SELECT mine(1)", make_rules("postgres", functions={"mine"})).text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + " + ".join(["1"] * 4000),
        "SELECT " + "x" * 30_000,
        "SELECT " + "CASE WHEN 1 THEN " * 900,
    ],
)
def test_huge_and_deep_queries_are_refused(sql: str) -> None:
    with pytest.raises(QueryRefused):
        guard_query(sql, make_rules("postgres"))


def test_strangers_statements_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="rightseat"), pytest.raises(QueryRefused):
        guard_query("EXPLAIN ANALYZE DELETE FROM orders", make_rules("postgres"))
    assert caplog.records == []


@pytest.mark.demand("flows.sql_statement_kinds_functions")
@given(st.sampled_from(sorted(CORPUS)), st.text(max_size=60), st.data())
def test_any_text_is_read_or_refused(dialect: str, noise: str, data: st.DataObject) -> None:
    """Whatever is put into an ordinary query, nothing but a refusal is raised."""
    sql = data.draw(st.sampled_from(ORDINARY))
    place = data.draw(st.integers(0, len(sql)))
    try:
        made = guard_query(sql[:place] + noise + sql[place:], make_rules(dialect))
    except QueryRefused:
        return
    assert made.text.startswith(("SELECT", "WITH", "("))


@given(quoted_queries())
def test_quotes_mean_the_same_to_the_guard_and_to_sqlite(sql: str) -> None:
    if (found := guard_literals(sql, "sqlite")) is None:
        return
    query, columns = found
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute(query.text).fetchall() == [tuple(columns)]


@given(quoted_queries())
def test_quotes_mean_the_same_to_the_guard_and_to_duckdb(sql: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    if (found := guard_literals(sql, "duckdb")) is None:
        return
    query, columns = found
    with closing(duckdb.connect()) as connection:
        assert connection.execute(query.text).fetchall() == [tuple(columns)]
