"""Remote endpoints by CopilotKit's names: each makes an AgentSource."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from rightseat.agents.copilotkit.endpoint import copilotkit
from rightseat.agents.hook import RequestHook
from rightseat.agents.langgraph.factory import langgraph
from rightseat.types.agents import AgentSource


class EndpointType(StrEnum):
    CopilotKit = "copilotKit"
    LangGraphPlatform = "langgraph-platform"


class RemoteEndpoint(ABC):
    type: ClassVar[EndpointType]

    @abstractmethod
    def make_source(self, name: str) -> AgentSource:
        """Make the source of the endpoint's agents; it connects when the runtime starts."""


@dataclass(frozen=True, kw_only=True)
class CopilotKitEndpoint(RemoteEndpoint):
    """An endpoint of CopilotKit's Python SDK: its agents answer, its actions are tools of the model.

    `on_before_request` returns headers for each request to it.
    """

    type: ClassVar[EndpointType] = EndpointType.CopilotKit
    url: str
    on_before_request: RequestHook | None = None

    def make_source(self, name: str) -> AgentSource:
        hook = {"on_before_request": self.on_before_request} if self.on_before_request else {}
        return copilotkit(name, {"url": self.url, **hook})


@dataclass(frozen=True, kw_only=True)
class LangGraphPlatformEndpoint(RemoteEndpoint):
    """A LangGraph server; `agents` names its graphs or assistants, also as objects with a `name`; none means all."""

    type: ClassVar[EndpointType] = EndpointType.LangGraphPlatform
    deployment_url: str
    langsmith_api_key: str | None = field(default=None, repr=False)
    agents: Sequence[str | Mapping[str, Any]] = ()

    def make_source(self, name: str) -> AgentSource:
        key = {"api_key": self.langsmith_api_key} if self.langsmith_api_key else {}
        names = [agent if isinstance(agent, str) else agent["name"] for agent in self.agents]
        return langgraph(name, {"url": self.deployment_url, **key, **({"agents": names} if names else {})})
