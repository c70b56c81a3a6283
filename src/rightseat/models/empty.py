"""`empty`: no model at all, for a server whose answers all come from agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from rightseat.errors import ConfigError, Misused
from rightseat.models.catalog import lookup_capabilities
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Capabilities, Model, Prompt

NO_MODEL_MESSAGE = (
    "This server has no model of its own (`empty`): only its agents answer, and none was asked for. Name an "
    "agent. What needs a model and no agent (suggestions, text areas, tasks) needs another than `empty`."
)


class EmptyModel(Model):
    """A model that raises Misused on every prompt."""

    name = "empty"
    capabilities: Capabilities = lookup_capabilities("empty", "")

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        raise Misused(NO_MODEL_MESSAGE)
        yield  # makes this function an async generator


def model(name: str, options: Mapping[str, Any]) -> EmptyModel:
    if name or options:
        key = next(iter(options), None)
        raise ConfigError('The model empty has no name and no options: write spec = "empty".', param=key)
    return EmptyModel()
