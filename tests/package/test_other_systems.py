"""Systems without POSIX: what a start imports does not need it, and what needs it is refused in a sentence.

The systems themselves are in .github/workflows/tests.yml, which runs checks/portable.py there; it runs here too.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import Config, LiveSettings, McpSettings, ServerSettings, StoreSettings
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.options import check_binary
from rightseat.server.workers.count import count_workers
from rightseat.wiring.systems import check_system
from tests.kit.command import run_command
from tests.kit.timeouts import HANG_TIMEOUT
from tests.package.wheels import ROOT

pytestmark = pytest.mark.demand("release.other_systems")
SOURCE = ROOT / "src"
POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"}
POSIX_NAMES = {
    *("AF_UNIX", "MSG_DONTWAIT", "O_ACCMODE", "O_CLOEXEC", "O_PATH", "SIGHUP", "SIGKILL", "SIGUSR1", "SO_REUSEPORT"),
    *("chown", "fork", "getegid", "geteuid", "getuid", "killpg", "register_at_fork", "sched_getaffinity"),
    *("set_blocking", "setgroups", "setsid", "sysconf", "open_unix_connection", "start_unix_server"),
}
# Where a type checker for the other system finds names that it has not, and why none of them is reached there.
ABSENT_NAMES = {
    "darwin": {"tools/sandbox/"},
    "win32": {
        # Started on Linux only.
        *("tools/sandbox/", "mcp/exec_with_parent.py"),
        # Several workers, which are refused.
        *("server/workers/", "stores/sqlite/presence.py", "stores/sqlite/shared.py", "live/local.py"),
        "models/llamacpp/brokered.py",
        # Refused by wiring/systems.py.
        *("mcp/connect.py", "live/valkey_server.py"),
        # After a question for the system that the type checker does not know: os.name, an ImportError, /proc.
        *("http/descriptors.py", "server/service.py", "documents/child.py", "tools/child.py", "plugins/sql/child.py"),
    },
}
GUARDS = ("sys.platform", "os.name", "TYPE_CHECKING")
# Only for several processes on one SQLite file, which Windows has not.
NEED_POSIX = {"rightseat.stores.sqlite.presence", "rightseat.stores.sqlite.shared"}
# Prints the modules that a server with one process and `doctor` have imported.
START = """
import asyncio, contextlib, importlib, io, json, sys
for name in ("chat", "flows", "models", "plugins", "serve", "store"):
    importlib.import_module(f"rightseat.cli.{name}")
from rightseat.cli.doctor import run_doctor
from rightseat.config.settings import Config, StoreSettings
from rightseat.server.service import build_app
from rightseat.server.uvicorn_server import UvicornServer

app = build_app(Config(model="scripted:demo", store=StoreSettings(kind="sqlite", path=sys.argv[1])))
async def run():
    await app.runtime.start()
    await app.runtime.close()
asyncio.run(run())
with contextlib.redirect_stdout(io.StringIO()):
    run_doctor(None, None, None, as_json=True, call=False)
print(json.dumps([name for name in sys.modules if name.startswith("rightseat")]))
"""


def list_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that an import runs on every system: those under a question for the system are left out."""
    for statement in body:
        if isinstance(statement, ast.If) and any(guard in ast.unparse(statement.test) for guard in GUARDS):
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.ClassDef | ast.If | ast.With | ast.For):
            yield from list_statements(statement.body)
            yield from list_statements(getattr(statement, "orelse", []))
        elif not isinstance(statement, ast.Try):
            yield statement


def needs_posix(path: Path) -> bool:
    for statement in list_statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(statement, ast.Import) and {alias.name for alias in statement.names} & POSIX_MODULES:
            return True
        if isinstance(statement, ast.ImportFrom) and statement.module in POSIX_MODULES:
            return True
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            names = {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
            if names & POSIX_NAMES:
                return True
    return False


def name_module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_only_modules_of_several_workers_need_posix_at_import() -> None:
    assert {name_module(path) for path in SOURCE.rglob("*.py") if needs_posix(path)} == NEED_POSIX


@pytest.mark.io
@pytest.mark.slow
def test_a_start_and_the_doctor_import_none_of_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path / "data")]
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "RIGHTSEAT_MODEL": "scripted:demo"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT)
    assert done.returncode == 0, done.stderr
    imported = set(json.loads(done.stdout))
    assert {"rightseat.cli.serve", "rightseat.stores.sqlite.store", "rightseat.server.uvicorn_server"} <= imported
    assert imported & NEED_POSIX == set()


def test_what_windows_has_not_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="Several workers need Unix sockets"):
        count_workers(Config(server=ServerSettings(workers=2)), "win32")
    assert count_workers(Config(server=ServerSettings(workers="auto")), "win32") == 1
    with pytest.raises(ConfigError, match="cannot start llama-server on Windows"):
        check_binary("llama-server", "win32")
    for config, start in (
        (Config(store=StoreSettings(kind="postgres")), r'\[store\] kind = "postgres"'),
        (Config(live=LiveSettings(kind="postgres")), r'\[live\] kind = "postgres"'),
        (Config(live=LiveSettings(url=Secret("unix:///run/valkey.sock"))), r"\[live\] url: unix://"),
        (Config(mcp={"files": McpSettings(command="npx")}), r"\[mcp\.files\] command"),
    ):
        check_system(config, "linux")
        with pytest.raises(ConfigError, match=f"^{start} does not work on Windows. .* Linux container.$"):
            check_system(config, "win32")
    check_system(Config(mcp={"web": McpSettings(url="https://mcp.example")}), "win32")


@pytest.mark.io
@pytest.mark.parametrize("command", ["serve --port 0", "chat Hello"])
async def test_the_command_says_what_does_not_run_on_windows(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's name is all that is changed: the refusal comes before anything of the system is used."""
    file = tmp_path / "rightseat.toml"
    file.write_text('[models.a]\nspec = "scripted:demo"\n[mcp.files]\ncommand = "npx"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(check_system, "__defaults__", ("win32",))
    result = await run_command(*command.split(), "--config", str(file))
    assert result.code == 1
    assert "error: [mcp.files] command does not work on Windows." in result.err
    assert not (tmp_path / "data").exists()


@pytest.mark.io
@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_no_other_code_uses_what_a_system_has_not(platform: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--cache-dir", str(tmp_path), "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line for line in errors if "Module has no attribute" not in line] == []
    files = {line.partition(":")[0].removeprefix("src/rightseat/") for line in errors}
    assert {file for file in files if not file.startswith(tuple(ABSENT_NAMES[platform]))} == set()
    # A place that is mended is taken off the list.
    assert {place for place in ABSENT_NAMES[platform] if not any(file.startswith(place) for file in files)} == set()


@pytest.mark.io
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_program_for_other_systems_runs_on_this_one() -> None:
    done = subprocess.run([sys.executable, "checks/portable.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line[:4] for line in done.stdout.splitlines()] == ["ok  "] * 4
