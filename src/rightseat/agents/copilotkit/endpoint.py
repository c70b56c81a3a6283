"""`[agents.NAME] kind = "copilotkit"`: all the agents of one remote endpoint, and its actions as server tools."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from rightseat.agents._peer.client import AgentClient, AgentOptions, parse_agent_options
from rightseat.agents._peer.json_text import dict_items
from rightseat.agents._peer.source import PeerSource
from rightseat.agents.copilotkit.agent import CopilotKitAgent
from rightseat.errors import (
    DiscoveryFailed,
    RightseatError,
    UpstreamDenied,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamRejected,
)
from rightseat.http.client import parse_base_url
from rightseat.types.agents import Agent
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, error_result

log = logging.getLogger(__name__)
_ACTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DISCOVERY_PROBLEMS: dict[type[RightseatError], str] = {
    UpstreamRefused: "nobody answers there",
    UpstreamDenied: "it refuses our key: check headers",
    UpstreamRejected: "there is no such path",
    UpstreamGarbled: "its answer is no JSON, so another server may be there",
}
_JSON_TYPES = ("string", "number", "boolean", "object")


def parse_actions(items: Any, client: AgentClient) -> Iterator[Tool]:
    for item in items if isinstance(items, list) else ():
        match item:
            case {"name": str(name)} if _ACTION_NAME.fullmatch(name):
                description = item.get("description")
                text = description if isinstance(description, str) else ""
                yield make_action_tool(name, text, item.get("parameters"), client)
            case _:
                log.warning("a remote action is left out: its name is not one that a model can call")


def make_action_tool(name: str, description: str, parameters: Any, client: AgentClient) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        body = {"name": name, "arguments": args, "properties": ctx.turn.client.forwarded.properties}
        path = ("actions", "execute")
        try:
            response = await client.request_json("POST", path, body, turn=ctx.turn, idempotent=False)
        except UpstreamRejected:
            yield error_result("tool_failed", f"The endpoint does not take this call of {name}, or has it no more.")
        except RightseatError as error:
            yield error_result("tool_failed", error.message)
        else:
            yield Result(response.get("result") if isinstance(response, dict) else response)

    return Tool(name, description, build_parameters_schema(parameters), call)


def build_parameters_schema(parameters: Any) -> dict[str, Any]:
    """Convert CopilotKit's parameter list to JSON Schema. Parameters are required by default."""
    named = [item for item in dict_items(parameters) if isinstance(item.get("name"), str)]
    return {
        "type": "object",
        "properties": {item["name"]: build_parameter_schema(item) for item in named},
        "required": [item["name"] for item in named if item.get("required") is not False],
    }


def build_parameter_schema(item: dict[str, Any]) -> dict[str, Any]:
    kind = str(item.get("type") or "string")
    item_type = kind.removesuffix("[]")
    parameter: dict[str, Any] = {"type": item_type if item_type in _JSON_TYPES else "string"}
    if item_type == "object" and item.get("attributes"):
        parameter = build_parameters_schema(item["attributes"])
    if isinstance(item.get("enum"), list) and item["enum"]:
        parameter["enum"] = item["enum"]
    if kind.endswith("[]"):
        parameter = {"type": "array", "items": parameter}
    if isinstance(item.get("description"), str) and item["description"]:
        parameter["description"] = item["description"]
    return parameter


class CopilotKitOptions(AgentOptions, frozen=True, kw_only=True):
    agents: tuple[str, ...] = ()
    """Only these of the endpoint's agents; none: all of them."""
    refresh: float = 60
    """Seconds after which the endpoint is asked again what it has."""


class CopilotKitSource(PeerSource):
    """An AgentSource of one remote endpoint. Until discovery succeeds it lists the configured agents, or one
    named like the endpoint, as down."""

    def __init__(self, name: str, options: CopilotKitOptions) -> None:
        super().__init__(name, interval=options.refresh)
        self._options = options
        self._path = parse_base_url(options.url, f"The url of agent {name!r}").path.rstrip("/") + "/info"
        self._client = AgentClient(name, options)
        known = options.agents or (name,)
        self.agents = {agent: self._make_agent(agent, options.description) for agent in known}

    def _make_agent(self, name: str, description: str) -> CopilotKitAgent:
        title = (self._options.title if name == self.name else "") or name
        return CopilotKitAgent(name, self._client, self, description=description, title=title)

    async def close(self) -> None:
        await super().close()
        self._client.close()

    async def probe(self) -> None:
        try:
            info = await self._client.request_json("POST", ("info",), {"properties": {}, "frontendUrl": None})
        except RightseatError as error:
            why = next((text for kind, text in _DISCOVERY_PROBLEMS.items() if isinstance(error, kind)), error.message)
            raise DiscoveryFailed(self._format_problem(why)) from error
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
        return agents

    def _format_problem(self, why: str) -> str:
        return (
            f"The endpoint of agent {self.name!r} does not say what it has ({self._path}): {why}. Check "
            "that it runs, and that url is CopilotKit's endpoint, such as http://127.0.0.1:8000/copilotkit."
        )


def copilotkit(name: str, options: Mapping[str, Any]) -> CopilotKitSource:
    return CopilotKitSource(name, parse_agent_options("copilotkit", name, options, CopilotKitOptions))
