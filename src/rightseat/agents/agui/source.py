"""`[agents.NAME] kind = "agui"`: one agent at one address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.agents._peer.lookout import HealthMonitor
from rightseat.agents._peer.options import AgentOptions, make_client, parse_options
from rightseat.agents.agui.agent import AguiAgent
from rightseat.errors import UpstreamError, UpstreamOverloaded, UpstreamRefused, UpstreamTimeout
from rightseat.types.agents import Agent
from rightseat.types.tools import Tool


class AguiSource:
    tools: tuple[Tool, ...] = ()

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._client = make_client(name, options)
        self._health = HealthMonitor(name, self._probe)
        agent = AguiAgent(
            name, self._client, self._health, title=options.title or name, description=options.description
        )
        self.agents: Mapping[str, Agent] = {name: agent}

    async def start(self) -> None:
        await self._health.start()

    async def close(self) -> None:
        await self._health.close()
        self._client.close()

    async def _probe(self) -> None:
        """Check that a server responds, with any status: AG-UI has no route but the one that starts a run."""
        try:
            await self._client.request_json("GET", (), idempotent=False, missing_ok=True)
        except UpstreamError as error:
            if isinstance(error, UpstreamRefused | UpstreamTimeout | UpstreamOverloaded):
                raise


def agui(name: str, options: Mapping[str, Any]) -> AguiSource:
    return AguiSource(name, parse_options("agui", name, options, AgentOptions))
