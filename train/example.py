"""One example: a conversation, the tools in play, and what the model should answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolSpec


@dataclass(frozen=True)
class Example:
    skill: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    zh: bool = False
    schema: dict[str, Any] | None = None
    """Of the answer, where it is a value and no call."""

    @property
    def answer(self) -> Message:
        return text_message("assistant", self.text, calls=self.calls)

    @property
    def question(self) -> str:
        return self.messages[-1].text


def make_call(name: str, arguments: dict[str, Any], number: int = 0) -> ToolCall:
    return ToolCall(f"call_{number}", name, json.dumps(arguments, ensure_ascii=False))


def make_exchange(question: str, calls: Sequence[ToolCall], results: Sequence[str]) -> tuple[Message, ...]:
    """A question with the calls it led to and what they gave."""
    tool_messages = (text_message("tool", result, call_id=made.id) for made, result in zip(calls, results, strict=True))
    return (text_message("user", question), text_message("assistant", "", calls=tuple(calls)), *tool_messages)
