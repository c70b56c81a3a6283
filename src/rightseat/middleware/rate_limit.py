"""Limits of one model for all callers: requests per minute, concurrent answers, tokens of an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import UpstreamBusy
from rightseat.middleware.model_info import ModelInfo, ModelProxy
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing

MINUTE = 60.0


class ModelLimits(Struct, frozen=True, kw_only=True):
    """Limits of one model; 0 is no limit."""

    requests_per_minute: float = 0
    concurrent: int = 0
    answer_tokens: int = 0


class ModelLoad:
    """Current load of a model. It survives a reload, because the model's server does not change with it."""

    def __init__(self, now: float) -> None:
        self.running = 0
        self.request_level = 0.0
        """Level of a leaky bucket: each request adds one, and it drains with time."""
        self.leaked_at = now


class RateLimitedModel(ModelProxy):
    """A model wrapper that enforces limits. Above them it raises UpstreamBusy, as the model's server would: a
    fallback model is called, or the client gets `retry_after`."""

    def __init__(
        self,
        model: Model,
        info: ModelInfo,
        limits: ModelLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(model, info)
        self.limits = limits
        self.clock = clock
        self.load = ModelLoad(clock())

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.admit()
        self.load.running += 1
        try:
            async with closing(self.model.stream(self.cap_answer_tokens(prompt))) as fragments:
                async for fragment in fragments:
                    yield fragment
        finally:
            self.load.running -= 1

    def admit(self) -> None:
        limits, load, name = self.limits, self.load, self.info.model
        if limits.concurrent and load.running >= limits.concurrent:
            raise UpstreamBusy(
                f"The model {name} gives {limits.concurrent} answers at a time, and does. Try again.",
                retry_after=1,
            )
        if not limits.requests_per_minute:
            return
        rate, now = limits.requests_per_minute / MINUTE, self.clock()
        load.request_level = max(0.0, load.request_level - (now - load.leaked_at) * rate)
        load.leaked_at = now
        excess = load.request_level + 1 - max(1.0, limits.requests_per_minute)
        # Tolerance: a client that returns exactly after `retry_after` is admitted.
        if excess > 1e-6:
            raise UpstreamBusy(
                f"The model {name} is asked {limits.requests_per_minute:g} times a minute at most. Try later.",
                retry_after=excess / rate,
            )
        load.request_level += 1

    def cap_answer_tokens(self, prompt: Prompt) -> Prompt:
        most, requested = self.limits.answer_tokens, prompt.settings.max_tokens
        if not most or (requested is not None and requested <= most):
            return prompt
        return replace(prompt, settings=replace(prompt.settings, max_tokens=most))
