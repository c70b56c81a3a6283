"""SQL of a model that takes all time or memory: its process is stopped, the server and the next query go on."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import json

import rightseat
from rightseat import Runtime
from rightseat.types.chunks import ModelChunk
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.process import list_tree
from tests.kit.waiting import wait_until
from tests.unit.plugins.flows.served import AguiFlowClient, serve_plugin
from tests.unit.plugins.sql.shops import create_duckdb_shop, create_sqlite_shop

pytestmark = [pytest.mark.io, pytest.mark.slow]

FLOW = """
name: f
description: Counts what was sold.
steps:
  - name: start
    call_type: sql
    params: {database: shop}
"""
GOOD = "SELECT count(*) AS n FROM customers"
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
# What the server itself may gain while a query of 2 GB runs elsewhere.
MAX_GROWTH = 200 << 20
SLOW, LARGE = "longer than 1 s", "memory"


def fill_letters(sql: str) -> str:
    """Replace {A4}, {A5}, … in SQL by a text of 10 ** 4, 10 ** 5, … letters, {M} by one of eight million."""
    sql = sql.replace("{M}", "||".join(["{A6}"] * 8))
    text = "'aaaaaaaaaa'"
    for digits in range(2, 10):
        text = f"replace({text}, 'a', 'aaaaaaaaaa')"
        sql = sql.replace(f"{{A{digits}}}", text)
    return sql


DUCKDB_REPLACE = fill_letters("SELECT max(length({A9} || name)) AS n FROM customers")
SQLITE_INSTR = fill_letters("SELECT instr(x, substr(x, 1, 4000000) || 'b') AS n FROM (SELECT {M} AS x)")
SQLITE_LIKE = fill_letters("SELECT x LIKE '%' || {A4} || 'b' AS n FROM (SELECT {M} AS x)")
# One step of SQLite's machine each, or one function of DuckDB: neither looks at a clock meanwhile.
UNSTOPPABLE = (DUCKDB_REPLACE, SQLITE_INSTR, SQLITE_LIKE)
ROWS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 200000) "
SORT = ROWS + fill_letters("SELECT {A5} || n AS t FROM c ORDER BY t")
ATTACKS = [
    ("duckdb", DUCKDB_REPLACE, f"{SLOW}|{LARGE}"),
    ("sqlite", SQLITE_INSTR, SLOW),
    ("sqlite", SQLITE_LIKE, SLOW),
    ("duckdb", ENDLESS, SLOW),
    ("sqlite", ENDLESS, SLOW),
    ("duckdb", SORT, f"{SLOW}|{LARGE}"),
    ("sqlite", SORT, f"{SLOW}|{LARGE}"),
    ("duckdb", ROWS + fill_letters("SELECT string_agg({A5} || n, ',') AS t FROM c"), f"{SLOW}|{LARGE}"),
    ("sqlite", ROWS + fill_letters("SELECT group_concat({A5} || n) AS t FROM c"), f"{SLOW}|too big"),
    ("sqlite", fill_letters("SELECT {A9} AS t"), "too big"),
    ("sqlite", "SELECT hex(zeroblob(1000000000)) AS t", "not authorized"),
    ("sqlite", "SELECT hex(randomblob(1000000000)) AS t", "not authorized"),
]


def write_sql(sql: str) -> list[ModelChunk]:
    return reply_text(json.encode({"sql": sql}).decode())


@asynccontextmanager
async def serve_shop(folder: Path, kind: str, model: FakeModel, seconds: float = 1) -> AsyncIterator[str]:
    if kind == "duckdb":
        pytest.importorskip("duckdb")
    file = create_sqlite_shop(folder) if kind == "sqlite" else create_duckdb_shop(folder)
    functions = 'functions = ["printf", "hex", "zeroblob", "randomblob"]'
    rules = f'[databases.shop]\nurl = "{kind}:///{file.name}"\ntimeout = {seconds}\nmemory_mb = 256\n{functions}'
    async with serve_plugin(folder, "http://127.0.0.1:9", {}, model, rules, f=FLOW) as url:
        yield url


async def check_health(url: str) -> None:
    async with RawHttpClient(url) as client:
        await client.get("/health")
        assert (await client.read_head()).status == 200


def list_children() -> set[int]:
    return set(list_tree(os.getpid())) - {os.getpid()}


def measure_peak() -> int:
    """The most memory that this process, which is the server too, has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def read_proc(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


async def watch_request(url: str, request: asyncio.Task[object], before: set[int]) -> set[int]:
    """Check /health until the request has ended; returns the child processes that were seen."""
    seen: set[int] = set()
    while not request.done():
        await check_health(url)
        seen |= list_children() - before
        await asyncio.sleep(0.01)
    await request
    return seen


@pytest.mark.demand("security.sql_in_killable_child")
@pytest.mark.parametrize(("kind", "attack", "error"), ATTACKS, ids=range(len(ATTACKS)))
async def test_an_attack_ends_with_a_clear_error_and_the_next_query_works(
    kind: str, attack: str, error: str, tmp_path: Path
) -> None:
    answers = [write_sql(GOOD), reply_text("3"), write_sql(GOOD), reply_text("3")]
    model = FakeModel(write_sql(attack), *answers)
    before = list_children()
    async with serve_shop(tmp_path, kind, model) as url:
        client = AguiFlowClient(url, "p.f")
        peak = measure_peak()
        seen = await watch_request(url, asyncio.create_task(client.send_message("How many?")), before)
        # The model saw the error, and its second query was run.
        text = model.prompts[1].messages[-1].text.partition("It failed:")[2]
        assert any(word in text for word in error.split("|")), text
        assert client.outputs["start"] == [{"n": 3}]
        await client.send_message("Again?")
        assert client.outputs["start"] == [{"n": 3}]
        assert measure_peak() - peak < MAX_GROWTH
        [warm] = list_children() - before
        # A query that does not look at the clock was killed with its process.
        assert attack not in UNSTOPPABLE or len(seen | {warm}) > 1
    assert list_children() == before


@pytest.mark.demand("security.sql_in_killable_child")
async def test_the_client_is_told_and_the_limit_of_two_seconds_holds(tmp_path: Path) -> None:
    model = FakeModel(write_sql(DUCKDB_REPLACE), write_sql(DUCKDB_REPLACE))
    async with serve_shop(tmp_path, "duckdb", model, seconds=2) as url:
        client = AguiFlowClient(url, "p.f")
        await client.send_message("How many?")
    [error] = client.errors
    assert "It took longer than 2 s." in error or "memory" in error


@pytest.mark.demand("security.sql_in_killable_child")
async def test_a_client_that_leaves_ends_the_query(tmp_path: Path) -> None:
    before = list_children()
    async with serve_shop(tmp_path, "sqlite", FakeModel(write_sql(SQLITE_INSTR)), seconds=1000) as url:
        request = asyncio.create_task(AguiFlowClient(url, "p.f").send_message("How many?"))
        await wait_until(lambda: list_children() - before)
        request.cancel()
        await wait_until(lambda: list_children() == before)
        await asyncio.gather(request, return_exceptions=True)


@pytest.mark.demand("security.sql_in_killable_child")
async def test_the_process_has_no_secret_and_a_limit_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "hunter22-secret")
    before = list_children()
    async with serve_shop(tmp_path, "sqlite", FakeModel(write_sql(GOOD), reply_text("3"))) as url:
        await AguiFlowClient(url, "p.f").send_message("How many?")
        [child] = list_children() - before
        assert "hunter22" not in read_proc(child, "environ")
        lines = read_proc(child, "limits").splitlines()
        [line] = [line for line in lines if line.startswith("Max address space")]
        assert line.split()[3] == line.split()[4] == str((256 + 256) << 20)


