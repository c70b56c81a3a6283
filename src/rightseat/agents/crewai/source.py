"""`[agents.NAME] kind = "crewai"`: a crew or flow, reached over AG-UI."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.lookout import HealthMonitor
from rightseat.agents._peer.options import parse_options
from rightseat.agents._peer.reach import AgentClient
from rightseat.agents.agui.agent import AguiAgent
from rightseat.agents.crewai.process import CrewProcess
from rightseat.errors import ConfigError, RightseatError, UpstreamRefused
from rightseat.types.agents import Agent, AgentThreadState
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn


class CrewOptions(Struct, frozen=True, kw_only=True):
    crew: str
    """`module:attribute` of a Crew, a Flow class, or a function that makes one."""
    python: str
    """The Python of the environment that has crewai, such as `crew/.venv/bin/python`."""
    folder: str = "."
    """Where the crew runs, and its module is found."""
    env: dict[str, str] = {}
    """Its environment besides what Python needs: keys of its models. A value may be a reference."""
    start_timeout: float = 120
    """Seconds for the start."""
    timeout: float = 600
    """Seconds for which it may say nothing."""
    title: str = ""
    """What people are shown."""
    description: str = ""
    """What it is for: people read it, and models that may hand over to it."""


class CrewAgent:
    can_ask = False

    def __init__(self, name: str, process: CrewProcess, health: HealthMonitor, options: CrewOptions) -> None:
        self.name = name
        self.title = options.title or name
        self.description = options.description
        self._process = process
        self._health = health

    @property
    def unavailable_reason(self) -> str:
        if self._process.is_starting and not self._health.down:
            return "The crew is starting."
        return self._health.down

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        """Return None: a crew remembers no threads."""
        return None

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        begun = False
        for last in (False, True):
            client = await self._connect()
            agent = AguiAgent(self.name, client, self._health, title=self.title, description=self.description)
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
            self._health.mark_down(error)
            raise


class CrewSource:
    tools: tuple[Tool, ...] = ()

    def __init__(self, name: str, options: CrewOptions) -> None:
        self._health = HealthMonitor(name, self._probe)
        self._process = CrewProcess(
            name,
            (resolve_python(options.python), options.crew),
            folder=os.path.abspath(options.folder),
            environment=options.env,
            start_timeout=options.start_timeout,
            timeout=options.timeout,
            on_exit=self._health.mark_down,
        )
        agent = CrewAgent(name, self._process, self._health, options)
        self.agents: Mapping[str, Agent] = {name: agent}

    async def start(self) -> None:
        """Start the subprocess; after a few seconds the start goes on in the background."""
        await self._health.start()

    async def close(self) -> None:
        await self._health.close()
        await self._process.close()

    async def _probe(self) -> None:
        await self._process.connect()


def resolve_python(python: str) -> str:
    """Make a path absolute, relative to our folder and not the crew's. A bare name is searched on PATH."""
    return os.path.abspath(python) if os.sep in python else python


def crewai(name: str, options: Mapping[str, Any]) -> CrewSource:
    parsed = parse_options("crewai", name, options, CrewOptions)
    module, colon, attribute = parsed.crew.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"The agent {name!r}: crew is not of the form module:attribute.", param="crew")
    return CrewSource(name, parsed)
