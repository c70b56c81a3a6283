"""Structured output: ask a model for a value that fits a schema, validate it, allow one repair."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.errors import UpstreamGarbled
from rightseat.types import chunks as fragments
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing

SCHEMA_INSTRUCTION = "Answer with one JSON value that fits this JSON Schema, and nothing else:\n"


async def generate_structured(model: Model, question: str, schema: dict[str, Any]) -> Any:
    """Return a value that satisfies the schema; raise UpstreamGarbled after the second failure."""
    messages = [
        text_message("system", SCHEMA_INSTRUCTION + msgspec.json.encode(schema).decode()),
        text_message("user", question),
    ]
    validator = get_validator(schema)
    problem: str | None = ""
    for _ in range(2):
        prompt = Prompt(messages=tuple(messages), output_schema=schema)
        text = await complete_text(model, prompt)
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = f"not JSON: {error}"
        else:
            problem = validator.find_problem(value)
            if problem is None:
                return value
        messages += [
            text_message("assistant", text),
            text_message("user", f"That does not fit: {problem}. Answer again."),
        ]
    raise UpstreamGarbled("The model did not answer in the form that was asked for. Try again.")


async def complete_text(model: Model, prompt: Prompt) -> str:
    async with closing(model.stream(prompt)) as stream:
        texts = [fragment.text async for fragment in stream if isinstance(fragment, fragments.TextChunk)]
    return "".join(texts)
