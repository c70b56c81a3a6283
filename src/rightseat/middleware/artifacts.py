"""Artifacts of agents and of an application's own Responders, in the form that the client can show."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rightseat.engine.artifacts import present_event
from rightseat.types.agents import Layer, Responder
from rightseat.types.events import Artifact, Citations, Custom, Event, StateDelta, StateSnapshot
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

PRESENTED_EVENTS = (Artifact, Citations, Custom, StateDelta, StateSnapshot)
"""Events that may hold values of any type."""


def present_artifacts(store: Store) -> Layer:
    """Return the Layer that presents artifacts. It leaves out Responders with `presents_artifacts`: these present
    what their tools bring where they tell the model of it."""

    def layer(inner: Responder) -> Responder:
        if getattr(inner, "presents_artifacts", False):
            return inner
        return lambda turn: stream_presented(inner, turn, store)

    return layer


async def stream_presented(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    async with closing(inner(turn)) as events:
        async for event in events:
            if isinstance(event, PRESENTED_EVENTS):
                for shown in (await present_event(event, turn, store)).events:
                    yield shown
            else:
                yield event
