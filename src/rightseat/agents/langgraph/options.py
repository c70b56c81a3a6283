"""[agents.NAME] with kind = "langgraph" → its AgentSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.client import AgentClient, parse_agent_options
from rightseat.agents.hook import load_request_hook, load_target
from rightseat.agents.langgraph.local import LocalGraph, LocalGraphSource, compile_graph
from rightseat.agents.langgraph.server import LangGraphServer, LangGraphServerSource
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource

_SERVER_ONLY_KEYS = ("agents", "api_key", "headers", "on_before_request", "refresh")


class GraphRunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of each run; it takes precedence over the client's."""

    recursion_limit: int | None = None
    configurable: dict[str, Any] = {}
    tags: list[str] = []


class LangGraphOptions(Struct, frozen=True, kw_only=True):
    url: str = ""
    """The URL of a LangGraph server: LangGraph Platform or `langgraph dev`."""
    graph: Any = None
    """`module:attribute` of a graph that runs in this process, instead of `url`."""
    agents: tuple[str, ...] = ()
    """The server's assistants to offer, by name or graph id. Without it, the one with the name of this table, else
    all."""
    api_key: str | None = None
    """The server's key, sent as `X-Api-Key`."""
    headers: dict[str, str] = {}
    """Further headers of each request. A value may be a reference."""
    on_before_request: Any = None
    """`module:attribute` of a function that gets each request and returns headers for it."""
    connect_timeout: float = 10
    """Seconds for connecting to the server."""
    timeout: float = 120
    """Seconds without data from the server after which a run fails."""
    tries: int = 3
    """How often a request is sent in all if the server does not accept it."""
    refresh: float = 60
    """Seconds after which the list of assistants is fetched again."""
    title: str = ""
    """The name that front ends show."""
    description: str = ""
    """What the agent is for, in one sentence."""
    config: GraphRunConfig = GraphRunConfig()
    """`recursion_limit`, `configurable` and `tags` of each run."""
    stream_subgraphs: bool = False
    """Whether the nodes of subgraphs are reported as steps too."""


def langgraph(name: str, options: Mapping[str, Any]) -> AgentSource:
    """Make the AgentSource: the assistants of a server, or one graph of this process."""
    parsed = parse_agent_options("langgraph", name, options, LangGraphOptions)
    _check_options(parsed, options)
    setup = {key: value for key in GraphRunConfig.__struct_fields__ if (value := getattr(parsed.config, key))}
    agent_fields: dict[str, Any] = {"title": parsed.title, "description": parsed.description, "config": setup}
    if parsed.graph is not None:
        graph = compile_graph(load_target(parsed.graph, "graph"), str(parsed.graph))
        return LocalGraphSource(name, LocalGraph(name, graph, stream_subgraphs=parsed.stream_subgraphs), **agent_fields)
    client = AgentClient(
        name,
        parsed.url,
        headers={**({"X-Api-Key": parsed.api_key} if parsed.api_key else {}), **parsed.headers},
        hook=load_request_hook(parsed.on_before_request),
        connect_timeout=parsed.connect_timeout,
        timeout=parsed.timeout,
        tries=parsed.tries,
    )
    server = LangGraphServer(client, stream_subgraphs=parsed.stream_subgraphs)
    return LangGraphServerSource(name, server, parsed.agents, refresh=parsed.refresh, **agent_fields)


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
