"""One Python backend for every copilot front end. The public names; each is imported when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.app import mount
    from rightseat.engine import Assistant
    from rightseat.function import tool
    from rightseat.layers.hooks import Hooks
    from rightseat.library import Runtime
    from rightseat.messages import Message, said
    from rightseat.prompt import Model, Prompt
    from rightseat.responder import Layer, Responder
    from rightseat.tools import Ask, Pause, Result, Tool, ToolContext
    from rightseat.turn import Owner, Turn

__version__ = "0.1.0"

_HOMES = {
    "Ask": "tools",
    "Assistant": "engine",
    "Hooks": "layers.hooks",
    "Layer": "responder",
    "Message": "messages",
    "Model": "prompt",
    "Owner": "turn",
    "Pause": "tools",
    "Prompt": "prompt",
    "Responder": "responder",
    "Result": "tools",
    "Runtime": "library",
    "Tool": "tools",
    "ToolContext": "tools",
    "Turn": "turn",
    "mount": "app",
    "said": "messages",
    "tool": "function",
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
    "said",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rightseat' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rightseat.{_HOMES[name]}"), name)
