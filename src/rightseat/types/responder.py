"""The type that everything turns around.

A model loop, a remote agent and a flow are Responders, so each stands behind every door and each can be a
tool of another. A Layer wraps one: guardrails, recording, limits, tracing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from rightseat.types.events import Event
from rightseat.types.turn import Turn

Responder = Callable[[Turn], AsyncIterator[Event]]
Layer = Callable[[Responder], Responder]
