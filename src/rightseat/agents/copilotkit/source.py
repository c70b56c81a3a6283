"""`[agents.NAME] kind = "copilotkit"`: all the agents and actions of one remote endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.agents._peer.lookout import HealthMonitor
from rightseat.agents._peer.options import AgentOptions, make_client, parse_options
from rightseat.agents.copilotkit.actions import parse_actions
from rightseat.agents.copilotkit.agent import CopilotKitAgent
from rightseat.errors import (
    DiscoveryFailed,
    RightseatError,
    UpstreamDenied,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamRejected,
)
from rightseat.http.address import parse_base_url
from rightseat.types.agents import Agent
from rightseat.types.tools import Tool


class CopilotKitOptions(AgentOptions, frozen=True, kw_only=True):
    agents: tuple[str, ...] = ()
    """Only these of the endpoint's agents; none: all of them."""
    refresh: float = 60
    """Seconds after which the endpoint is asked again what it has."""


class CopilotKitEndpoint:
    """An AgentSource of one remote endpoint. Until discovery succeeds it lists the configured agents, or one
    named like the endpoint, as down."""

    def __init__(self, name: str, options: CopilotKitOptions) -> None:
        self._name = name
        self._options = options
        self._path = parse_base_url(options.url, f"The url of agent {name!r}").path.rstrip("/") + "/info"
        self._client = make_client(name, options)
        self._health = HealthMonitor(name, self._probe, interval=options.refresh)
        self.tools: tuple[Tool, ...] = ()
        self.agents: Mapping[str, Agent] = {
            known: self._make_agent(known, options.description) for known in options.agents or (name,)
        }

    def _make_agent(self, name: str, description: str) -> CopilotKitAgent:
        title = self._options.title if name == self._name else ""
        connection = (self._client, self._health, lambda: self.agents)
        return CopilotKitAgent(name, *connection, description=description, title=title or name)

    async def start(self) -> None:
        await self._health.start()

    async def close(self) -> None:
        await self._health.close()
        self._client.close()

    async def _probe(self) -> None:
        try:
            info = await self._client.request_json("POST", ("info",), {"properties": {}, "frontendUrl": None})
        except RightseatError as error:
            raise self._make_discovery_error(error) from error
        if not isinstance(info, dict) or not isinstance(info.get("agents"), list):
            raise DiscoveryFailed(self._format_problem("its answer is not a list of agents"))
        self.tools = tuple(parse_actions(info.get("actions"), self._client))
        self.agents = self._build_agents(info["agents"])

    def _build_agents(self, items: list[Any]) -> dict[str, Agent]:
        wanted = self._options.agents
        agents: dict[str, Agent] = {}
        for item in items:
            match item:
                case {"name": str(name)} if not wanted or name in wanted:
                    text = item.get("description")
                    description = text if isinstance(text, str) and text else self._options.description
                    # Keep the existing agent: it remembers where its threads stopped.
                    existing = self.agents.get(name)
                    if isinstance(existing, CopilotKitAgent):
                        existing.description = description
                    agents[name] = existing or self._make_agent(name, description)
                case _:
                    pass
        return agents

    def _make_discovery_error(self, error: RightseatError) -> DiscoveryFailed:
        match error:
            case UpstreamRefused():
                why = "nobody answers there"
            case UpstreamDenied():
                why = "it refuses our key: check headers"
            case UpstreamRejected():
                why = "there is no such path"
            case UpstreamGarbled():
                why = "its answer is no JSON, so another server may be there"
            case _:
                why = error.message
        return DiscoveryFailed(self._format_problem(why))

    def _format_problem(self, why: str) -> str:
        return (
            f"The endpoint of agent {self._name!r} does not say what it has ({self._path}): {why}. Check "
            "that it runs, and that url is CopilotKit's endpoint, such as http://127.0.0.1:8000/copilotkit."
        )


def copilotkit(name: str, options: Mapping[str, Any]) -> CopilotKitEndpoint:
    return CopilotKitEndpoint(name, parse_options("copilotkit", name, options, CopilotKitOptions))
