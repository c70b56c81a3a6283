"""[agents.NAME] with kind = "langgraph" → its AgentSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.options import settled
from rightseat.agents._peer.reach import Reach
from rightseat.agents.hook import hook_of, target
from rightseat.agents.langgraph.local import Local, LocalSource, compiled
from rightseat.agents.langgraph.server import Server
from rightseat.agents.langgraph.source import ServerSource
from rightseat.errors import ConfigError
from rightseat.types.agents import AgentSource

_ONLY_SERVER = ("agents", "api_key", "headers", "on_before_request", "refresh")


class Setup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of each run; it takes precedence over the client's."""

    recursion_limit: int | None = None
    configurable: dict[str, Any] = {}
    tags: list[str] = []


class Options(Struct, frozen=True, kw_only=True):
    url: str = ""
    """The server: LangGraph Platform, or `langgraph dev`."""
    graph: Any = None
    """Instead of a url: `module:attribute` of a graph that runs in this process."""
    agents: tuple[str, ...] = ()
    """The assistants to offer, by name or graph id; none: the one called like this table, else all."""
    api_key: str | None = None
    """Sent as `X-Api-Key`."""
    headers: dict[str, str] = {}
    """Further headers of each request; a value may be a reference."""
    on_before_request: Any = None
    """`module:attribute` of a function that is given each request and returns headers for it."""
    connect_timeout: float = 10
    """Seconds for a connection."""
    timeout: float = 120
    """Seconds that the server may say nothing."""
    tries: int = 3
    """How often a request is sent that the server did not take."""
    refresh: float = 60
    """Seconds after which the server is asked again which assistants it has."""
    title: str = ""
    """The name that people see."""
    description: str = ""
    """What it is for, in a sentence."""
    config: Setup = Setup()
    """`recursion_limit`, `configurable`, `tags` of each run."""
    stream_subgraphs: bool = False
    """The nodes of graphs inside the graph are steps too."""


def langgraph(name: str, options: Mapping[str, Any]) -> AgentSource:
    """Make the AgentSource: the assistants of a server, or one graph of this process."""
    given = settled("langgraph", name, options, Options)
    _check(given, options)
    setup = {key: value for key in Setup.__struct_fields__ if (value := getattr(given.config, key))}
    more: dict[str, Any] = {"title": given.title, "description": given.description, "config": setup}
    if given.graph is not None:
        graph = compiled(target(given.graph, "graph"), str(given.graph))
        return LocalSource(name, Local(name, graph, nested=given.stream_subgraphs), **more)
    reach = Reach(
        name,
        given.url,
        headers={**({"X-Api-Key": given.api_key} if given.api_key else {}), **given.headers},
        hook=hook_of(given.on_before_request),
        connect_timeout=given.connect_timeout,
        timeout=given.timeout,
        tries=given.tries,
    )
    server = Server(reach, nested=given.stream_subgraphs)
    return ServerSource(name, server, given.agents, refresh=given.refresh, **more)


def _check(given: Options, options: Mapping[str, Any]) -> None:
    if bool(given.url) == (given.graph is not None):
        raise ConfigError(
            "A langgraph agent needs a url or a graph: the address of a server, or module:attribute.",
            param="url",
        )
    for key in _ONLY_SERVER if given.graph is not None else ():
        if key in options:
            raise ConfigError(
                f"A graph in this process is not asked over HTTP: it takes no {key}.", param=key
            )
