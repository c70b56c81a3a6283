"""Wrappers of models: fallbacks and rate limits."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.history import fit_to_capabilities
from rightseat.errors import (
    Incomplete,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, ModelInfo, ModelWrapper, Prompt, has_images
from rightseat.types.streams import closing

# Wraps a model, for metrics, billing and tracing.
WrapModel = Callable[[Model, ModelInfo], Model]
log = logging.getLogger(__name__)
DOWN_ERRORS = (UpstreamRefused, UpstreamBusy, UpstreamTimeout, UpstreamDenied, UpstreamGarbled, Incomplete)


class FallbackMember(Struct, frozen=True):
    name: str
    model: Model
    info: ModelInfo


class FallbackModel(ModelWrapper):
    """A model with fallbacks. Embeddings and capabilities are the first member's."""

    def __init__(self, members: Sequence[FallbackMember]) -> None:
        super().__init__(members[0].model)
        self.members = tuple(members)

    def wrap_members(self, wrap: WrapModel) -> FallbackModel:
        """Return a copy whose members are wrapped, so that each is metered and billed as itself."""
        return FallbackModel([replace(one, model=wrap(one.model, one.info)) for one in self.members])

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        members = self.list_capable_members(prompt)
        first = members[0]
        for member, following in zip(members, (*members[1:], None), strict=True):
            has_output = False
            try:
                member_prompt = prompt if member is first else fit_to_capabilities(prompt, member.model.capabilities)
                async with closing(member.model.stream(member_prompt)) as fragments:
                    async for fragment in fragments:
                        has_output = True
                        yield fragment
                return
            except UpstreamError as error:
                if has_output or following is None or not is_down(error):
                    raise
                log.warning("the model %s is down (%s): %s answers", member.name, error.code, following.name)

    def list_capable_members(self, prompt: Prompt) -> list[FallbackMember]:
        """Return the first member and the others that support the prompt's images and tools."""
        needs_images, needs_tools = has_images(prompt), bool(prompt.callable_tools)

        def takes(model: Model) -> bool:
            able = model.capabilities
            return (able.images or not needs_images) and (able.tools or not needs_tools)

        first, *others = self.members
        return [first, *(other for other in others if takes(other.model))]

    @property
    def ready(self) -> bool:
        return any(member.model.ready for member in self.members)

    async def start(self) -> None:
        """Start all members; a member that is down is logged and skipped."""
        for member in self.members:
            try:
                await member.model.start()
            except UpstreamError as error:
                log.warning("the model %s is not there yet: %s", member.name, error.message)

    async def close(self) -> None:
        for member in self.members:
            await member.model.close()


def is_down(error: UpstreamError) -> bool:
    return isinstance(error, DOWN_ERRORS) or type(error) is UpstreamError


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


class RateLimitedModel(ModelWrapper):
    """A model wrapper that enforces limits. Above them it raises UpstreamBusy, as the model's server would: a
    fallback model is called, or the client gets `retry_after`."""

    def __init__(
        self, model: Model, info: ModelInfo, limits: ModelLimits, clock: Callable[[], float] = time.monotonic
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
                f"The model {name} already gives {limits.concurrent} answers, its limit. Try again.", retry_after=1
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
                f"The model {name} is limited to {limits.requests_per_minute:g} requests a minute. Try again later.",
                retry_after=excess / rate,
            )
        load.request_level += 1

    def cap_answer_tokens(self, prompt: Prompt) -> Prompt:
        most, requested = self.limits.answer_tokens, prompt.settings.max_tokens
        if not most or (requested is not None and requested <= most):
            return prompt
        return replace(prompt, settings=replace(prompt.settings, max_tokens=most))
