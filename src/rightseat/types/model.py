"""What a model is asked, and the one method a model has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol

from msgspec import Struct

from rightseat.types.chunks import Fragment
from rightseat.types.messages import Message


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False
    """The client asks the vendor to enforce the schema."""


class ToolChoice(Struct, frozen=True):
    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """Sampling as the caller gave it: None means not given, and 0 and False are given.

    `extra` holds further fields that an OpenAI-compatible upstream may know; other models ignore them.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    parallel_calls: bool | None = None
    extra: dict[str, Any] = {}


class Raw(Struct, frozen=True):
    """A text, or its tokens, to go on with as it is: for models that have `completes`."""

    text: str | tuple[int, ...]
    grammar: str = ""
    """What may be written, as GBNF."""
    logprobs: int | None = None
    """How many likely tokens are told beside each one written; None: no probabilities at all."""
    echo: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output_schema: dict[str, Any] | None = None
    settings: Settings = Settings()
    conversation: str | None = None
    parent: str | None = None
    """The conversation that this one was forked from."""
    raw: Raw | None = None
    """Instead of everything else but the settings."""

    @property
    def callable(self) -> tuple[ToolSpec, ...]:
        """The tools that may be called: none, the named one, or all."""
        choice = self.tool_choice
        if choice.mode == "none":
            return ()
        return tuple(tool for tool in self.tools if choice.mode != "named" or tool.name == choice.name)

    @property
    def must(self) -> bool:
        """Whether a tool has to be called."""
        return self.tool_choice.mode in ("required", "named") and bool(self.callable)


class Model(Protocol):
    """Answers one prompt. Cancelling the iteration must cancel the work behind it."""

    def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]: ...
