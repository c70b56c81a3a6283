"""The Model protocol and the Prompt that it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol

from msgspec import Struct

from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import Message


class ToolSpec(Struct, frozen=True):
    """Name, description and JSON Schema of a tool, as sent to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False
    """Whether the client asks the vendor to enforce the schema."""


class ToolChoice(Struct, frozen=True):
    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None


class SamplingSettings(Struct, frozen=True, kw_only=True):
    """Sampling options of the caller. None means not set; 0 and False are values.

    `extra` holds further fields for OpenAI-compatible upstreams; other models ignore them.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    parallel_calls: bool | None = None
    extra: dict[str, Any] = {}


class RawPrompt(Struct, frozen=True):
    """Text or tokens to continue without a chat template: for models with `completes`."""

    text: str | tuple[int, ...]
    grammar: str = ""
    """GBNF grammar of the output."""
    logprobs: int | None = None
    """Number of alternatives reported for each token; None: no probabilities."""
    echo: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output_schema: dict[str, Any] | None = None
    settings: SamplingSettings = SamplingSettings()
    conversation: str | None = None
    parent: str | None = None
    """Id of the conversation that this one was forked from."""
    raw: RawPrompt | None = None
    """Replaces all other fields except `settings`."""

    @property
    def callable_tools(self) -> tuple[ToolSpec, ...]:
        """Tools that `tool_choice` allows: none, the named one, or all."""
        choice = self.tool_choice
        if choice.mode == "none":
            return ()
        return tuple(tool for tool in self.tools if choice.mode != "named" or tool.name == choice.name)

    @property
    def requires_tool_call(self) -> bool:
        """Whether the model has to call a tool."""
        return self.tool_choice.mode in ("required", "named") and bool(self.callable_tools)


class Model(Protocol):
    """Streams the answer to one prompt. Closing the iterator must cancel the work behind it."""

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]: ...
