"""Times of model calls in flows: measured while flows run, kept in the store, read by estimates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic

import msgspec
from msgspec import Struct

from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, ModelWrapper, Prompt
from rightseat.types.stores import CheckpointStore
from rightseat.types.streams import closing
from rightseat.types.turn import Owner

TIMES_OWNER = Owner("rightseat:flows")
"""Owner of the measurements: they belong to no client, and no client's name has a colon after `rightseat`."""
TIMES_KEY = "model-times"
KEPT_SECONDS = 90 * 86400.0
MAX_CALLS = 200
"""Calls from which older ones count half, so that a new model or machine shows."""
MAX_FLOWS = 1000


class MeasuredCalls(Struct, frozen=True):
    calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: MeasuredCalls) -> MeasuredCalls:
        total = MeasuredCalls(self.calls + other.calls, self.seconds + other.seconds)
        return total if total.calls <= MAX_CALLS else MeasuredCalls(total.calls // 2, total.seconds / 2)


class ModelTimes(Struct):
    """Measured model calls by flow id."""

    flows: dict[str, MeasuredCalls] = {}

    def add(self, flow: str, measured: MeasuredCalls) -> None:
        known = self.flows.pop(flow, MeasuredCalls())
        self.flows[flow] = known + measured
        while len(self.flows) > MAX_FLOWS:
            del self.flows[next(iter(self.flows))]

    def get_measured(self, flow: str) -> MeasuredCalls:
        """Return the calls of the flow; those of all flows where it has not run."""
        if flow in self.flows:
            return self.flows[flow]
        calls = sum(measured.calls for measured in self.flows.values())
        return MeasuredCalls(calls, sum(measured.seconds for measured in self.flows.values()))


def decode_times(body: bytes | None) -> ModelTimes:
    try:
        return msgspec.json.decode(body, type=ModelTimes) if body else ModelTimes()
    except (msgspec.DecodeError, msgspec.ValidationError):
        # Of another version: the measurements begin anew.
        return ModelTimes()


async def save_measured(store: CheckpointStore, flow: str, measured: MeasuredCalls) -> None:
    """Add a run's model calls to the stored ones."""

    def add_measured(body: bytes | None) -> bytes:
        times = decode_times(body)
        times.add(flow, measured)
        return msgspec.json.encode(times)

    await store.update_checkpoint(TIMES_OWNER, TIMES_KEY, add_measured, KEPT_SECONDS)


class TimedModel(ModelWrapper):
    """Wraps a model and sums up the seconds in which its calls were waited for."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.measured = MeasuredCalls()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        seconds, since = 0.0, monotonic()
        async with closing(self.model.stream(prompt)) as chunks:
            async for chunk in chunks:
                seconds += monotonic() - since
                yield chunk
                # A slow reader's time is not the model's.
                since = monotonic()
        seconds += monotonic() - since
        self.measured += MeasuredCalls(1, seconds)
