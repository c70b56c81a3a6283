"""Limits of one model for all callers: requests per minute, concurrent answers, tokens of an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import UpstreamBusy
from rightseat.middleware.model_info import Around, Source
from rightseat.types.chunks import Fragment
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing

MINUTE = 60.0


class Share(Struct, frozen=True, kw_only=True):
    """Limits of one model; 0 is no limit."""

    requests_per_minute: float = 0
    concurrent: int = 0
    answer_tokens: int = 0


class Load:
    """Current load of a model. It survives a reload, because the model's server does not change with it."""

    def __init__(self, now: float) -> None:
        self.running = 0
        self.asked = 0.0
        """Level of a leaky bucket: each request adds one, and it drains with time."""
        self.leaked = now


class Shared(Around):
    """A model wrapper that enforces limits. Above them it raises UpstreamBusy, as the model's server would: a
    fallback model is called, or the client gets `retry_after`."""

    def __init__(
        self,
        model: Model,
        source: Source,
        share: Share,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(model, source)
        self.share = share
        self.clock = clock
        self.load = Load(clock())

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        self.admit()
        self.load.running += 1
        try:
            async with closing(self.model.stream(self.capped(prompt))) as fragments:
                async for fragment in fragments:
                    yield fragment
        finally:
            self.load.running -= 1

    def admit(self) -> None:
        share, load, name = self.share, self.load, self.source.model
        if share.concurrent and load.running >= share.concurrent:
            raise UpstreamBusy(
                f"The model {name} gives {share.concurrent} answers at a time, and does. Try again.",
                retry_after=1,
            )
        if not share.requests_per_minute:
            return
        rate, now = share.requests_per_minute / MINUTE, self.clock()
        load.asked = max(0.0, load.asked - (now - load.leaked) * rate)
        load.leaked = now
        over = load.asked + 1 - max(1.0, share.requests_per_minute)
        # Tolerance: a client that returns exactly after `retry_after` is admitted.
        if over > 1e-6:
            raise UpstreamBusy(
                f"The model {name} is asked {share.requests_per_minute:g} times a minute at most. Try later.",
                retry_after=over / rate,
            )
        load.asked += 1

    def capped(self, prompt: Prompt) -> Prompt:
        most, given = self.share.answer_tokens, prompt.settings.max_tokens
        if not most or (given is not None and given <= most):
            return prompt
        return replace(prompt, settings=replace(prompt.settings, max_tokens=most))
