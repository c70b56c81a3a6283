"""`[agents.NAME] kind = "copilotkit"`: all the agents and actions of one remote endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightseat.agents._peer.lookout import Lookout
from rightseat.agents._peer.options import Options, reach_of, settled
from rightseat.agents.copilotkit.actions import actions
from rightseat.agents.copilotkit.agent import RemoteAgent
from rightseat.errors import (
    DiscoveryFailed,
    RightseatError,
    UpstreamDenied,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamRejected,
)
from rightseat.http.address import address
from rightseat.types.agents import Agent
from rightseat.types.tools import Tool


class EndpointOptions(Options, frozen=True, kw_only=True):
    agents: tuple[str, ...] = ()
    """Only these of the endpoint's agents; none: all of them."""
    refresh: float = 60
    """Seconds after which the endpoint is asked again what it has."""


class Endpoint:
    """An AgentSource of one remote endpoint. Until discovery succeeds it lists the configured agents, or one
    named like the endpoint, as down."""

    def __init__(self, name: str, options: EndpointOptions) -> None:
        self._name = name
        self._options = options
        self._path = address(options.url, f"The url of agent {name!r}").path.rstrip("/") + "/info"
        self._reach = reach_of(name, options)
        self._lookout = Lookout(name, self._look, every=options.refresh)
        self.tools: tuple[Tool, ...] = ()
        self.agents: Mapping[str, Agent] = {
            known: self._agent(known, options.description) for known in options.agents or (name,)
        }

    def _agent(self, name: str, description: str) -> RemoteAgent:
        title = self._options.title if name == self._name else ""
        way = (self._reach, self._lookout, lambda: self.agents)
        return RemoteAgent(name, *way, description=description, title=title or name)

    async def start(self) -> None:
        await self._lookout.start()

    async def close(self) -> None:
        await self._lookout.close()
        self._reach.close()

    async def _look(self) -> None:
        try:
            told = await self._reach.json("POST", ("info",), {"properties": {}, "frontendUrl": None})
        except RightseatError as error:
            raise self._undiscovered(error) from error
        if not isinstance(told, dict) or not isinstance(told.get("agents"), list):
            raise DiscoveryFailed(self._problem("its answer is not a list of agents"))
        self.tools = tuple(actions(told.get("actions"), self._reach))
        self.agents = self._listed(told["agents"])

    def _listed(self, found: list[Any]) -> dict[str, Agent]:
        wanted = self._options.agents
        made: dict[str, Agent] = {}
        for item in found:
            match item:
                case {"name": str(name)} if not wanted or name in wanted:
                    told = item.get("description")
                    description = told if isinstance(told, str) and told else self._options.description
                    # Keep the existing agent: it remembers where its threads stopped.
                    kept = self.agents.get(name)
                    if isinstance(kept, RemoteAgent):
                        kept.description = description
                    made[name] = kept or self._agent(name, description)
                case _:
                    pass
        return made

    def _undiscovered(self, error: RightseatError) -> DiscoveryFailed:
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
        return DiscoveryFailed(self._problem(why))

    def _problem(self, why: str) -> str:
        return (
            f"The endpoint of agent {self._name!r} does not say what it has ({self._path}): {why}. Check "
            "that it runs, and that url is CopilotKit's endpoint, such as http://127.0.0.1:8000/copilotkit."
        )


def copilotkit(name: str, options: Mapping[str, Any]) -> Endpoint:
    return Endpoint(name, settled("copilotkit", name, options, EndpointOptions))
