"""Fallback models: if a model is down before its first chunk, the next one is called.

Down means unreachable, busy, failing, timed out, key refused or response unreadable. An invalid request or a
vendor's refusal does not fall back. After the first chunk there is no switch: another model cannot continue
a partial answer.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.fitting import fit_to_capabilities
from rightseat.errors import (
    Incomplete,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.middleware.model_info import ModelInfo, ModelWrapper
from rightseat.types.capabilities import capabilities_of, has_images
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing

log = logging.getLogger(__name__)
DOWN_ERRORS = (UpstreamRefused, UpstreamBusy, UpstreamTimeout, UpstreamDenied, UpstreamGarbled, Incomplete)


class FallbackMember(Struct, frozen=True):
    name: str
    model: Model
    info: ModelInfo


class FallbackModel:
    """A model with fallbacks. Other attributes (embeddings, capabilities) are the first member's."""

    def __init__(self, members: Sequence[FallbackMember]) -> None:
        self.members = tuple(members)

    # Hidden from mypy, which would accept any misspelt attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.members[0].model, name)

    def wrap_members(self, wrap: ModelWrapper) -> FallbackModel:
        """Return a copy whose members are wrapped, so that each is metered and billed as itself."""
        return FallbackModel([replace(one, model=wrap(one.model, one.info)) for one in self.members])

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        members = self.list_capable_members(prompt)
        first = members[0]
        for member, following in zip(members, (*members[1:], None), strict=True):
            has_output = False
            try:
                member_prompt = (
                    prompt if member is first else fit_to_capabilities(prompt, capabilities_of(member.model))
                )
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
            able = capabilities_of(model)
            return (able.images or not needs_images) and (able.tools or not needs_tools)

        first, *others = self.members
        return [first, *(other for other in others if takes(other.model))]

    @property
    def ready(self) -> bool:
        return any(getattr(member.model, "ready", True) for member in self.members)

    async def start(self) -> None:
        """Start all members; a member that is down is logged and skipped."""
        for member in self.members:
            start = getattr(member.model, "start", None)
            try:
                if start is not None:
                    await start()
            except UpstreamError as error:
                log.warning("the model %s is not there yet: %s", member.name, error.message)

    async def close(self) -> None:
        for member in self.members:
            close = getattr(member.model, "close", None)
            if close is not None:
                await close()


def is_down(error: UpstreamError) -> bool:
    return isinstance(error, DOWN_ERRORS) or type(error) is UpstreamError