TABLE = "name,n\na,1\nb,2\n"
TABLE_ATTACKS = [
    (ENDLESS, "longer than 3 s"),
    # A fast machine answers it in time.
    (SORT, "longer than 3 s|memory|aaaa"),
    (fill_letters("SELECT {A9} AS t"), "too big"),
    ("SELECT printf('%*d', 2000000000, 1) AS t", "not allowed"),
]


@pytest.mark.demand("security.sql_in_killable_child")
@pytest.mark.parametrize(("attack", "error"), TABLE_ATTACKS, ids=range(len(TABLE_ATTACKS)))
async def test_an_attack_over_a_table_in_the_chat_ends_too(attack: str, error: str) -> None:
    calls = [
        ("table_query", json.encode({"table": TABLE, "sql": sql}).decode())
        for sql in (attack, "SELECT sum(n) AS s FROM t")
    ]
    model = FakeModel(reply_calls(calls[0]), reply_calls(calls[1]), reply_text("3"))
    before = list_children()
    async with serve_runtime(Runtime(model=model, tools=[rightseat.table_query])) as server:
        peak = measure_peak()
        request = asyncio.create_task(AguiFlowClient(server.url, "default").send_message("How many?"))
        await watch_request(server.url, request, before)
        [_, after_attack, after_good] = model.prompts
        assert any(word in after_attack.messages[-1].text for word in error.split("|"))
        assert "| 3 |" in after_good.messages[-1].text
        assert measure_peak() - peak < MAX_GROWTH
        assert len(list_children() - before) == 1
    assert list_children() == before
