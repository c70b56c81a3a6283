"""A database that refuses what a command needs: one line says what is missing, and what to paste; never a traceback.

Each state is met by `serve`, `doctor`, `store migrate` and `store move` as real processes on a real PostgreSQL.
"""

import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from rightseat.errors import ConfigError
from rightseat.stores.postgres.schema import MIGRATIONS, migrate
from rightseat.stores.postgres.store import PostgresStore
from tests.kit.postgres import PostgresServer, require_programs, run_server
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.io, pytest.mark.slow, pytest.mark.timeout(600)]
SCHEMA, PASSWORD = "rightseat", "s3cret-word"
COMMANDS = ("serve", "doctor", "migrate", "move")
STATEMENT = re.compile(r"(?:GRANT|ALTER ROLE) [^;]+;")
numbers = itertools.count()


class RefusingDatabase:
    """A database of its own on the server, with an account whose name and whose database's name need quotes."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        number = next(numbers)
        self.name, self.role = f"My app {number}", f"Right-Seat {number}"
        self.admin = psycopg.connect(server.url, autocommit=True)
        self.run("CREATE DATABASE {database}")
        self.run("CREATE ROLE {role} LOGIN")
        self.owner_url = self.make_url("postgres")
        self.url = self.make_url(self.role)

    def make_url(self, user: str, name: str = "") -> str:
        place = f"127.0.0.1:{self.server.port}/{quote(name or self.name)}"
        return f"postgresql://{quote(user)}@{place}"

    def run(self, statement: str, connection: psycopg.Connection[Any] | None = None) -> None:
        names = {"role": sql.Identifier(self.role), "database": sql.Identifier(self.name)}
        # PostgreSQL's own text in a test.
        text: Any = statement
        (connection or self.admin).execute(sql.SQL(text).format(**names))

    def run_inside(self, *statements: str) -> None:
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            for statement in statements:
                self.run(statement, connection)

    def make_tables(self, version: int = len(MIGRATIONS)) -> None:
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            migrate(connection, SCHEMA, migrations=MIGRATIONS[:version])

    def call(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command with this database; one that serves instead is killed, which fails the test."""
        file = self.folder / "rightseat.toml"
        models = '[models.m]\nspec = "scripted:demo"\n'
        file.write_text(f'{models}[store]\nkind = "postgres"\nurl = "env:DATABASE_URL"\n', "utf-8")
        arguments = {
            "serve": ["serve", "--config", str(file), "--port", "0"],
            "doctor": ["doctor", "--config", str(file)],
            "migrate": ["store", "migrate", "--config", str(file)],
            "move": ["store", "move", f"sqlite://{self.folder}/data", "env:DATABASE_URL"],
        }[command]
        if command == "move":
            make_source(self.folder)
        return subprocess.run(
            [sys.executable, "-m", "rightseat", *arguments],
            env={**os.environ, "DATABASE_URL": self.url, "HOME": str(self.folder)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
        )

    def paste(self, text: str) -> list[str]:
        """Run the statements that a line names, as they stand there."""
        statements = STATEMENT.findall(text)
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        return statements


def make_source(folder: Path) -> None:
    from rightseat.stores.sqlite.store import SQLiteStore

    if not (folder / "data").exists():
        import asyncio

        asyncio.run(SQLiteStore(folder / "data").close())


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with run_server(require_programs(), listen=True) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer, tmp_path: Path) -> Iterator[RefusingDatabase]:
    database = RefusingDatabase(server, tmp_path)
    yield database
    database.admin.close()


def take_create(database: RefusingDatabase) -> None:
    """A new database, and an account that may only connect."""


def take_usage(database: RefusingDatabase) -> None:
    database.make_tables()


def take_changes(database: RefusingDatabase) -> None:
    database.make_tables()
    database.run_inside(
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {{role}}", f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {{role}}"
    )


def take_writing(database: RefusingDatabase) -> None:
    database.make_tables()
    database.run_inside(
        f"GRANT ALL ON SCHEMA {SCHEMA} TO {{role}}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA {SCHEMA} TO {{role}}",
        "ALTER ROLE {role} SET default_transaction_read_only = on",
    )


def take_ownership(database: RefusingDatabase) -> None:
    """Tables of an older version that belong to another account."""
    database.make_tables(len(MIGRATIONS) - 1)
    database.run_inside(
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {{role}}", f"GRANT ALL ON ALL TABLES IN SCHEMA {SCHEMA} TO {{role}}"
    )


RIGHTS = {
    "no CREATE on the database": (take_create, 'GRANT CREATE ON DATABASE "{0.name}" TO "{0.role}";'),
    "no USAGE on the schema": (take_usage, 'GRANT USAGE ON SCHEMA "rightseat" TO "{0.role}";'),
    "SELECT only": (take_changes, 'ON ALL TABLES IN SCHEMA "rightseat" TO "{0.role}";'),
    "read-only account": (take_writing, "address of the primary"),
    "tables of another account": (take_ownership, 'GRANT "postgres" TO "{0.role}";'),
}
NOTHING_TO_DO = {("SELECT only", "migrate"), ("read-only account", "migrate")}
"""The tables have this version: reading it is all that is needed."""


