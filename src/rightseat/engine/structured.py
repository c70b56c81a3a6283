"""Structured output: answers that must fit a JSON Schema are validated, with one repair."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.engine.assembler import EventAssembler, ModelAnswer
from rightseat.errors import UpstreamGarbled
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import Event, TextDelta, TextEnd, TextStart, text_events
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.schema import get_validator
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing

SCHEMA_INSTRUCTION = "Answer with one JSON value that fits this JSON Schema, and nothing else:\n"
_CODE_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


async def generate_structured(model: Model, question: str, schema: dict[str, Any]) -> Any:
    """Return a value that satisfies the schema; raise UpstreamGarbled after the second failure."""
    instruction = SCHEMA_INSTRUCTION + msgspec.json.encode(schema).decode()
    messages = [text_message("system", instruction), text_message("user", question)]
    validator = get_validator(schema)
    problem: str | None = ""
    for _ in range(2):
        async with closing(model.stream(Prompt(messages=tuple(messages), output_schema=schema))) as chunks:
            text = "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextChunk)])
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = f"not JSON: {error}"
        else:
            problem = validator.find_problem(value)
            if problem is None:
                return value
        repair = text_message("user", f"That does not fit: {problem}. Answer again.")
        messages += [text_message("assistant", text), repair]
    raise UpstreamGarbled(f"The model's answer does not match the requested schema: {problem}"[:500])


class SchemaBufferedAssembler(EventAssembler):
    """Buffers text events; all others pass at once. The schema applies to the final answer only: text beside tool
    calls is not checked, and nobody sees it."""

    def __init__(self, ids: IdGenerator, client_tools: Mapping[str, bool], schema: dict[str, Any]) -> None:
        super().__init__(ids, client_tools)
        self.validator = get_validator(schema)
        self.buffered_events: list[Event] = []

    def push(self, chunk: ModelChunk) -> list[Event]:
        return self.buffer_text(super().push(chunk))

    def finish(self) -> list[Event]:
        return self.buffer_text(super().finish())

    def buffer_text(self, events: list[Event]) -> list[Event]:
        passed: list[Event] = []
        for event in events:
            (self.buffered_events if isinstance(event, TextStart | TextDelta | TextEnd) else passed).append(event)
        return passed

    def find_problem(self, answer: ModelAnswer) -> str | None:
        """Describe what is wrong with the final answer; a truncated or refused answer is not checked."""
        has_refusal = any(isinstance(event, TextStart) and event.refusal for event in self.buffered_events)
        if answer.message.calls or answer.reason != "stop" or has_refusal:
            return None
        fence = _CODE_FENCE.fullmatch(answer.message.text)
        text = fence[1] if fence else answer.message.text
        try:
            problem = self.validator.find_problem(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            return f"it is not JSON ({error})"
        if problem is None and fence:
            # The code fence is not part of the value.
            self.buffered_events = text_events(answer.message.id or "", text)
        return problem


def repair_messages(answer: ModelAnswer, problem: str) -> list[Message]:
    """Return the messages that ask the model to correct its answer."""
    ask = f"That answer does not fit the JSON Schema that was asked for: {problem}. Answer again, JSON only."
    return [answer.message, text_message("user", ask)]
