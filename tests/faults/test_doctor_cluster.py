"""`rightseat doctor` on several replicas: who is alive, who answers, and whose configuration differs."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.doctor import cluster
from rightseat.doctor.cluster import check_cluster
from rightseat.doctor.result import CheckResult
from rightseat.stores.postgres import transfer
from tests.kit import postgres, valkey
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]


@pytest.fixture
async def stack() -> AsyncIterator[contextlib.AsyncExitStack]:
    async with contextlib.AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def schema(request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"doctor_{abs(hash(request.node.nodeid)) % 10**10}_{os.getpid()}"
    yield name
    with psycopg.connect(postgres.get_session_server().url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def make_text(schema: str, live: str = "", more: str = "", url: str = "") -> str:
    url = url or postgres.get_session_server().url
    return f"""
[models.m]
spec = "scripted:demo"
[store]
kind = "postgres"
url = "{url}"
schema = "{schema}"
[live]
{live}
{more}
"""


def read_config(server: RightseatProcess) -> Config:
    return load_config(server.folder / "rightseat.toml")


async def examine(config: Config) -> dict[str, list[CheckResult]]:
    lines: dict[str, list[CheckResult]] = {}
    async for line in check_cluster(config):
        what = "replica" if line.what.startswith("replica ") else line.what
        lines.setdefault(what, []).append(line)
        assert line.state == "good" or line.fix, f"{line} says what to do"
    return lines


@pytest.mark.demand("cluster.doctor_replicas")
@pytest.mark.parametrize("kind", ["postgres", "valkey"])
async def test_replicas_that_see_each_other(
    kind: str, schema: str, stack: contextlib.AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = f'url = "{valkey.share_server().url}"' if kind == "valkey" else ""
    text = make_text(schema, live)
    one = await stack.enter_async_context(RightseatProcess(config=text))
    two = await stack.enter_async_context(RightseatProcess(config=text))
    lines = await examine(read_config(one))
    assert {line.state for group in lines.values() for line in group} == {"good"}, lines
    assert "PostgreSQL" in lines["database"][0].why
    assert "2 running, 2 answered" in lines["replicas"][0].why
    assert {line.what.rpartition(":")[2] for line in lines["replica"]} == {str(one.pid), str(two.pid)}
    assert "as here" in lines["replicas, configuration"][0].why

    other = await stack.enter_async_context(
        RightseatProcess(config=make_text(schema, live, "[limits]\nrun_seconds = 60\n"))
    )
    two.send_signal(signal.SIGSTOP)
    try:
        monkeypatch.setattr(cluster, "ECHO_SECONDS", 2.0)
        lines = await examine(read_config(one))
    finally:
        two.send_signal(signal.SIGCONT)
    states = {line.what.rpartition(":")[2]: line.state for line in lines["replica"]}
    assert states == {str(one.pid): "good", str(two.pid): "broken", str(other.pid): "good"}
    (differs,) = lines["replicas, configuration"]
    assert (differs.state, "they differ" in differs.why, str(other.pid) in differs.why) == ("skipped", True, True)

    # The killed one is noticed by its free lock once it has not beaten for a while.
    other.send_signal(signal.SIGKILL)
    await other.wait_exit()
    with psycopg.connect(postgres.get_session_server().url, autocommit=True) as connection:
        await wait_until(lambda: not is_alive(connection, schema, other.pid))
    lines = await examine(read_config(one))
    assert "2 running" in lines["replicas"][0].why
    with psycopg.connect(postgres.get_session_server().url, autocommit=True) as connection:
        # Further ones that were killed before it.
        table = psycopg.sql.Identifier(schema, "replicas")
        killed = psycopg.sql.SQL("INSERT INTO {} (id, address, version, beat) VALUES (%s, %s, '1', now() - %s)")
        for number in range(3):
            connection.execute(
                killed.format(table), (f"{number:016x}", f"host:{number}", timedelta(minutes=number + 1))
            )
    lines = await examine(read_config(one))
    assert {line.what.rpartition(":")[2] for line in lines["replica"]} == {str(one.pid), str(two.pid)}
    (ended,) = lines["replicas, ended"]
    assert (ended.state, f":{other.pid}, last beat" in ended.why) == ("skipped", True)
    assert "4 ended without a word" in ended.why


async def read_gauge(server: RightseatProcess) -> str:
    """Read the metric that tells whether configurations differ."""
    async with RawHttpClient(server.url) as client:
        await client.get("/metrics")
        await client.read_head()
        lines = (await client.read_body()).decode().splitlines()
    (line,) = [line for line in lines if line.startswith("rightseat_config_disagree ")]
    return line.split()[1]


async def wait_gauge(servers: list[RightseatProcess], value: str) -> None:
    values: set[str] = set()
    async with asyncio.timeout(HANG_TIMEOUT):
        while values != {value}:
            await asyncio.sleep(0.1)
            values = {await read_gauge(server) for server in servers}


@pytest.mark.demand("cluster.config_disagree")
async def test_a_metric_tells_that_replicas_have_different_configurations(
    schema: str, stack: contextlib.AsyncExitStack
) -> None:
    one = await stack.enter_async_context(RightseatProcess(config=make_text(schema)))
    two = await stack.enter_async_context(RightseatProcess(config=make_text(schema)))
    with psycopg.connect(postgres.get_session_server().url, autocommit=True) as connection:
        rows: Any = psycopg.sql.SQL("SELECT count(DISTINCT config), min(length(config)) FROM {}")
        table = psycopg.sql.Identifier(schema, "replicas")
        await wait_until(lambda: connection.execute(rows.format(table)).fetchone() == (1, 12))
    assert {await read_gauge(server) for server in (one, two)} == {"0.0"}
    async with RightseatProcess(config=make_text(schema, more="[limits]\nrun_seconds = 60\n")) as other:
        await wait_gauge([one, two, other], "1.0")
    await wait_gauge([one, two], "0.0")


def is_alive(connection: psycopg.Connection[Any], schema: str, pid: int) -> bool:
    from rightseat.stores.postgres.presence import list_replicas

    return any(replica.is_alive for replica in list_replicas(connection, schema) if f":{pid}" in replica.address)


@pytest.mark.demand("cluster.doctor_replicas")
async def test_a_replica_with_another_live_server_is_not_heard(
    schema: str, stack: contextlib.AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ECHO_SECONDS", 2.0)
    apart = f'url = "{valkey.share_server().url}"'
    one = await stack.enter_async_context(RightseatProcess(config=make_text(schema)))
    two = await stack.enter_async_context(RightseatProcess(config=make_text(schema, apart)))
    lines = await examine(read_config(one))
    states = {line.what.rpartition(":")[2]: line.state for line in lines["replica"]}
    assert states == {str(one.pid): "good", str(two.pid): "broken"}


@pytest.mark.demand("cluster.doctor_database")
async def test_nobody_is_there(schema: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text(make_text(schema), "utf-8")
    monkeypatch.setattr(transfer, "read_clock_offset", lambda _: -90.0)
    lines = await examine(load_config(file))
    assert (lines["replicas"][0].state, "rightseat serve" in lines["replicas"][0].fix) == ("skipped", True)
    assert "90.0 s behind" in lines["database, clock"][0].why
    assert "may make the schema" in lines["database, account"][0].why


@pytest.mark.demand("cluster.doctor_database")
async def test_missing_rights_are_named(schema: str, tmp_path: Any) -> None:
    server = postgres.get_session_server()
    role = f"weak_{os.getpid()}"
    url = server.url.replace("postgres@", f"{role}@", 1)
    file = tmp_path / "rightseat.toml"
    file.write_text(make_text(schema, url=url), "utf-8")
    with psycopg.connect(server.url, autocommit=True) as connection:
        from rightseat.stores.postgres.schema import migrate

        run: Any = connection.execute
        run(f"CREATE ROLE {role} LOGIN")
        try:
            line = (await examine(load_config(file)))["database, account"][0]
            assert (line.state, "may not make the schema" in line.why) == ("broken", True)
            migrate(connection, schema)
            line = (await examine(load_config(file)))["database, account"][0]
            assert (line.state, "GRANT USAGE" in line.fix) == ("broken", True)
            run(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            run(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}")
            line = (await examine(load_config(file)))["database, account"][0]
            assert (line.state, "DELETE on threads" in line.why, "GRANT SELECT" in line.fix) == ("broken", True, True)
            run(f"GRANT DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
            assert (await examine(load_config(file)))["database, account"][0].state == "good"
        finally:
            run(f"DROP OWNED BY {role}")
            run(f"DROP ROLE {role}")
