"""Tools in processes of their own (child.py), kept warm, and killed when a call is over time or cancelled.

The operator's own tools get the whole environment. A plugin's are confined: a clean environment, limits of
memory and processor time, and what they print goes to the log.
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

from rightseat.errors import ConfigError, RightseatError

log = logging.getLogger(__name__)
MAX_IDLE = 2
# Seconds that a plugin's process waits for another call.
REST = 60.0
MAX_LINE = 16 << 20
# What one child may print into the log: a loop that prints must not fill a disk.
MAX_PRINTED = 64 << 10
# No more of the environment than Python needs: no key of the server's is for a plugin.
KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
)


class Confinement(Struct, frozen=True, kw_only=True):
    """How code runs that is not the operator's own."""

    folder: str
    """Where it lives and works: `lib` in it is a package."""
    memory: int
    """Bytes of address space."""
    seconds: float
    """Of the processor, for one call."""
    environment: dict[str, str] = {}


class Reply(Struct, frozen=True):
    value: Any = None
    error: str = ""
    failed: bool = False


class ChildDied(RightseatError):
    code = "tool_crashed"


class Isolated:
    """Calls one function in child processes: a warm one if there is one, else a new one."""

    def __init__(self, module: str, qualname: str, confinement: Confinement | None = None) -> None:
        if module == "__main__" or "<locals>" in qualname:
            raise ConfigError(
                f"Tool {qualname} is isolated, so its process must be able to import it: "
                "put it at the top level of a module, not into the script that is run."
            )
        self.module = module
        self.qualname = qualname
        self.confinement = confinement
        self.listening: set[asyncio.Task[None]] = set()
        self.ending: set[asyncio.Task[None]] = set()
        self.idle: list[tuple[asyncio.AbstractEventLoop, asyncio.subprocess.Process]] = []

    async def call(self, args: dict[str, Any]) -> Reply:
        process = self.warm() or await self.start()
        keep = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(args) + b"\n")
            line = await self.heard(process.stdout)
            if not line:
                raise ChildDied(f"The process of tool {self.qualname} died with the call; its log says why.")
            keep = len(self.idle) < MAX_IDLE
            return msgspec.json.decode(line, type=Reply)
        finally:
            if keep:
                self.rest(process)
            else:
                await kill(process)

    async def heard(self, stdout: asyncio.StreamReader) -> bytes:
        try:
            return await stdout.readline()
        except ValueError:
            raise ChildDied(
                f"Tool {self.qualname} answered with more than {MAX_LINE >> 20} MB. Ask for less at once."
            ) from None

    def rest(self, process: asyncio.subprocess.Process) -> None:
        loop = asyncio.get_running_loop()
        self.idle.append((loop, process))
        if self.confinement is not None:
            # There may be many plugins, and each waiting process holds its memory.
            loop.call_later(REST, self.expire, process)

    def expire(self, process: asyncio.subprocess.Process) -> None:
        """End a child that is still, or again, without work."""
        entry = next((entry for entry in self.idle if entry[1] is process), None)
        if entry is not None:
            self.idle.remove(entry)
            task = asyncio.create_task(kill(process))
            self.ending.add(task)
            task.add_done_callback(self.ending.discard)

    def warm(self) -> asyncio.subprocess.Process | None:
        """A child that lives and belongs to this loop."""
        loop = asyncio.get_running_loop()
        mine = [process for of, process in self.idle if of is loop and process.returncode is None]
        self.idle = [(loop, process) for process in mine[:-1]]
        return mine[-1] if mine else None

    async def start(self) -> asyncio.subprocess.Process:
        confined = self.confinement
        process = await asyncio.create_subprocess_exec(
            *command(self.module, self.qualname, confined),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if confined is None else asyncio.subprocess.PIPE,
            cwd=None if confined is None else confined.folder,
            env=environment(confined),
            limit=MAX_LINE,
            start_new_session=True,
        )
        if process.stderr is not None:
            task = asyncio.create_task(listen(process.stderr, self.qualname))
            self.listening.add(task)
            task.add_done_callback(self.listening.discard)
        return process

    async def close(self) -> None:
        while (process := self.warm()) is not None:
            await kill(process)
        await asyncio.gather(*self.ending)
        # A process that left the child's session may hold the pipe open for ever.
        for task in tuple(self.listening):
            task.cancel()
        await asyncio.gather(*self.listening, return_exceptions=True)


def command(module: str, qualname: str, confinement: Confinement | None) -> list[str]:
    if confinement is None:
        return [sys.executable, "-m", "rightseat.tools.child", module, qualname]
    # Without the environment it is given: a command line can be read by anyone on the machine.
    told = msgspec.json.encode(structs.replace(confinement, environment={})).decode()
    # -P: modules beside whatever the child works in are not for it to import by accident.
    return [sys.executable, "-P", "-m", "rightseat.tools.child", module, qualname, told]


def environment(confinement: Confinement | None) -> dict[str, str]:
    paths = {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}
    if confinement is None:
        return {**os.environ, **paths}
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    # A plugin's folder stays as it is: a change in it would be taken for one of the plugin.
    ours = {"PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **paths, **ours, **confinement.environment}


async def listen(printed: asyncio.StreamReader, qualname: str) -> None:
    """What a child prints, into the log, up to a limit."""
    room = MAX_PRINTED
    kept = b""
    while data := await printed.read(8192):
        # A line may come in pieces: `print` with several values writes each of them.
        *lines, kept = (kept + data[: max(room, 0)]).split(b"\n")
        for line in lines:
            tell(qualname, line)
        if 0 < room <= len(data):
            log.warning("%s prints more than %d KB; the rest is not logged.", qualname, MAX_PRINTED >> 10)
        room -= len(data)
    if kept:
        tell(qualname, kept)


def tell(qualname: str, line: bytes) -> None:
    log.info("%s: %s", qualname, line.decode("utf-8", "replace").rstrip("\r")[:2000])


async def kill(process: asyncio.subprocess.Process) -> None:
    # The whole session: what the tool has started goes with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # The transport's pipes close one loop step later; without this a closing loop complains of them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
