"""`table_query`: tables in many forms, typed columns, and queries that only read, within limits."""

import contextlib
import time
from typing import Any

import pytest

import rightseat
from rightseat.plugins.sql import table_query as module
from rightseat.plugins.sql.guard import QueryRefused
from rightseat.plugins.sql.query import QueryFailed
from rightseat.plugins.sql.table_query import format_rows, query_table
from rightseat.tools.builtin.table_text import MAX_TEXT, TableUnreadable, infer_columns, name_columns, read_table
from tests.kit.cases import each_case
from tests.unit.tools.test_function import call_tool

MARKDOWN = """\
| fruit | sold | price |
|---|---:|---|
| apples | 1,034 | $3.50 |
| pears | 51 | $0.10 |
| plums | - | $0.20 |"""


@each_case(
    ("table", "columns"),
    [
        (MARKDOWN, [("fruit", "TEXT"), ("sold", "INTEGER"), ("price", "REAL")]),
        ("a,b\n1,2\n3,4", [("a", "INTEGER"), ("b", "INTEGER")]),
        ("a\tb\n1\t\n2\t3", [("a", "INTEGER"), ("b", "INTEGER")]),
        ("a;b\n1,50;x\n2,75;y", [("a", "REAL"), ("b", "TEXT")]),
        ('a,b\n"x\ny",2\n"z, w",4', [("a", "TEXT"), ("b", "INTEGER")]),
        ("name  n\n----  -\nx     1\ny     2", [("name", "TEXT"), ("n", "INTEGER")]),
        ("+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+", [("a", "INTEGER"), ("b", "INTEGER")]),
        ('[{"a": 1, "b": "x"}, {"a": 2.5}]', [("a", "REAL"), ("b", "TEXT")]),
        ('[["a", "b"], [1, 2]]', [("a", "INTEGER"), ("b", "INTEGER")]),
        ("Apples: 3 kg\nPears: 4 kg", [("item", "TEXT"), ("value", "INTEGER")]),
        ("d,x\n13/02/2024,17%\n01/03/2024,5%", [("d", "DATE"), ("x", "INTEGER")]),
        ("d,x\n01/02/2024,21 °C\n03/04/2024,(5) °C", [("d", "TEXT"), ("x", "TEXT")]),
        ("城市,人口\n北京,2189万\n上海,2487万", [("城市", "TEXT"), ("人口", "INTEGER")]),
        (
            "code,x,x,\n007,1 kg,2 m,\n010,2 lb,3 m,",
            [("code", "TEXT"), ("x", "TEXT"), ("x_2", "INTEGER"), ("column4", "TEXT")],
        ),
    ],
)
def test_columns_are_named_and_typed(table: str, columns: list[tuple[str, str]]) -> None:
    assert [(column.name, column.kind) for column in infer_columns(read_table(table))] == columns


@each_case(
    ("table", "said"),
    [
        ("hello", "no table in the text"),
        ("", "no table in the text"),
        ("[1, 2", "no table in the text"),
        ("a,b\n1,2\n3,4,5\n6,7", "'3,4,5' has not 2 cells"),
        ("a,b\n" + "1,2\n" * 60_000, "longer than 200000"),
        ("a,b\n" + "1,2\n" * 26_000, "50000 cells"),
        (",".join("abc" for _ in range(101)) + "\n" + ",".join("1" * 101), "100 columns"),
    ],
)
def test_what_is_no_table_says_what_to_send(table: str, said: str) -> None:
    with pytest.raises(TableUnreadable, match=said):
        read_table(table)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT fruit FROM t WHERE sold = (SELECT MAX(sold) FROM t)", [("apples",)]),
        ("SELECT SUM(price) AS s FROM t", [("3.8",)]),
        ("SELECT COUNT(sold) FROM t", [("2",)]),
        ("select fruit from T order by price limit 1;", [("pears",)]),
        ("WITH x AS (SELECT sold FROM t) SELECT ROUND(AVG(sold), 1) FROM x", [("542.5",)]),
    ],
)
@pytest.mark.parametrize("guarded", [True, False])
def test_one_select_is_run(sql: str, rows: list[Any], guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    text = format_rows(query_table(MARKDOWN, sql), 500)
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.split("\n")[2:]]
    assert cells == rows


HARMFUL = (
    "DROP TABLE t",
    "INSERT INTO t VALUES (1, 2, 3)",
    "UPDATE t SET sold = 1",
    "DELETE FROM t",
    "CREATE TABLE x (a)",
    "ATTACH DATABASE 'x.db' AS x",
    "PRAGMA journal_mode",
    "VACUUM INTO 'x.db'",
    "SELECT 1; SELECT 2",
    "SELECT load_extension('x')",
    "SELECT zeroblob(1000000000)",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM nothing",
    "SELECT printf('%.*c', 2000000000, 'x')",
    "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT length(x) FROM c",
    "",
    "SELECT " + "1, " * 2000 + "1",
)


