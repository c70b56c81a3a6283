"""Wrappers of models: fallbacks and rate limits."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.history import fit_to_capabilities
from rightseat.errors import (
    Incomplete,
    RateLimited,
    TooManyRuns,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.middleware.quota import Admission, Ledger, Quota, UsageTracker
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, ModelInfo, ModelWrapper, Prompt, has_images
from rightseat.types.settings import select_settings, takes_settings
from rightseat.types.streams import closing
from rightseat.types.turn import Owner

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
        return FallbackModel([replace(member, model=wrap(member.model, member.info)) for member in self.members])

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        members = self.list_capable_members(prompt)
        for member, following in zip(members, (*members[1:], None), strict=True):
            has_output = False
            try:
                # The engine has fitted the prompt to the first member.
                fitted = prompt if member is members[0] else fit_to_member(prompt, member)
                async with closing(member.model.stream(fitted)) as chunks:
                    async for chunk in chunks:
                        has_output = True
                        yield chunk
                return
            except UpstreamError as error:
                if has_output or following is None or not is_down(error):
                    raise
                log.warning("the model %s is down (%s): %s answers", member.name, error.code, following.name)

    def list_capable_members(self, prompt: Prompt) -> list[FallbackMember]:
        """Return the first member and the others that support the prompt's images, tools and settings."""
        needs_images, needs_tools = has_images(prompt), bool(prompt.callable_tools)

        def is_capable(member: FallbackMember) -> bool:
            capabilities = member.model.capabilities
            if not takes_settings(prompt.settings, capabilities, has_tools=needs_tools):
                return False
            return (capabilities.images or not needs_images) and (capabilities.tools or not needs_tools)

        return [self.members[0], *filter(is_capable, self.members[1:])]

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


def fit_to_member(prompt: Prompt, member: FallbackMember) -> Prompt:
    """Return the prompt without what the member does not take."""
    capabilities = member.model.capabilities
    settings = select_settings(prompt.settings, capabilities, has_tools=bool(prompt.callable_tools))
    return fit_to_capabilities(replace(prompt, settings=settings), capabilities)


def is_down(error: UpstreamError) -> bool:
    return isinstance(error, DOWN_ERRORS) or type(error) is UpstreamError


class ModelLimits(Struct, frozen=True, kw_only=True):
    """Limits of one model; 0 is no limit."""

    requests_per_minute: float = 0
    concurrent: int = 0
    answer_tokens: int = 0


class RateLimitedModel(ModelWrapper):
    """A model wrapper that enforces limits. Above them it raises UpstreamBusy, as the model's server would: a
    fallback model is called, or the client gets `retry_after`. The ledger outlives a reload, because the model's
    server does not change with it."""

    def __init__(
        self, model: Model, info: ModelInfo, limits: ModelLimits, ledger: Ledger | None = None, name: str = ""
    ) -> None:
        super().__init__(model, info)
        self.limits = limits
        self.ledger = ledger or UsageTracker()
        self.account = Owner(f"(model) {name or info.model}")
        self.quota = Quota(requests_per_minute=limits.requests_per_minute, concurrent_runs=limits.concurrent)

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        admission = await self.admit()
        try:
            async with closing(self.model.stream(self.cap_answer_tokens(prompt))) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            await admission.close()

    async def admit(self) -> Admission:
        limits, name = self.limits, self.info.model
        try:
            return await self.ledger.admit(self.account, self.quota)
        except TooManyRuns:
            message = f"The model {name} already gives {limits.concurrent} answers, its limit. Try again."
            raise UpstreamBusy(message, retry_after=1) from None
        except RateLimited as error:
            per_minute = f"{limits.requests_per_minute:g}"
            message = f"The model {name} is limited to {per_minute} requests a minute. Try again later."
            raise UpstreamBusy(message, retry_after=error.retry_after) from None

    def cap_answer_tokens(self, prompt: Prompt) -> Prompt:
        most, requested = self.limits.answer_tokens, prompt.settings.max_tokens
        if not most or (requested is not None and requested <= most):
            return prompt
        return replace(prompt, settings=replace(prompt.settings, max_tokens=most))
