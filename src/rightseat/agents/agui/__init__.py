"""Any agent that speaks AG-UI over HTTP, from protocol 1.0 back to those that ask by a CUSTOM event."""

from rightseat.agents.agui.source import agui

__all__ = ["agui"]
