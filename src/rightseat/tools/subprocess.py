"""ToolProcesses: tools in child processes (child.py), reused, and killed on timeout or cancellation.

The operator's own tools get the whole environment. A plugin's are confined: a clean environment, limits of
memory and CPU time, and output that goes to the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import Any

import msgspec
from msgspec import Struct, structs

from rightseat.errors import ChildDied, ConfigError
from rightseat.types.streams import start_task

log = logging.getLogger(__name__)
MAX_IDLE = 2
# Seconds that an idle process of a plugin waits for another call.
IDLE_SECONDS = 60.0
MAX_LINE = 16 << 20
# Bytes that one child may print into the log: a printing loop must not fill the disk.
MAX_PRINTED = 64 << 10
# Variables that Python needs; a plugin must not see the server's keys.
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHONHOME")


class Confinement(Struct, frozen=True, kw_only=True):
    """Limits for code that is not the operator's own."""

    folder: str
    """Working folder of the child; its `lib` is a package."""
    memory: int
    """Bytes of address space."""
    seconds: float
    """CPU seconds for one call."""
    environment: dict[str, str] = {}


class ChildReply(Struct, frozen=True):
    value: Any = None
    error: str = ""
    failed: bool = False


class ToolProcesses:
    """Calls one function in child processes: an idle one if there is one, else a new one."""

    def __init__(self, module: str, qualname: str, confinement: Confinement | None = None) -> None:
        if module == "__main__" or "<locals>" in qualname:
            raise ConfigError(
                f"Tool {qualname} is isolated, so its process must be able to import it: "
                "put it at the top level of a module, not into the script that is run."
            )
        self.module = module
        self.qualname = qualname
        self.confinement = confinement
        self.log_tasks: set[asyncio.Task[None]] = set()
        self.kill_tasks: set[asyncio.Task[None]] = set()
        self.idle: list[tuple[asyncio.AbstractEventLoop, asyncio.subprocess.Process]] = []

    async def call(self, args: dict[str, Any]) -> ChildReply:
        process = self.take_idle() or await self.start()
        reuse = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(args) + b"\n")
            try:
                line = await process.stdout.readline()
            except ValueError:
                raise ChildDied(
                    f"Tool {self.qualname} answered with more than {MAX_LINE >> 20} MB. Ask for less at once."
                ) from None
            if not line:
                raise ChildDied(
                    f"The process of tool {self.qualname} died during the call. See the log for the reason."
                )
            reuse = len(self.idle) < MAX_IDLE
            return msgspec.json.decode(line, type=ChildReply)
        finally:
            if reuse:
                self.keep_idle(process)
            else:
                await kill_session(process)

    def keep_idle(self, process: asyncio.subprocess.Process) -> None:
        loop = asyncio.get_running_loop()
        self.idle.append((loop, process))
        if self.confinement is not None:
            # There may be many plugins, and each idle process holds memory.
            loop.call_later(IDLE_SECONDS, self.kill_idle, process)

    def kill_idle(self, process: asyncio.subprocess.Process) -> None:
        entry = next((entry for entry in self.idle if entry[1] is process), None)
        if entry is not None:
            self.idle.remove(entry)
            start_task(kill_session(process), self.kill_tasks)

    def take_idle(self) -> asyncio.subprocess.Process | None:
        """Take an idle child that is alive and belongs to this event loop."""
        loop = asyncio.get_running_loop()
        processes = [process for its_loop, process in self.idle if its_loop is loop and process.returncode is None]
        self.idle = [(loop, process) for process in processes[:-1]]
        return processes[-1] if processes else None

    async def start(self) -> asyncio.subprocess.Process:
        confined = self.confinement
        process = await asyncio.create_subprocess_exec(
            *child_command(self.module, self.qualname, confined),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if confined is None else asyncio.subprocess.PIPE,
            cwd=None if confined is None else confined.folder,
            env=child_environment(confined),
            limit=MAX_LINE,
            start_new_session=True,
        )
        if process.stderr is not None:
            start_task(log_output(process.stderr, self.qualname), self.log_tasks)
        return process

    async def close(self) -> None:
        while (process := self.take_idle()) is not None:
            await kill_session(process)
        await asyncio.gather(*self.kill_tasks)
        # A grandchild that left the session may hold the pipe open forever.
        for task in tuple(self.log_tasks):
            task.cancel()
        await asyncio.gather(*self.log_tasks, return_exceptions=True)


def child_command(module: str, qualname: str, confinement: Confinement | None) -> list[str]:
    if confinement is None:
        return [sys.executable, "-m", "rightseat.tools.child", module, qualname]
    # Without its environment: other users can read a command line.
    confinement_json = msgspec.json.encode(structs.replace(confinement, environment={})).decode()
    # -P: do not import modules from the working folder by accident.
    return [sys.executable, "-P", "-m", "rightseat.tools.child", module, qualname, confinement_json]


def child_environment(confinement: Confinement | None) -> dict[str, str]:
    paths = {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}
    if confinement is None:
        return {**os.environ, **paths}
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    # No bytecode: a new file in the plugin's folder would count as a change of the plugin.
    fixed = {"PYTHONDONTWRITEBYTECODE": "1"}
    return {**inherited, **paths, **fixed, **confinement.environment}


async def log_output(printed: asyncio.StreamReader, qualname: str) -> None:
    """Log what a child prints, up to a limit."""
    bytes_left = MAX_PRINTED
    partial_line = b""
    while data := await printed.read(8192):
        # A line may come in pieces: `print` writes each of its values.
        *lines, partial_line = (partial_line + data[: max(bytes_left, 0)]).split(b"\n")
        for line in lines:
            log_line(qualname, line)
        if 0 < bytes_left <= len(data):
            log.warning("%s prints more than %d KB; the rest is not logged.", qualname, MAX_PRINTED >> 10)
        bytes_left -= len(data)
    if partial_line:
        log_line(qualname, partial_line)


def log_line(qualname: str, line: bytes) -> None:
    log.info("%s: %s", qualname, line.decode("utf-8", "replace").rstrip("\r")[:2000])


async def kill_session(process: asyncio.subprocess.Process) -> None:
    # The whole session: processes that the tool started are killed too.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # The transport closes its pipes one loop step later; a closing loop would warn about them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
