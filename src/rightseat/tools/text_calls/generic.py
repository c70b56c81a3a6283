"""Generic tool calls for models without a format of their own: a JSON answer with a thought and a next step.

{"thought_about_next_step_only": "…", "next_step": {"tool_calls": [{"name": …, "arguments": …}]}}
{"thought_about_next_step_only": "…", "next_step": {"result": …}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

from rightseat.tools.text_calls.reader import (
    ModelTextReader,
    ParseSteps,
    copy_string,
    copy_value,
    read_call_list,
    read_call_object,
    read_key,
)
from rightseat.tools.text_calls.typescript import render_signatures
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt, ToolSpec

THOUGHT, NEXT, CALLS, RESULT = "thought_about_next_step_only", "next_step", "tool_calls", "result"
# Without these limits a small model may never come to an end.
MAX_THOUGHT_CHARS = 2000
MAX_CALLS = 8

Schema = dict[str, Any]
ToolNotation = Literal["typescript", "json"]
ThoughtChannel = Literal["content", "reasoning"]
# Values, not schemas: a "$ref" in them is data.
_VALUE_KEYS = frozenset({"const", "enum", "default", "examples"})


class JsonCallEnvelope(Struct, frozen=True, kw_only=True):
    """JSON envelope of an answer. `output_schema` shapes the result, which is otherwise a text."""

    tools: tuple[ToolSpec, ...]
    requires_call: bool = False
    allows_parallel: bool = True
    output_schema: Schema | None = None
    thought_channel: ThoughtChannel = "content"
    has_thought: bool = True

    @classmethod
    def from_prompt(cls, prompt: Prompt, thought_channel: ThoughtChannel = "content") -> JsonCallEnvelope:
        return cls(
            tools=prompt.callable_tools,
            requires_call=prompt.requires_tool_call,
            allows_parallel=prompt.settings.parallel_calls is not False,
            output_schema=prompt.output_schema,
            # Content under a schema cannot contain the thought.
            thought_channel="reasoning" if prompt.output_schema is not None else thought_channel,
        )

    def instructions(self, notation: ToolNotation = "typescript", escape: Callable[[str], str] = str) -> str:
        """Return the system prompt. `escape` is applied to untrusted parts."""
        fields = ({"name": t.name, "description": t.description, "parameters": t.parameters} for t in self.tools)
        tools = render_signatures(self.tools) if notation == "typescript" else "\n".join(map(_to_json, fields))
        text = (
            "You are a function calling AI model.\nHere are the tools available:\n"
            f"{escape(tools)}\n\n"
            f"Please respond in JSON format with the following schema:\n\n{self._type_notation()}"
        )
        if self.output_schema is None:
            return text
        return f"{text}\n\nWhere T satisfies this JSON schema:\n{escape(_to_json(self.output_schema))}"

    def _type_notation(self) -> str:
        many = "[]" if self.allows_parallel else ""
        result = "string" if self.output_schema is None else "T"
        calls = f"{{\n    {CALLS}: {{\n      name: string,\n      arguments: any\n    }}{many}\n  }}"
        step = calls if self.requires_call else f"{calls} | {{\n    {RESULT}: {result}\n  }}"
        thought = f"  {THOUGHT}: string,\n" if self.has_thought else ""
        return f"{{\n{thought}  {NEXT}: {step}\n}}"

    def schema(self) -> Schema:
        """Return the JSON Schema of the answer, with the schemas of tools and result in `$defs`."""
        defs: dict[str, Schema] = {}
        for number, tool in enumerate(self.tools):
            has_type = "type" in tool.parameters or "$ref" in tool.parameters
            parameters = tool.parameters if has_type else {"type": "object", **tool.parameters}
            defs[f"tool_{number}"] = _rebase_refs(parameters, f"#/$defs/tool_{number}")
        called = [
            _closed_object({"name": {"const": tool.name}, "arguments": {"$ref": f"#/$defs/{name}"}})
            for name, tool in zip(defs, self.tools, strict=True)
        ]
        items = {"type": "array", "items": {"anyOf": called}, "minItems": 1}
        steps = [_closed_object({CALLS: {**items, "maxItems": MAX_CALLS if self.allows_parallel else 1}})]
        if not self.requires_call:
            result = {"type": "string"} if self.output_schema is None else {"$ref": f"#/$defs/{RESULT}"}
            steps.append(_closed_object({RESULT: result}))
        if self.output_schema is not None:
            defs[RESULT] = _rebase_refs(self.output_schema, f"#/$defs/{RESULT}")
        thought = {THOUGHT: {"type": "string", "maxLength": MAX_THOUGHT_CHARS}} if self.has_thought else {}
        return {**_closed_object({**thought, NEXT: {"anyOf": steps}}), "$defs": defs}

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        thought: list[str] = []

        def think(text: str) -> None:
            thought.append(text)
            (reader.emit_text if self.thought_channel == "content" else reader.emit_reasoning)(text)

        yield from reader.skip_space()
        yield from reader.expect("{")
        while (name := (yield from _next_property(reader))) is not None:
            if name == THOUGHT:
                yield from copy_string(reader, think)
            elif name == NEXT:
                yield from self._parse_step(reader, after_thought=self.thought_channel == "content" and any(thought))
            else:
                yield from copy_value(reader, _discard)

    def _parse_step(self, reader: ModelTextReader, *, after_thought: bool) -> ParseSteps[None]:
        yield from reader.expect("{")
        while (name := (yield from _next_property(reader))) is not None:
            if name == CALLS:
                is_single = (yield from reader.peek_char()) == "{"
                yield from (read_call_object if is_single else read_call_list)(reader)
            elif name == RESULT:
                reader.emit_text("\n\n" if after_thought else "")
                plain = self.output_schema is None and (yield from reader.peek_char()) == '"'
                yield from (copy_string if plain else copy_value)(reader, reader.emit_text)
            else:
                yield from copy_value(reader, _discard)


def format_calls(message: Message) -> str:
    """Format earlier calls of the assistant in this envelope."""
    calls = (f'{{"name": {_to_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls)
    step = f'{{"{CALLS}": [{", ".join(calls)}]}}'
    return f'{{"{THOUGHT}": {_to_json(message.text)}, "{NEXT}": {step}}}'


def tool_messages_as_text(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Convert earlier calls and results to text, for a model without tool support."""
    names: dict[str, str] = {}
    converted = []
    for message in messages:
        if message.calls:
            names |= {call.id: call.name for call in message.calls}
            message = text_message("assistant", format_calls(message))
        elif message.role == "tool":
            name = message.name or names.get(message.call_id or "")
            message = text_message("user", f"Result{f' of {name}' if name else ''}:\n{message.text}")
        converted.append(message)
    return tuple(converted)


def _next_property(reader: ModelTextReader) -> ParseSteps[str | None]:
    """Read the name of the object's next property; None at its end, which is consumed."""
    yield from reader.skip_space()
    yield from reader.accept(",")
    yield from reader.skip_space()
    if (yield from reader.peek_char()) == "}":
        yield from reader.read_chars(1)
        return None
    return (yield from read_key(reader))


def _discard(text: str) -> None:
    pass


def _closed_object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _rebase_refs(schema: Any, pointer: str) -> Any:
    """Return the schema with its local `$ref`s moved below another pointer."""
    if not isinstance(schema, dict):
        return schema
    rebased = {}
    for name, item in schema.items():
        if name == "$ref" and isinstance(item, str) and (item == "#" or item.startswith("#/")):
            item = pointer + item[1:]
        elif name not in _VALUE_KEYS:
            is_list = isinstance(item, list)
            item = [_rebase_refs(part, pointer) for part in item] if is_list else _rebase_refs(item, pointer)
        rebased[name] = item
    return rebased


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
