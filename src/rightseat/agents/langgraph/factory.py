"""[agents.NAME] with kind = "langgraph" → its AgentSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightseat.agents._peer.client import AgentClient, parse_agent_options
from rightseat.agents.hook import load_target
from rightseat.agents.langgraph.agent import LangGraphOptions
from rightseat.agents.langgraph.local import LocalGraph, LocalGraphSource, compile_graph
from rightseat.agents.langgraph.server import LangGraphServerSource
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource

_SERVER_ONLY_KEYS = ("agents", "api_key", "headers", "on_before_request", "refresh")


def langgraph(name: str, options: Mapping[str, Any]) -> AgentSource:
    """Make the AgentSource: the assistants of a server, or one graph of this process."""
    parsed = parse_agent_options("langgraph", name, options, LangGraphOptions)
    _check_options(parsed, options)
    if parsed.graph is not None:
        graph = compile_graph(load_target(parsed.graph, "graph"), str(parsed.graph))
        return LocalGraphSource(name, LocalGraph(name, graph, parsed.stream_subgraphs), parsed)
    api_key = {"X-Api-Key": parsed.api_key} if parsed.api_key else {}
    client = AgentClient(name, replace(parsed, headers={**api_key, **parsed.headers}))
    return LangGraphServerSource(name, client, parsed)


def _check_options(parsed: LangGraphOptions, options: Mapping[str, Any]) -> None:
    if bool(parsed.url) == (parsed.graph is not None):
        raise ConfigError(
            "A langgraph agent needs `url`, the address of a server, or `graph`, a module:attribute.", param="url"
        )
    for key in _SERVER_ONLY_KEYS if parsed.graph is not None else ():
        if key in options:
            raise ConfigError(
                f"The option {key} is only for a `url`: a graph in this process does not use HTTP. Remove it.",
                param=key,
            )
