"""The public API of rightseat: one Python backend for every copilot front end.

Each name is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.engine.loop import Assistant
    from rightseat.errors import RightseatError
    from rightseat.middleware.hooks import Hooks
    from rightseat.plugins.sql.table_query import table_query
    from rightseat.runtime.answer import Answer
    from rightseat.server.app import asgi
    from rightseat.tools.builtin.calculate import calculate
    from rightseat.tools.builtin.facts import facts
    from rightseat.tools.function import tool
    from rightseat.types.agent_card import AgentCard, CardEndpoints, CustomFeature, FeatureChoice
    from rightseat.types.agents import Layer, Responder
    from rightseat.types.chunks import (
        EventChunk,
        FinishChunk,
        ModelChunk,
        ProviderDataChunk,
        ReasoningChunk,
        RefusalChunk,
        TextChunk,
        ToolCallArgs,
        ToolCallStart,
        UsageChunk,
    )
    from rightseat.types.events import (
        Artifact,
        Citations,
        Event,
        Suggestions,
        Usage,
        response_extensions,
        status_update,
    )
    from rightseat.types.messages import Message, text_message
    from rightseat.types.model import Model, Prompt
    from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext
    from rightseat.types.turn import Feedback, Owner, Turn, TurnClient
    from rightseat.wiring.runtime import Runtime

__version__ = "0.2.0"

_NAMES_BY_MODULE = {
    "engine.loop": "Assistant",
    "errors": "RightseatError",
    "middleware.hooks": "Hooks",
    "plugins.sql.table_query": "table_query",
    "server.app": "asgi",
    "tools.builtin.calculate": "calculate",
    "tools.builtin.facts": "facts",
    "tools.function": "tool",
    "types.agent_card": "AgentCard CardEndpoints CustomFeature FeatureChoice",
    "types.agents": "Layer Responder",
    "types.chunks": "EventChunk FinishChunk ModelChunk ProviderDataChunk ReasoningChunk RefusalChunk TextChunk"
    " ToolCallArgs ToolCallStart UsageChunk",
    "types.events": "Artifact Citations Event Suggestions Usage response_extensions status_update",
    "types.messages": "Message text_message",
    "types.model": "Model Prompt",
    "types.tools": "Ask Pause Result Tool ToolContext",
    "types.turn": "Feedback Owner Turn TurnClient",
    "runtime.answer": "Answer",
    "wiring.runtime": "Runtime",
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [
    "AgentCard",
    "Answer",
    "Artifact",
    "Ask",
    "Assistant",
    "CardEndpoints",
    "Citations",
    "CustomFeature",
    "Event",
    "EventChunk",
    "FeatureChoice",
    "Feedback",
    "FinishChunk",
    "Hooks",
    "Layer",
    "Message",
    "Model",
    "ModelChunk",
    "Owner",
    "Pause",
    "Prompt",
    "ProviderDataChunk",
    "ReasoningChunk",
    "RefusalChunk",
    "Responder",
    "Result",
    "RightseatError",
    "Runtime",
    "Suggestions",
    "TextChunk",
    "Tool",
    "ToolCallArgs",
    "ToolCallStart",
    "ToolContext",
    "Turn",
    "TurnClient",
    "Usage",
    "UsageChunk",
    "asgi",
    "calculate",
    "facts",
    "response_extensions",
    "status_update",
    "table_query",
    "text_message",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rightseat' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rightseat.{_MODULE_OF[name]}"), name)
