"""A real PostgreSQL of the tests' own, on a socket in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import SystemProgram
from tests.peers.prerequisites import require
from tests.unit.plugins.sql.shops import SCRIPT

SETTINGS = {"listen_addresses": "", "fsync": "off", "shared_buffers": "16MB", "max_connections": "20"}
SETUP_STATEMENTS = (
    "CREATE SEQUENCE numbers",
    "CREATE SCHEMA stock",
    'CREATE TABLE stock."Items" (id INTEGER PRIMARY KEY, "Unit price" NUMERIC)',
    'INSERT INTO stock."Items" VALUES (1, 2.5)',
    "COMMENT ON TABLE orders IS 'what people bought'",
    "COMMENT ON COLUMN orders.total IS 'in euros'",
    "CREATE ROLE reader LOGIN",
    "GRANT USAGE ON SCHEMA stock TO reader",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public, stock TO reader",
    # More than the documentation advises: what is refused is then refused for being a write.
    "GRANT ALL ON ALL TABLES IN SCHEMA public TO reader",
    "GRANT ALL ON SEQUENCE numbers TO reader",
    "GRANT CREATE ON SCHEMA public TO reader",
)


def find_binaries() -> Path | None:
    if on_path := shutil.which("initdb"):
        return Path(on_path).parent
    # Debian keeps them off the PATH, a folder for each version.
    versions = [one for one in Path("/usr/lib/postgresql").glob("*/bin") if (one / "initdb").exists()]
    return max(versions, key=lambda one: int(one.parent.name), default=None)


POSTGRES = SystemProgram("PostgreSQL", ("postgresql",), find_binaries)


def get_server_account() -> str | None:
    """It does not run as root: then as somebody who has nothing."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def run_postgres() -> Iterator[str]:
    """Its URL, for a role that may write to the shop; the guard and the session must keep it from that."""
    programs, user = require(POSTGRES), get_server_account()
    # Sockets have short names: pytest's own folders are too deep.
    home = Path(tempfile.mkdtemp(prefix="rspg-"))
    try:
        if user:
            shutil.chown(home, user)
        data = home / "data"
        command = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            list(map(str, command)), user=user, cwd=home, check=True, capture_output=True, timeout=HANG_TIMEOUT
        )
        options = [f"--{name}={value}" for name, value in SETTINGS.items()]
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", home, *options],
            user=user,
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect_when_ready(f"postgresql://postgres@/postgres?host={home}", process) as connection:
                for statement in (*SCRIPT, *SETUP_STATEMENTS):
                    connection.execute(statement)
            yield f"postgresql://reader@/postgres?host={home}"
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(HANG_TIMEOUT)
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def connect_when_ready(url: str, process: subprocess.Popen[bytes]) -> psycopg.Connection[Any]:
    """Connected as soon as it answers."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while True:
        assert process.poll() is None, f"postgres ended with {process.returncode}"
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
