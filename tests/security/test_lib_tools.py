"""Python tools of a plugin attack the server that runs them: each attack fails over real HTTP, honest tools work."""

import json
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat.tools.sandbox.landlock import SCOPE_VERSION, get_landlock_version
from rightseat.tools.sandbox.machine import probe_machine, run_probe
from tests.kit import limited_kernel
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.security.attacks import lib_tool

pytestmark = [pytest.mark.io, pytest.mark.demand("security.lib_tools_confined")]
SECRET = "canary-in-a-file"
MANIFEST = {"name": "Kit", "description": "Tools of a test.", "predefined_question": "?"}


NO_NAMESPACES, NO_LANDLOCK = "a container without namespaces", "a kernel without Landlock"
MISSING_CALLS = {NO_NAMESPACES: ("unshare",), NO_LANDLOCK: ("landlock_create_ruleset",)}


class LimitedProcess(RightseatProcess):
    """A server on a kernel that lacks some system calls."""

    missing_calls: tuple[str, ...] = ()

    def command_line(self) -> list[str]:
        line = super().command_line()
        return limited_kernel.wrap_command(line, self.missing_calls) if self.missing_calls else line


class VictimFiles:
    """Files outside the plugin's folder: what a tool must not reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "secret.txt"
        self.file.write_text(SECRET)
        self.database = folder / "data.db"
        with sqlite3.connect(self.database) as connection:
            connection.execute("create table secrets (text)")
        connection.close()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "socket"))
        self.listener.listen()

    def stamps(self) -> list[tuple[str, int, int, bytes]]:
        """Names, modes, sizes and bytes: equal before and after an attack that failed."""
        return [
            (entry.name, entry.stat().st_mode, entry.stat().st_size, b"" if entry.is_socket() else entry.read_bytes())
            for entry in sorted(self.folder.iterdir())
        ]


@pytest.fixture(scope="module")
def victim() -> Iterator[VictimFiles]:
    # Readable for every user: what closes it is the confinement, not a mode.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        files = VictimFiles(Path(folder))
        yield files
        files.listener.close()


@pytest.fixture(scope="module")
def plugin() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        kit = Path(folder) / "kit"
        (kit / "lib").mkdir(parents=True)
        (kit / "plugin.json").write_text(json.dumps(MANIFEST))
        (kit / "data.txt").write_text("beside")
        shutil.copy(lib_tool.__file__, kit / "lib" / "attacks.py")
        yield kit


def attack_turn(name: str, path: str) -> dict[str, Any]:
    call = {"name": "kit_attack", "arguments": {"name": name, "path": path}}
    return {"when": {"user": f"^{name} {path}$"}, "calls": [call]}


def skip_unless_confined(kernel: str) -> None:
    if kernel == NO_NAMESPACES and get_landlock_version() == 0:
        pytest.skip("without namespaces this needs Landlock, which this kernel or container does not have")
    if kernel == NO_LANDLOCK and getattr(run_probe(("namespace",)), "layer", "") is not None:
        pytest.skip("without Landlock this needs namespaces, which this container or user may not make")
    if not probe_machine().holds:
        pytest.skip(f"this machine cannot confine a process: {probe_machine().describe()}")


@pytest_asyncio.fixture(
    loop_scope="module",
    scope="module",
    params=[
        "this kernel",
        pytest.param(NO_NAMESPACES, marks=pytest.mark.long),
        pytest.param(NO_LANDLOCK, marks=pytest.mark.long),
    ],
)
async def server(plugin: Path, victim: VictimFiles, request: pytest.FixtureRequest) -> AsyncIterator[RightseatProcess]:
    skip_unless_confined(request.param)
    script = plugin.parent / "script.json"
    targets = [str(path) for path in (victim.file, victim.database, victim.folder, plugin / "data.txt", plugin)]
    targets += [str(victim.folder / "socket"), "/etc/passwd", ""]
    config = f'[store]\npath = "data"\n[[plugins]]\npath = "{plugin}"\n'
    process = LimitedProcess(model=f"scripted:{script}", config=config, env={"SERVER_KEY": "canary-in-the-environment"})
    process.missing_calls = MISSING_CALLS.get(request.param, ())
    targets += [str(process.folder / "rightseat.toml"), str(process.folder / "data" / "rightseat.db")]
    turns = [
        {"when": {"tool": "kit_attack"}, "say": "{result}"},
        {"when": {"tool": "kit_work"}, "say": "{result}"},
        {"when": {"tool": "kit_stop"}, "say": "{result}"},
        {"when": {"user": "^work"}, "calls": [{"name": "kit_work", "arguments": {"text": "x"}}]},
        {"when": {"user": "^stop"}, "calls": [{"name": "kit_stop", "arguments": {"seconds": 20}}]},
        *(attack_turn(name, target) for name in lib_tool.ATTACKS for target in targets),
    ]
    script.write_text(json.dumps({"turns": turns}), "utf-8")
    async with process:
        yield process


async def ask(server: RightseatProcess, text: str) -> str:
    async with RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", {"messages": [{"role": "user", "content": text}]})
        await client.read_head()
        body = await client.read_json()
    answer: str = body["choices"][0]["message"]["content"]
    return answer


async def check_stopped(server: RightseatProcess, name: str, path: str = "") -> None:
    answer = await ask(server, f"{name} {path}")
    assert answer.startswith("STOPPED "), answer
    assert "canary" not in answer
    assert server.returncode is None


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "name",
    [
        *("environ", "memory", "server_descriptors", "trace", "read_memory", "send_signal", "send_signal_to_group"),
        *("limit_server", "own_environment", "become_root"),
    ],
)
async def test_the_server_is_out_of_reach(server: RightseatProcess, name: str) -> None:
    await check_stopped(server, name)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ["read", "link", "symlink", "spawn", "server_root", "write", "remove", "rename"])
async def test_files_of_others_are_closed(server: RightseatProcess, victim: VictimFiles, name: str) -> None:
    before = victim.stamps()
    await check_stopped(server, name, str(victim.file))
    await check_stopped(server, name, str(victim.database))
    assert victim.stamps() == before


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ["truncate", "change_mode"])
async def test_files_of_others_are_not_changed(server: RightseatProcess, victim: VictimFiles, name: str) -> None:
    before = victim.stamps()
    await check_stopped(server, name, str(victim.file))
    assert victim.stamps() == before


@pytest.mark.asyncio(loop_scope="module")
async def test_folders_of_others_are_closed(server: RightseatProcess, victim: VictimFiles) -> None:
    await check_stopped(server, "list_folder", str(victim.folder))
    await check_stopped(server, "create", str(victim.folder))
    await check_stopped(server, "connect_socket", str(victim.folder / "socket"))
    await check_stopped(server, "read", "/etc/passwd")


@pytest.mark.asyncio(loop_scope="module")
async def test_the_servers_own_files_are_closed(server: RightseatProcess) -> None:
    config = server.folder / "rightseat.toml"
    store = server.folder / "data" / "rightseat.db"
    assert config.exists()
    assert store.exists(), sorted(server.folder.rglob("*"))
    for file in (config, store):
        for name in ("read", "write", "remove", "server_root"):
            await check_stopped(server, name, str(file))
    assert config.exists()


@pytest.mark.asyncio(loop_scope="module")
async def test_the_plugins_own_folder_is_read_only(server: RightseatProcess, plugin: Path) -> None:
    assert await ask(server, f"read {plugin / 'data.txt'}") == "REACHED beside"
    for name in ("write", "remove", "rename", "truncate", "change_mode"):
        await check_stopped(server, name, str(plugin / "data.txt"))
    await check_stopped(server, "create", str(plugin))
    assert (plugin / "data.txt").read_text() == "beside"


@pytest.mark.asyncio(loop_scope="module")
async def test_honest_work_is_done(server: RightseatProcess) -> None:
    assert json.loads(await ask(server, "work")) == {
        "later": "later",
        "data": "beside",
        "cwd": "beside",
        "names": True,
        "random": 4,
        "child": "hi",
        "home": True,
    }
    assert "Python tools of plugins are confined" in server.stderr


@pytest.mark.asyncio(loop_scope="module")
async def test_programs_of_its_own_can_be_stopped(server: LimitedProcess) -> None:
    limits_signals = get_landlock_version() >= SCOPE_VERSION and "landlock_create_ruleset" not in server.missing_calls
    if not limits_signals and "a user of its own" not in server.stderr:
        pytest.skip("signals are limited by the filter, which does not know a tool's own programs")
    assert await ask(server, "stop") == "stopped"


TRUSTED = 'lib = "trusted"\n'


@pytest.mark.parametrize("lib", ["", TRUSTED])
async def test_where_nothing_can_be_confined_trust_is_said(plugin: Path, lib: str) -> None:
    """The server starts and says the line to add; with it the tools run with the server's rights."""
    config = f'[[plugins]]\npath = "{plugin}"\n{lib}'
    (plugin.parent / "script.json").write_text(
        json.dumps({"turns": [{"when": {"tool": "kit_attack"}, "say": "{result}"}, attack_turn("environ", "")]})
    )
    process = LimitedProcess(
        model=f"scripted:{plugin.parent / 'script.json'}", config=config, env={"SERVER_KEY": "canary-key"}
    )
    process.missing_calls = ("unshare", "landlock_create_ruleset")
    async with process:
        answer = await ask(process, "environ ")
        if lib:
            # The attacks of this module are real: here one reaches its target.
            assert "canary-key" in answer
            assert "Plugin kit: its Python tools are trusted" in process.stderr
        else:
            assert "no tool 'kit_attack'" in answer
            assert "Its Python tools are left out, because this machine cannot confine them" in process.stderr
            assert 'write lib = "trusted" into its [[plugins]] table' in process.stderr
