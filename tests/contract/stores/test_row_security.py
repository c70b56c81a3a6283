"""Row security of PostgreSQL: what a statement sees that forgets its owner, the command that switches it on, and what
is said where it does not hold. The contract suite runs over such tables as its member `postgres protected`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.doctor.cluster import ROWS, check_cluster
from rightseat.doctor.result import CheckResult
from rightseat.errors import ConfigError
from rightseat.stores.postgres.database import connect
from rightseat.stores.postgres.row_security import protect_tables
from rightseat.stores.postgres.store import PostgresStore
from rightseat.types.turn import Owner
from tests.contract.stores.members import make_schema_name
from tests.kit.command import run_command
from tests.kit.postgres import get_session_server
from tests.unit.stores.postgres.test_set_up import write_config

pytestmark = [pytest.mark.io, pytest.mark.demand("cluster.row_security")]
FORGETFUL = "SELECT owner FROM {s}.threads ORDER BY owner"


@asynccontextmanager
async def open_store(schema: str, *, protect: bool) -> AsyncIterator[PostgresStore]:
    """Open a store with a thread of each of two owners."""
    url = get_session_server().plain_url
    store = PostgresStore(url, schema=schema, pool=4, row_security=True)
    if protect:
        with closing(connect(url)) as connection:
            protect_tables(connection, schema)
    try:
        for owner in ("ann", "*", "bob"):
            await store.begin_run(Owner(owner), "t", "r", name="n", assistant="a")
        yield store
    finally:
        await store.close()


@pytest.mark.parametrize("protect", [True, False], ids=["protected", "twin: not protected"])
async def test_a_statement_that_forgets_its_owner_sees_the_rows_of_nobody_else(protect: bool) -> None:
    async with open_store(make_schema_name(), protect=protect) as store:
        seen = {
            owner: {name for (name,) in await store.database.fetch(FORGETFUL, {"owner": owner})}
            for owner in ("ann", "*", "bob", "=ann", "")
        }
        nobody = await store.database.fetch(FORGETFUL, {})
    everybody = {"ann", "*", "bob"}
    own = {"ann": {"ann"}, "*": {"*"}, "bob": {"bob"}, "=ann": set[str](), "": set[str]()}
    assert seen == (own if protect else dict.fromkeys(own, everybody))
    assert {name for (name,) in nobody} == (set() if protect else everybody)


async def test_rows_of_another_owner_cannot_be_written() -> None:
    write = "UPDATE {s}.threads SET name = 'changed' RETURNING owner"
    async with open_store(make_schema_name(), protect=True) as store:
        assert await store.database.fetch(write, {"owner": "ann"}) == [("ann",)]


async def test_a_server_that_does_not_name_owners_is_refused() -> None:
    schema = make_schema_name()
    async with open_store(schema, protect=True):
        with pytest.raises(ConfigError, match=r"row_security = true.*rightseat store protect --off"):
            PostgresStore(get_session_server().plain_url, schema=schema)


async def list_row_lines(file: Path) -> list[CheckResult]:
    return [line async for line in check_cluster(load_config(file)) if line.what == ROWS]


async def test_the_command_switches_it_on_and_off(tmp_path: Path) -> None:
    schema, url = make_schema_name(), get_session_server().plain_url
    file = write_config(tmp_path, f'schema = "{schema}"', url)
    early = await run_command("store", "protect", "--config", str(file))
    assert early.code == 1
    assert "row_security = true, restart every server" in " ".join(early.err.split())
    file = write_config(tmp_path, f'schema = "{schema}"\nrow_security = true', url)
    without_tables = await run_command("store", "protect", "--config", str(file))
    assert "rightseat store migrate" in without_tables.err
    await run_command("store", "migrate", "--config", str(file))
    assert [line.state for line in await list_row_lines(file)] == ["skipped"]
    on = await run_command("store", "protect", "--config", str(file))
    assert (on.code, on.out.strip()) == (0, f"The tables in {schema} now have row security.")
    assert [line.state for line in await list_row_lines(file)] == ["good"]
    off = await run_command("store", "protect", "--off", "--config", str(file))
    assert off.out.strip() == f"The tables in {schema} now have no row security."


async def test_an_account_that_bypasses_it_is_named(tmp_path: Path) -> None:
    schema = make_schema_name()
    file = write_config(tmp_path, f'schema = "{schema}"\nrow_security = true')
    await run_command("store", "migrate", "--config", str(file))
    done = await run_command("store", "protect", "--config", str(file))
    assert "does not hold for postgres" in done.out
    (line,) = await list_row_lines(file)
    assert (line.state, "SUPERUSER" in (line.fix or "")) == ("broken", True)


async def test_another_store_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text('[models.m]\nspec = "scripted:demo"\n', "utf-8")
    assert "[store] kind is sqlite" in (await run_command("store", "protect", "--config", str(file))).err
