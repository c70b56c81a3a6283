"""The public API of rightseat: one Python backend for every copilot front end.

Each name is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.engine.loop import Assistant
    from rightseat.middleware.hooks import Hooks
    from rightseat.server.app import mount
    from rightseat.tools.function import tool
    from rightseat.types.agents import Layer, Responder
    from rightseat.types.messages import Message, text_message
    from rightseat.types.model import Model, Prompt
    from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext
    from rightseat.types.turn import Owner, Turn
    from rightseat.wiring.layered_runtime import Runtime

__version__ = "0.1.0"

_HOMES = {
    "Ask": "types.tools",
    "Assistant": "engine.loop",
    "Hooks": "middleware.hooks",
    "Layer": "types.agents",
    "Message": "types.messages",
    "Model": "types.model",
    "Owner": "types.turn",
    "Pause": "types.tools",
    "Prompt": "types.model",
    "Responder": "types.agents",
    "Result": "types.tools",
    "Runtime": "wiring.layered_runtime",
    "Tool": "types.tools",
    "ToolContext": "types.tools",
    "Turn": "types.turn",
    "mount": "server.app",
    "text_message": "types.messages",
    "tool": "tools.function",
}

__all__ = [
    "Ask",
    "Assistant",
    "Hooks",
    "Layer",
    "Message",
    "Model",
    "Owner",
    "Pause",
    "Prompt",
    "Responder",
    "Result",
    "Runtime",
    "Tool",
    "ToolContext",
    "Turn",
    "mount",
    "text_message",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rightseat' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rightseat.{_HOMES[name]}"), name)
