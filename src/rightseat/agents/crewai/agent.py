"""`[agents.NAME] kind = "crewai"`: a crew or flow in a subprocess, reached over AG-UI at the port that it prints.

Importing crewai takes seconds and needs other versions of our dependencies, so it never runs in our process.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.agents._peer.client import AgentClient, AgentOptions, parse_agent_options
from rightseat.agents._peer.source import PeerAgent, PeerSource
from rightseat.agents.agui.agent import AguiAgent
from rightseat.errors import ConfigError, Misused, RightseatError, UpstreamRefused, UpstreamTimeout
from rightseat.tools.subprocess import INHERITED_VARIABLES, kill_session, log_output
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

PROGRAM = Path(__file__).with_name("program.py")

# No telemetry, and no downloads at start.
QUIET_ENVIRONMENT = {
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONUNBUFFERED": "1",
}


class CrewOptions(Struct, frozen=True, kw_only=True):
    crew: str
    """`module:attribute` of a Crew, a Flow class, or a function that returns one."""
    python: str
    """The Python of the environment that has crewai, such as `crew/.venv/bin/python`."""
    folder: str = "."
    """The working folder of the crew, from which its module is imported."""
    env: dict[str, str] = {}
    """Environment variables of the crew besides those that Python needs, such as keys of its models. A value may be
    a reference."""
    start_timeout: float = 120
    """Seconds for starting the crew."""
    timeout: float = 600
    """Seconds without output after which a run fails."""
    title: str = ""
    """The name that front ends show."""
    description: str = ""
    """What the crew is for. Users see it, and models that may hand over to the crew."""


class CrewStartupMessage(Struct, frozen=True):
    port: int = 0
    error: str = ""
    module: str | None = None


class CrewProcess:
    """A crew's subprocess. `on_exit` is called if it exits by itself."""

    def __init__(self, name: str, options: CrewOptions, on_exit: Callable[[RightseatError], None]) -> None:
        self._name = name
        self._options = options
        # A path is relative to our folder, not the crew's; a bare name is searched on PATH.
        self._python = os.path.abspath(options.python) if os.sep in options.python else options.python
        self._folder = os.path.abspath(options.folder)
        inherited = {key: os.environ[key] for key in (*INHERITED_VARIABLES, "HOME") if key in os.environ}
        self._environment = {**inherited, **QUIET_ENVIRONMENT, **options.env}
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
                *(self._python, "-P", str(PROGRAM), self._options.crew),
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
        headers = {"Authorization": f"Bearer {key}"}
        options = AgentOptions(url=f"http://127.0.0.1:{port}", headers=headers, timeout=self._options.timeout, tries=1)
        return AgentClient(self._name, options)

    async def _read_port(self, stdout: asyncio.StreamReader) -> int:
        try:
            async with asyncio.timeout(self._options.start_timeout):
                line = await stdout.readline()
        except TimeoutError as error:
            raise UpstreamTimeout(
                f"The crew of agent {self._name!r} did not start within {self._options.start_timeout:g} s: see its "
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
            f"The crew of agent {self._name!r} cannot be loaded{named}: check that {self._options.crew} can be "
            "imported in its folder; the log has the reason."
        )

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        if self._process is process:
            self._client = None
            self._on_exit(UpstreamRefused(f"The process of agent {self._name!r} has died; its log says why."))


class CrewAgent(PeerAgent):
    can_ask = False

    def __init__(self, name: str, process: CrewProcess, source: PeerSource, options: CrewOptions) -> None:
        super().__init__(name, source, title=options.title or name, description=options.description)
        self._process = process

    @property
    def unavailable_reason(self) -> str:
        return self._source.down or ("The crew is starting." if self._process.is_starting else "")

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        begun = False
        for last in (False, True):
            client = await self._connect()
            agent = AguiAgent(self.name, client, self._source, title=self.title, description=self.description)
            try:
                async with closing(agent(turn)) as events:
                    async for event in events:
                        begun = True
                        yield event
                return
            except UpstreamRefused:
                # The subprocess died unnoticed and did not accept the request: retry once.
                self._process.discard_client(client)
                if begun or last:
                    raise

    async def _connect(self) -> AgentClient:
        try:
            return await self._process.connect()
        except RightseatError as error:
            self._source.mark_down(error)
            raise


class CrewSource(PeerSource):
    def __init__(self, name: str, options: CrewOptions) -> None:
        super().__init__(name)
        self._process = CrewProcess(name, options, self.mark_down)
        self.agents = {name: CrewAgent(name, self._process, self, options)}

    async def close(self) -> None:
        await super().close()
        await self._process.close()

    async def probe(self) -> None:
        """Start the subprocess if it does not run."""
        await self._process.connect()


def crewai(name: str, options: Mapping[str, Any]) -> CrewSource:
    parsed = parse_agent_options("crewai", name, options, CrewOptions)
    module, colon, attribute = parsed.crew.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"The agent {name!r}: crew is not of the form module:attribute.", param="crew")
    return CrewSource(name, parsed)
