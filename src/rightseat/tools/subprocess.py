"""ToolProcesses: tools in child processes (child.py), reused, and killed on timeout or cancellation.

The operator's own tools get the whole environment. A plugin's are confined: a clean environment, limits of
memory and CPU time, output that goes to the log, and the sandbox unless the operator trusts the plugin.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from rightseat.errors import ChildDied, ConfigError
from rightseat.tools.sandbox.plan import SandboxPlan, add_scratch, make_environment, remove_scratch
from rightseat.types.streams import start_task

log = logging.getLogger(__name__)
MAX_IDLE = 2
# Seconds that an idle process of a plugin waits for another call.
IDLE_SECONDS = 60.0
MAX_LINE = 16 << 20
# Asks for the signature, for which the child loads the function.
LOAD_LINE = b"null"
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
    sandbox: SandboxPlan | None = None
    """What the child may reach. None for code that the operator trusts."""


class ChildLaunch(NamedTuple):
    """Command line, working folder and environment of one child. Its scratch folder exists: remove it at the end."""

    command: list[str]
    folder: str | None
    environment: dict[str, str]
    sandbox: SandboxPlan | None

    def remove_scratch(self) -> None:
        if self.sandbox is not None:
            remove_scratch(self.sandbox)


class ChildReply(Struct, frozen=True):
    value: Any = None
    error: str = ""
    failed: bool = False
    out_of_memory: bool = False
    """Whether the call met the limit of memory; its child is not used again."""


class ToolProcesses:
    """Calls one function in child processes: an idle one if there is one, else a new one."""

    def __init__(
        self,
        module: str,
        qualname: str,
        confinement: Confinement | None = None,
        max_line: int = MAX_LINE,
        max_idle: int = MAX_IDLE,
    ) -> None:
        if module == "__main__" or "<locals>" in qualname:
            raise ConfigError(
                f"Tool {qualname} is isolated, so its process must be able to import it: "
                "put it at the top level of a module, not into the script that is run."
            )
        self.module = module
        self.qualname = qualname
        self.confinement = confinement
        self.max_line = max_line
        self.max_idle = max_idle
        self.log_tasks: set[asyncio.Task[None]] = set()
        self.kill_tasks: set[asyncio.Task[None]] = set()
        self.idle: list[tuple[asyncio.AbstractEventLoop, asyncio.subprocess.Process]] = []
        self.launches: dict[asyncio.subprocess.Process, ChildLaunch] = {}

    async def call(self, args: dict[str, Any], seconds: float | None = None) -> ChildReply:
        """Call the function. TimeoutError after `seconds`, and the child is killed; its start does not count."""
        line = msgspec.json.encode(args)
        idle = self.take_idle()
        process = idle or await self.start()
        reuse = False
        try:
            if idle is None and seconds is not None:
                await self.exchange(process, LOAD_LINE)
            async with asyncio.timeout(seconds):
                reply = await self.exchange(process, line)
            reuse = len(self.idle) < self.max_idle and not reply.out_of_memory
            return reply
        finally:
            if reuse:
                self.keep_idle(process)
            else:
                await self.end(process)

    async def end(self, process: asyncio.subprocess.Process) -> None:
        """Kill a child and remove its scratch folder."""
        try:
            await kill_session(process)
        finally:
            if (launch := self.launches.pop(process, None)) is not None and launch.sandbox is not None:
                # A tool may have written many files.
                await asyncio.to_thread(launch.remove_scratch)

    async def exchange(self, process: asyncio.subprocess.Process, line: bytes) -> ChildReply:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + b"\n")
        try:
            answer = await process.stdout.readline()
        except ValueError:
            raise ChildDied(
                f"Tool {self.qualname} answered with more than {self.max_line >> 20} MB. Ask for less at once."
            ) from None
        if not answer:
            raise ChildDied(f"The process of tool {self.qualname} died during the call. See the log for the reason.")
        return msgspec.json.decode(answer, type=ChildReply)

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
            start_task(self.end(process), self.kill_tasks)

    def take_idle(self) -> asyncio.subprocess.Process | None:
        """Take an idle child that is alive and belongs to this event loop."""
        loop = asyncio.get_running_loop()
        processes = [process for its_loop, process in self.idle if its_loop is loop and process.returncode is None]
        others = [entry for entry in self.idle if entry[0] is not loop and not entry[0].is_closed()]
        kept = {process for _, process in others}.union(processes)
        for _, process in self.idle:
            if process not in kept and (launch := self.launches.pop(process, None)) is not None:
                launch.remove_scratch()
        self.idle = [*others, *((loop, process) for process in processes[:-1])]
        return processes[-1] if processes else None

    async def start(self) -> asyncio.subprocess.Process:
        launch = prepare_child(self.module, self.qualname, self.confinement)
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if self.confinement is None else asyncio.subprocess.PIPE,
                cwd=launch.folder,
                env=launch.environment,
                limit=self.max_line,
                start_new_session=True,
            )
        except BaseException:
            launch.remove_scratch()
            raise
        self.launches[process] = launch
        if process.stderr is not None:
            start_task(log_output(process.stderr, self.qualname), self.log_tasks)
        return process

    async def close(self) -> None:
        while (process := self.take_idle()) is not None:
            await self.end(process)
        await asyncio.gather(*self.kill_tasks)
        # A grandchild that left the session may hold the pipe open forever.
        for task in tuple(self.log_tasks):
            task.cancel()
        await asyncio.gather(*self.log_tasks, return_exceptions=True)


def prepare_child(module: str, qualname: str, confinement: Confinement | None) -> ChildLaunch:
    """Make the command of a new child, and its scratch folder if it is in the sandbox."""
    command = [sys.executable, "-m", "rightseat.tools.child", module, qualname]
    paths = {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}
    if confinement is None:
        return ChildLaunch(command, None, {**os.environ, **paths}, None)
    # -P: do not import modules from the working folder by accident.
    command.insert(1, "-P")
    sandbox = confinement.sandbox
    if sandbox is None:
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        # No bytecode: a new file in the plugin's folder would count as a change of the plugin.
        environment = {**inherited, **paths, "PYTHONDONTWRITEBYTECODE": "1"}
    else:
        sandbox = add_scratch(sandbox)
        environment = make_environment(sandbox)
    # Without its environment: other users can read a command line.
    public = structs.replace(confinement, environment={}, sandbox=sandbox)
    command.append(msgspec.json.encode(public).decode())
    return ChildLaunch(command, confinement.folder, {**environment, **confinement.environment}, sandbox)


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
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # The transport closes its pipes one loop step later; a closing loop would warn about them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
