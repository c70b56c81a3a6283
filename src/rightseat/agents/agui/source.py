"""`[agents.NAME] kind = "agui"`: one agent at one address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.agents._peer.lookout import Lookout
from rightseat.agents._peer.options import Options, reach_of, settled
from rightseat.agents.agui.agent import AguiAgent
from rightseat.errors import UpstreamError, UpstreamOverloaded, UpstreamRefused, UpstreamTimeout
from rightseat.types.agents import Agent
from rightseat.types.tools import Tool


class AguiSource:
    tools: tuple[Tool, ...] = ()

    def __init__(self, name: str, options: Options) -> None:
        self._reach = reach_of(name, options)
        self._lookout = Lookout(name, self._look)
        agent = AguiAgent(
            name, self._reach, self._lookout, title=options.title or name, description=options.description
        )
        self.agents: Mapping[str, Agent] = {name: agent}

    async def start(self) -> None:
        await self._lookout.start()

    async def close(self) -> None:
        await self._lookout.close()
        self._reach.close()

    async def _look(self) -> None:
        """Check that a server responds, with any status: AG-UI has no route but the one that starts a run."""
        try:
            await self._reach.json("GET", (), repeatable=False, absent=True)
        except UpstreamError as error:
            if isinstance(error, UpstreamRefused | UpstreamTimeout | UpstreamOverloaded):
                raise


def agui(name: str, options: Mapping[str, Any]) -> AguiSource:
    return AguiSource(name, settled("agui", name, options, Options))
