"""Tools in processes of their own (child.py), kept warm, and killed when a call is over time or cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError, RightseatError

MAX_IDLE = 2
MAX_LINE = 16 << 20


class Reply(Struct, frozen=True):
    value: Any = None
    error: str = ""
    failed: bool = False


class ChildDied(RightseatError):
    code = "tool_crashed"


class Isolated:
    """Calls one function in child processes: a warm one if there is one, else a new one."""

    def __init__(self, module: str, qualname: str) -> None:
        if module == "__main__" or "<locals>" in qualname:
            raise ConfigError(
                f"Tool {qualname} is isolated, so its process must be able to import it: "
                "put it at the top level of a module, not into the script that is run."
            )
        self.module = module
        self.qualname = qualname
        self.idle: list[tuple[asyncio.AbstractEventLoop, asyncio.subprocess.Process]] = []

    async def call(self, args: dict[str, Any]) -> Reply:
        process = self.warm() or await self.start()
        keep = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(args) + b"\n")
            line = await process.stdout.readline()
            if not line:
                raise ChildDied(f"The process of tool {self.qualname} died with the call; its log says why.")
            keep = len(self.idle) < MAX_IDLE
            return msgspec.json.decode(line, type=Reply)
        finally:
            if keep:
                self.idle.append((asyncio.get_running_loop(), process))
            else:
                await kill(process)

    def warm(self) -> asyncio.subprocess.Process | None:
        """A child that lives and belongs to this loop."""
        loop = asyncio.get_running_loop()
        mine = [process for of, process in self.idle if of is loop and process.returncode is None]
        self.idle = [(loop, process) for process in mine[:-1]]
        return mine[-1] if mine else None

    async def start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "rightseat.child",
            self.module,
            self.qualname,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            limit=MAX_LINE,
            start_new_session=True,
        )

    async def close(self) -> None:
        while (process := self.warm()) is not None:
            await kill(process)


async def kill(process: asyncio.subprocess.Process) -> None:
    # The whole session: what the tool has started goes with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # The transport's pipes close one loop step later; without this a closing loop complains of them.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
