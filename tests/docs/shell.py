"""A shell into which tests paste the commands of README, docs and examples."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from tests.docs.lines import OURS
from tests.kit.timeouts import HANG_TIMEOUT

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="the lines are those of a POSIX shell")
ASSIGNED = re.compile(r"export (\w+)=(.*)", re.DOTALL)


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

    def copy_folder(self, source: Path, replaced: Mapping[str, str]) -> None:
        """Copy an example into the shell's folder, with other ports than those that may be taken here."""
        ignored = shutil.ignore_patterns("node_modules", "build", "__pycache__")
        shutil.copytree(source, self.folder, dirs_exist_ok=True, ignore=ignored)
        for file in self.folder.rglob("*"):
            if file.suffix in {".py", ".yaml", ".toml", ".json"}:
                self.replace_text(file, replaced)

    def replace_text(self, file: Path, replaced: Mapping[str, str]) -> None:
        text = file.read_text("utf-8")
        for old, new in replaced.items():
            text = text.replace(old, new)
        file.write_text(text, "utf-8")

    async def run(self, line: str, *, code: int = 0) -> str:
        """Paste lines and wait for their end; returns what they print. An `export` holds for later lines."""
        text = OURS.sub(self.url, line) if self.url else line
        exported = ASSIGNED.fullmatch(text.strip())
        done = await asyncio.to_thread(
            subprocess.run,
            ["sh", "-c", f"printf %s {exported[2]}" if exported else text],
            cwd=self.folder,
            env=self.env,
            # `store restore` asks whether to go on.
            input="y\n",
            capture_output=True,
            text=True,
            timeout=2 * HANG_TIMEOUT,
        )
        assert done.returncode == code, f"{line}\n{done.stdout}\n{done.stderr}"
        if exported:
            self.env[exported[1]] = done.stdout
        return done.stdout

    async def serve(self, line: str, *meanwhile: str, patience: float = HANG_TIMEOUT) -> list[str]:
        """Paste a line that serves; run others while it does, and stop it."""
        async with self.start_server(line, patience=patience):
            return [await self.run(other) for other in meanwhile]

    @contextlib.asynccontextmanager
    async def start_server(self, line: str, *, patience: float = HANG_TIMEOUT) -> AsyncIterator[str]:
        """Paste a line that starts rightseat; it serves at the URL until the block ends."""
        self.ready.unlink(missing_ok=True)
        async with self.start(line, self.ready.exists, patience=patience):
            self.url = self.ready.read_text("utf-8").strip()
            yield self.url

    @contextlib.asynccontextmanager
    async def start(
        self, line: str, is_ready: Callable[[], bool], *, patience: float = HANG_TIMEOUT
    ) -> AsyncIterator[Process]:
        """Paste a line that goes on until the block ends."""
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", line, cwd=self.folder, env=self.env, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        try:
            async with asyncio.timeout(patience):
                while not await asyncio.to_thread(is_ready):
                    assert process.returncode is None, await process.communicate()
                    await asyncio.sleep(0.05)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            await process.communicate()