@pytest.mark.demand("cluster.missing_rights")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("state", RIGHTS)
def test_a_missing_right_is_named_with_what_grants_it(database: RefusingDatabase, state: str, command: str) -> None:
    prepare, expected = RIGHTS[state]
    prepare(database)
    ended = database.call(command)
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said
    if (state, command) in NOTHING_TO_DO:
        assert (ended.returncode, "nothing to migrate" in said) == (0, True)
        return
    assert ended.returncode == 1
    assert expected.format(database) in said
    if command != "doctor":
        assert [line[:7] for line in ended.stderr.splitlines()] == ["error: "]
    # What is said can be pasted as it stands there, until nothing is missing.
    told = {said}
    while said:
        assert database.paste(said), said
        said = find_refusal(database.url)
        assert said not in told, "what was pasted changes something"
        told.add(said)
    if command == "doctor":
        assert database.call(command).returncode == 0


def find_refusal(url: str) -> str:
    """Return what a server would end with at its start; "" if nothing is missing."""
    try:
        PostgresStore(url).presence.leave()
    except ConfigError as error:
        return error.message
    return ""


@pytest.mark.demand("cluster.missing_rights")
@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_a_standby_is_no_place_for_a_store(tmp_path: Path, command: str) -> None:
    with run_server(require_programs(), listen=True) as server:
        database = RefusingDatabase(server, tmp_path)
        database.make_tables()
        database.run_inside("ALTER ROLE {role} SUPERUSER")
        database.admin.close()
        server.stop()
        (server.home / "data" / "standby.signal").touch()
        server.start()
        ended = database.call(command)
    said = ended.stdout + ended.stderr
    assert (ended.returncode, "Traceback" in said) == (1, False)
    assert "standby" in said
    assert "address of the primary" in said


def refuse_password(database: RefusingDatabase) -> None:
    database.run(f"ALTER ROLE {{role}} PASSWORD '{PASSWORD}'")
    file = database.server.home / "data" / "pg_hba.conf"
    line = f'host all "{database.role}" 127.0.0.1/32 scram-sha-256\n'
    file.write_text(line + file.read_text())
    database.admin.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)
    database.url = database.url.replace("@", f":wrong-{PASSWORD}@", 1)


def name_no_database(database: RefusingDatabase) -> None:
    database.url = database.make_url(database.role, "no such")


def name_no_role(database: RefusingDatabase) -> None:
    database.url = database.make_url("No Body")


def take_connections(database: RefusingDatabase) -> None:
    database.run("ALTER ROLE {role} CONNECTION LIMIT 0")


def forbid_connecting(database: RefusingDatabase) -> None:
    database.run("REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")


CONNECTIONS = {
    "wrong password": (refuse_password, "Correct the user and the password in [store] url"),
    "no such database": (name_no_database, 'CREATE DATABASE "no such";'),
    "no such account": (name_no_role, 'CREATE ROLE "No Body" LOGIN'),
    "no free connection": (take_connections, "[store] pool"),
    "no CONNECT": (forbid_connecting, 'GRANT CONNECT ON DATABASE "{0.name}" TO "{0.role}";'),
}


@pytest.mark.demand("cluster.set_up")
@pytest.mark.parametrize("command", ["serve", "doctor"])
@pytest.mark.parametrize("state", CONNECTIONS)
def test_a_refused_connection_is_not_a_server_that_is_away(
    database: RefusingDatabase, state: str, command: str
) -> None:
    prepare, expected = CONNECTIONS[state]
    prepare(database)
    ended = database.call(command)
    said = ended.stdout + ended.stderr
    assert (ended.returncode, "Traceback" in said) == (1, False)
    assert expected.format(database) in said
    assert "start it" not in said.lower().replace("start it: ", "")
    assert "start the database" not in said
    assert PASSWORD not in said
    assert ".." not in said.replace("...", "")


@pytest.mark.demand("cluster.set_up")
def test_a_server_without_free_connections(tmp_path: Path) -> None:
    with run_server(require_programs(), listen=True, max_connections="6", superuser_reserved_connections="0") as server:
        database = RefusingDatabase(server, tmp_path)
        others = [psycopg.connect(database.owner_url) for _ in range(5)]
        ended = {command: database.call(command) for command in ("serve", "doctor")}
        for other in others:
            other.close()
        database.admin.close()
    for command, result in ended.items():
        said = result.stdout + result.stderr
        assert "max_connections" in said, command
        assert "[store] pool" in said
        assert "correct [store] url" not in said.lower()


@pytest.mark.demand("cluster.doctor_replicas")
def test_a_process_that_failed_at_its_start_is_no_loss(database: RefusingDatabase) -> None:
    database.run("GRANT CREATE ON DATABASE {database} TO {role}")
    file = database.folder / "rightseat.toml"
    store = '[store]\nkind = "postgres"\nurl = "env:DATABASE_URL"\n'
    broken = {
        "tools": '[models.m]\nspec = "scripted:demo"\n[assistants.a]\nmodel = "m"\ntools = ["no_such_module:x"]\n',
        "live": '[models.m]\nspec = "scripted:demo"\n[live]\nurl = "redis://127.0.0.1:1"\n',
    }
    for text in broken.values():
        file.write_text(store + text, "utf-8")
        ended = subprocess.run(
            [sys.executable, "-m", "rightseat", "serve", "--config", str(file), "--port", "0"],
            env={**os.environ, "DATABASE_URL": database.url, "HOME": str(database.folder)},
            cwd=database.folder,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
        )
        assert ended.returncode == 1, ended
        assert "Loading the local model" not in ended.stderr
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM rightseat.replicas").fetchone() == (0,)