@pytest.mark.demand("five_minutes.builtin_tools_bounded")
@pytest.mark.parametrize("sql", HARMFUL)
@pytest.mark.parametrize("guarded", [True, False])
def test_all_but_one_small_select_is_refused(sql: str, guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises((QueryRefused, QueryFailed)):
        query_table(MARKDOWN, sql)


@pytest.mark.demand("five_minutes.builtin_tools_bounded")
@pytest.mark.parametrize("guarded", [True, False])
def test_a_query_without_end_is_ended(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.1)
    if not guarded:
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(QueryFailed, match=r"longer than 0\.1 s"):
        query_table(MARKDOWN, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c")


def test_what_is_left_out_is_said() -> None:
    table = "n,text\n" + "\n".join(f"{number},{'word ' * 5}" for number in range(1000))
    rows = query_table(table, "SELECT * FROM t")
    assert len(rows.rows) == module.MAX_ROWS
    text = format_rows(rows, 300)
    assert "rows are shown: the first" in text
    assert f"Only the first {module.MAX_ROWS} rows are shown." in text
    assert format_rows(query_table(table, "SELECT n FROM t WHERE n < 0"), 300) == "No rows match."


@pytest.mark.io
@pytest.mark.usefixtures("close_table_query")
@pytest.mark.demand("five_minutes.builtin_tools_bounded")
async def test_the_query_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # The process imports this module anew, and so does not have what is patched here.
    monkeypatch.setattr(module, "query_table", None)
    [result] = await call_tool(rightseat.table_query, {"table": MARKDOWN, "sql": "SELECT MAX(sold) AS m FROM t"})
    assert result.text == "| m |\n|---|\n| 1034 |"


@each_case(
    "table",
    [
        "a|b\n-" + " " * 199_000 + "x|1\nx|2\n",
        " " * 199_000 + "x|1\n a|2\n",
        "|---" + " " * 199_000 + "x|\n|a|b|\n",
        "a:" + " " * 99_000 + "x\nb:" + " " * 99_000 + "y z\n",
        "a,b\n" + "9" * 199_000 + ",2\n",
        "a|" * 49_000 + "\n" + "1|" * 49_000,
        "a|" * 40_000 + "\n" + "|\n" * 50_000,
        "a|" * 90 + "\n" + "|\n" * 90_000,
        "[" + ",".join(f'{{"{number}":1}}' for number in range(16_000)) + "]",
    ],
)
@pytest.mark.demand("five_minutes.builtin_tools_bounded")
def test_a_long_table_takes_little_work(table: str) -> None:
    assert len(table) <= MAX_TEXT
    start = time.process_time()
    with contextlib.suppress(TableUnreadable):
        query_table(table, "SELECT COUNT(*) FROM t")
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "table", ["a|" * 101 + "b\n" + "1|" * 101 + "2", "[" + '{"a": 1},' * 50_000 + '{"b": 2}]'], ids=("columns", "cells")
)
def test_a_table_with_too_many_columns_or_cells_says_so(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.tools.builtin.table_text.MAX_TEXT", len(table))
    with pytest.raises(TableUnreadable, match="more than 100 columns"):
        read_table(table)


def test_repeated_names_are_numbered() -> None:
    assert name_columns(["a", "A", "a_2", "a", "", "column5"]) == ("a", "A_2", "a_2_2", "a_3", "column5", "column5_2")
    assert len(set(name_columns(["a"] * 20_000))) == 20_000


@pytest.mark.parametrize(
    ("table", "sql", "code", "text"),
    [
        ("a\0,b\n1,2\n3,4", "SELECT * FROM t", "invalid_table", "NUL character"),
        (r'[{"a\u0000": 1, "b": 2}]', "SELECT * FROM t", "invalid_table", "NUL character"),
        ("a\ud800,b\n1,2\n3,4", "SELECT * FROM t", "invalid_table", "lone surrogate"),
        ("a,b\nx\ud800,2\ny,4", "SELECT * FROM t", "invalid_table", "lone surrogate"),
        ("a,b\nx,2\ny,4", "SELECT '\ud800' FROM t", "invalid_query", "lone surrogate"),
        ("a,b\nx,2\ny,4", "SELECT 1\0 FROM t", "invalid_query", "NUL character"),
    ],
)
@pytest.mark.io
@pytest.mark.usefixtures("close_table_query")
async def test_characters_that_sqlite_refuses_are_named(table: str, sql: str, code: str, text: str) -> None:
    [result] = await call_tool(rightseat.table_query, {"table": table, "sql": sql})
    assert result.failed
    assert code in str(result)
    assert text in str(result)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 400 + ".5", "-" + "9" * 400])
def test_a_number_too_large_for_a_float_is_an_error(number: str) -> None:
    with pytest.raises(TableUnreadable, match="A number in the column b is too large"):
        query_table(f"a,b\nx,2\ny,{number}", "SELECT SUM(b) FROM t")


def test_a_long_number_stays_a_text() -> None:
    number = "9" * 100
    table = f"a,b\nx,2\ny,{number}"
    assert query_table(table, "SELECT b FROM t WHERE a = 'y'").rows == ((number,),)
    assert query_table(table, "SELECT SUM(b) FROM t").rows == ((1e100,),)


def test_a_long_number_with_a_decimal_comma_stays_as_it_is_written() -> None:
    number = "9" * 100 + ",5"
    assert query_table(f"a;b\nx;2,5\ny;{number}", "SELECT b FROM t").rows == (("2,5",), (number,))
