"""Subprocess of a crew: started on demand, reached at the port that it prints, stopped with this process.

Importing crewai takes seconds and needs other versions of our dependencies, so it never runs in our process.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from rightseat.agents._peer.reach import AgentClient
from rightseat.errors import Misused, RightseatError, UpstreamRefused, UpstreamTimeout
from rightseat.tools.subprocess import INHERITED_VARIABLES, kill_session, log_output

PROGRAM = Path(__file__).with_name("program.py")
# No telemetry, and no downloads at start.
QUIET_ENVIRONMENT = {
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONUNBUFFERED": "1",
}


class CrewStartupMessage(Struct, frozen=True):
    port: int = 0
    error: str = ""
    module: str | None = None


class CrewProcess:
    """A crew's subprocess. `on_exit` is called if it exits by itself."""

    def __init__(
        self,
        name: str,
        command: tuple[str, str],
        *,
        folder: str,
        environment: Mapping[str, str],
        start_timeout: float,
        timeout: float,
        on_exit: Callable[[RightseatError], None],
    ) -> None:
        self._name = name
        self._python, self._crew = command
        self._folder = folder
        inherited = {key: os.environ[key] for key in (*INHERITED_VARIABLES, "HOME") if key in os.environ}
        self._environment = {**inherited, **QUIET_ENVIRONMENT, **environment}
        self._start_timeout = start_timeout
        self._timeout = timeout
        self._on_exit = on_exit
        self._lock = asyncio.Lock()
        self._client: AgentClient | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_starting(self) -> bool:
        return self._lock.locked()

    async def connect(self) -> AgentClient:
        """Return a client of the subprocess, which is started if needed; callers share one start."""
        async with self._lock:
            if self._client is not None:
                return self._client
            await self._stop()
            try:
                self._client = await self._start()
            finally:
                if self._client is None:
                    await self._stop()
            return self._client

    def discard_client(self, client: AgentClient) -> None:
        """Drop a client that cannot connect; the next `connect` restarts the subprocess."""
        if self._client is client:
            client.close()
            self._client = None

    async def close(self) -> None:
        async with self._lock:
            await self._stop()

    async def _stop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        tasks, self._tasks = self._tasks, []
        for task in tasks[1:]:
            task.cancel()
        process, self._process = self._process, None
        if process is not None:
            await kill_session(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self) -> AgentClient:
        key = secrets.token_urlsafe(32)
        try:
            process = await asyncio.create_subprocess_exec(
                # -P: modules in our program's folder must not shadow the crew's.
                *(self._python, "-P", str(PROGRAM), self._crew),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            raise Misused(
                f"Agent {self._name!r}: {self._python} cannot be run. Set python to the one of an "
                "environment that has crewai, and folder to where the crew lives."
            ) from error
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._tasks = [asyncio.create_task(log_output(process.stderr, f"agent {self._name}"))]
        # The key goes through the pipe: other users can read command lines and environments.
        process.stdin.write(f"{key}\n".encode())
        port = await self._read_port(process.stdout)
        self._tasks.append(asyncio.create_task(self._watch(process)))
        url = f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Bearer {key}"}
        return AgentClient(self._name, url, headers=headers, timeout=self._timeout, tries=1)

    async def _read_port(self, stdout: asyncio.StreamReader) -> int:
        try:
            async with asyncio.timeout(self._start_timeout):
                line = await stdout.readline()
        except TimeoutError as error:
            raise UpstreamTimeout(
                f"The crew of agent {self._name!r} did not start within {self._start_timeout:g} s: see its "
                "log, or raise start_timeout."
            ) from error
        try:
            message = msgspec.json.decode(line, type=CrewStartupMessage)
        except msgspec.MsgspecError:
            message = CrewStartupMessage()
        if message.port:
            return message.port
        if message.module and message.module.partition(".")[0] == "crewai":
            raise Misused(
                f"Agent {self._name!r}: the environment of {self._python} has no crewai, or one before 1.15. "
                "Install it there."
            )
        named = f" ({message.error})" if message.error.isidentifier() else ""
        raise Misused(
            f"The crew of agent {self._name!r} cannot be loaded{named}: check that {self._crew} can be "
            "imported in its folder; the log has the reason."
        )

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        if self._process is process:
            self._client = None
            self._on_exit(UpstreamRefused(f"The process of agent {self._name!r} has died; its log says why."))
