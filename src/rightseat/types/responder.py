"""Responder and Layer, the central types.

A model loop, a remote agent and a flow are Responders, so every door can serve each of them and each can be
a tool of another. A Layer wraps a Responder: guardrails, recording, limits, tracing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from rightseat.types.events import Event
from rightseat.types.turn import Turn

Responder = Callable[[Turn], AsyncIterator[Event]]
Layer = Callable[[Responder], Responder]
