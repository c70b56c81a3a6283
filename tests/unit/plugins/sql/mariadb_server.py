"""A real MariaDB of the tests' own, on a socket in a folder of its own."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql

from tests.kit.postgres import get_server_account
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import SystemProgram
from tests.peers.prerequisites import require
from tests.unit.plugins.sql.shops import SCRIPT

SETTINGS = (
    "--no-defaults",
    "--skip-networking",
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--performance-schema=0",
)
SETUP_STATEMENTS = (
    "CREATE USER reader@localhost",
    # More than the documentation advises: what is refused is then refused for being a write.
    "GRANT ALL ON shop.* TO reader@localhost",
)


def find_server() -> Path | None:
    # Debian keeps it where the PATH of a user may not look.
    found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    return Path(found) if found and shutil.which("mariadb-install-db") else None


# Without the package that would start a server of the system.
MARIADB = SystemProgram("MariaDB", ("mariadb-server-core", "mariadb-client-core"), find_server)


@contextmanager
def run_mariadb() -> Iterator[str]:
    """Its URL, for an account that may write to the shop; the guard and the session must keep it from that."""
    program, user = require(MARIADB), get_server_account()
    # Sockets have short names: pytest's own folders are too deep.
    home = Path(tempfile.mkdtemp(prefix="rsmy-"))
    try:
        if user:
            shutil.chown(home, user)
        data, socket = home / "data", home / "socket"
        create = [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
        ]
        subprocess.run(
            [*create, "--skip-test-db"], user=user, cwd=home, check=True, capture_output=True, timeout=HANG_TIMEOUT
        )
        process = subprocess.Popen(
            [program, *SETTINGS, f"--datadir={data}", f"--socket={socket}", f"--pid-file={home / 'pid'}"],
            user=user,
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect_when_ready(socket, process) as connection, connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
                cursor.execute("USE shop")
                for statement in (*SCRIPT, *SETUP_STATEMENTS):
                    cursor.execute(statement)
                connection.commit()
            yield f"mysql://reader@localhost/shop?unix_socket={socket}"
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(HANG_TIMEOUT)
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def connect_when_ready(socket: Path, process: subprocess.Popen[bytes]) -> "pymysql.Connection[Any]":
    """Connected as root as soon as it answers."""
    deadline = time.monotonic() + HANG_TIMEOUT
    while True:
        assert process.poll() is None, f"mariadbd ended with {process.returncode}"
        # PyMySQL leaves a socket open that it could not connect.
        if socket.exists():
            return pymysql.connect(unix_socket=str(socket), user="root", charset="utf8mb4")
        assert time.monotonic() < deadline, f"no socket within {HANG_TIMEOUT} s"
        time.sleep(0.02)
