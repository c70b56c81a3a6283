"""The command lines of README and docs, run by a shell as they are pasted."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from tests.docs.lines import NOT_RUN, OURS, RUN_BY, find_patterns, list_lines, list_page_lines
from tests.docs.test_docs import PAGES, find_blocks
from tests.docs.test_flows import write_inventory
from tests.kit.timeouts import HANG_TIMEOUT

LINES = list_lines()
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="the lines are those of a POSIX shell")
# Variables that every shell has: what they hold is no secret.
PUBLIC_VARIABLES = {"HOME", "PATH", "USER", "SHELL", "PWD", "LANG", "LOGNAME", "TERM", "HOSTNAME"}


@pytest.mark.demand("first_hour.snippets_run")
def test_every_line_is_run_or_has_a_reason() -> None:
    assert len(LINES) > 60
    assert [(line.page, line.text, found) for line in LINES if len(found := find_patterns(line)) != 1] == []


@pytest.mark.demand("first_hour.snippets_run")
def test_the_tables_name_no_line_that_is_gone() -> None:
    used = {pattern for line in LINES for pattern in find_patterns(line)}
    assert {*RUN_BY, *NOT_RUN} - used == set()


@pytest.mark.demand("first_hour.no_env_home")
def test_no_page_takes_a_variable_of_the_shell_for_a_secret() -> None:
    texts = [(page.name, text) for page in PAGES for text in find_blocks(page, "toml")]
    named = [(name, variable) for name, text in texts for variable in re.findall(r"env:(\w+)", text)]
    assert len(named) > 5
    assert [item for item in named if item[1] in PUBLIC_VARIABLES] == []


class PastingShell:
    """A shell in an empty home, where the server takes any port and the demo answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ready = folder / "ready"
        self.url = ""
        self.env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "RIGHTSEAT_PORT": "0",
            "RIGHTSEAT_MODEL": "scripted:demo",
            "RIGHTSEAT_READY_FILE": str(self.ready),
        }

    async def run(self, line: str) -> str:
        """Paste a line and wait for its end; returns what it prints."""
        command = ["sh", "-c", OURS.sub(self.url, line) if self.url else line]
        done = await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=self.folder,
            env=self.env,
            # `store restore` asks whether to go on.
            input="y\n",
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    async def serve(self, line: str, *meanwhile: str) -> list[str]:
        """Paste a line that serves; run others while it does, and stop it."""
        self.ready.unlink(missing_ok=True)
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", f"exec {line}", cwd=self.folder, env=self.env, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        try:
            async with asyncio.timeout(HANG_TIMEOUT):
                while not self.ready.exists():
                    assert process.returncode is None, await process.communicate()
                    await asyncio.sleep(0.05)
            self.url = self.ready.read_text().strip()
            return [await self.run(other) for other in meanwhile]
        finally:
            process.send_signal(signal.SIGTERM)
            await process.communicate()


@pytest.fixture
def shell(tmp_path: Path) -> PastingShell:
    return PastingShell(tmp_path)


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
async def test_serve_and_doctor(shell: PastingShell) -> None:
    # The page says that a Workspace of one's own needs its origin there.
    (shell.folder / "rightseat.toml").write_text('[server]\ncors = ["https://workspace.example.com"]\n', "utf-8")
    [serve] = list_page_lines("docs/openbb.md", "rightseat serve")
    checks = [line for line in list_page_lines("docs/openbb.md", "rightseat doctor") if "--ask" not in line]
    # The others name a key of a server that asks for one: test_first_hour runs them.
    plain = [line for line in list_page_lines("docs/start.md", "rightseat doctor") if "--key" not in line]
    outputs = await shell.serve(serve, *plain, *checks)
    assert len(outputs) == 3
    assert all(output.endswith("Everything works.\n") for output in outputs), outputs


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize("page", ["docs/plugins.md", "docs/plugins.zh.md"])
async def test_plugins(shell: PastingShell, page: str) -> None:
    *before, serve = list_page_lines(page, "rightseat")
    for line in before:
        await shell.run(line)
    await shell.serve(serve)


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize(("page", "language"), [("docs/flows.md", "en"), ("docs/flows.zh.md", "zh")])
async def test_flows(shell: PastingShell, page: str, language: str) -> None:
    write_inventory(language, shell.folder)
    for line in list_page_lines(page, "rightseat"):
        if " run " not in line:
            await shell.run(line)
    assert (shell.folder / "report.svg").is_file()


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
async def test_store(shell: PastingShell) -> None:
    await shell.serve("rightseat serve")
    for line in list_page_lines("docs/operate.md", "rightseat store"):
        await shell.run(line)
    assert (shell.folder / "FILE").is_file()


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize("line", list_page_lines("docs/scale.md", "rightseat serve --workers"))
async def test_workers(shell: PastingShell, line: str) -> None:
    await shell.serve(line)


def test_the_data_folder_of_the_command_line(tmp_path: Path) -> None:
    assert load_config(None, data=tmp_path / "own", env={}).store.path == str(tmp_path / "own")
