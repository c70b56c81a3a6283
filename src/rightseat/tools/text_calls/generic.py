"""Generic tool calls for models without a format of their own: a JSON answer with a thought and a next step.

{"thought_about_next_step_only": "…", "next_step": {"tool_calls": [{"name": …, "arguments": …}]}}
{"thought_about_next_step_only": "…", "next_step": {"result": …}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

from rightseat.tools.text_calls.reader import Reader, Reading, Unreadable
from rightseat.tools.text_calls.typescript import signatures
from rightseat.tools.text_calls.values import call_object, key, string, value
from rightseat.types.messages import Message, said
from rightseat.types.model import Prompt, ToolSpec

THOUGHT, NEXT, CALLS, RESULT = "thought_about_next_step_only", "next_step", "tool_calls", "result"
# Without these limits a small model may never come to an end.
LONGEST_THOUGHT = 2000
MOST_CALLS = 8

Schema = dict[str, Any]
Publish = Literal["typescript", "json"]
# Values, not schemas: a "$ref" in them is data.
_VALUES = frozenset({"const", "enum", "default", "examples"})


class Envelope(Struct, frozen=True, kw_only=True):
    """JSON envelope of an answer. `output_schema` shapes the result, which is otherwise a text."""

    tools: tuple[ToolSpec, ...]
    must: bool = False
    many: bool = True
    output: Schema | None = None
    thought: Literal["content", "reasoning"] = "content"
    thinks: bool = True
    """Whether the envelope has a thought."""

    @classmethod
    def of(cls, prompt: Prompt, thought: Literal["content", "reasoning"] = "content") -> Envelope:
        return cls(
            tools=prompt.callable,
            must=prompt.must,
            many=prompt.settings.parallel_calls is not False,
            output=prompt.output_schema,
            # Content under a schema cannot contain the thought.
            thought="reasoning" if prompt.output_schema is not None else thought,
        )

    # ---- the instructions

    def instructions(self, publish: Publish = "typescript", foreign: Callable[[str], str] = str) -> str:
        """Return the system prompt. `escape` is applied to untrusted parts."""
        tools = signatures(self.tools) if publish == "typescript" else _as_json(self.tools)
        words = (
            "You are a function calling AI model.\nHere are the tools available:\n"
            f"{foreign(tools)}\n\n"
            f"Please respond in JSON format with the following schema:\n\n{self._form()}"
        )
        if self.output is None:
            return words
        schema = json.dumps(self.output, ensure_ascii=False)
        return f"{words}\n\nWhere T satisfies this JSON schema:\n{foreign(schema)}"

    def _form(self) -> str:
        many = "[]" if self.many else ""
        result = "string" if self.output is None else "T"
        calls = f"{{\n    {CALLS}: {{\n      name: string,\n      arguments: any\n    }}{many}\n  }}"
        step = calls if self.must else f"{calls} | {{\n    {RESULT}: {result}\n  }}"
        thought = f"  {THOUGHT}: string,\n" if self.thinks else ""
        return f"{{\n{thought}  {NEXT}: {step}\n}}"

    # ---- the JSON Schema

    def schema(self) -> Schema:
        """Return the JSON Schema of the answer, with the schemas of tools and result in `$defs`."""
        defs = {f"tool_{number}": _within(tool, f"tool_{number}") for number, tool in enumerate(self.tools)}
        called = [
            _closed({"name": {"const": tool.name}, "arguments": {"$ref": f"#/$defs/{name}"}})
            for name, tool in zip(defs, self.tools, strict=True)
        ]
        items = {"type": "array", "items": {"anyOf": called}, "minItems": 1}
        steps = [_closed({CALLS: {**items, "maxItems": MOST_CALLS if self.many else 1}})]
        if not self.must:
            result = {"type": "string"} if self.output is None else {"$ref": f"#/$defs/{RESULT}"}
            steps.append(_closed({RESULT: result}))
        if self.output is not None:
            defs[RESULT] = _rebased(self.output, f"#/$defs/{RESULT}")
        thought = {THOUGHT: {"type": "string", "maxLength": LONGEST_THOUGHT}} if self.thinks else {}
        return {**_closed({**thought, NEXT: {"anyOf": steps}}), "$defs": defs}

    # ---- the parser

    def read(self, reader: Reader) -> Reading[None]:
        thought: list[str] = []

        def think(text: str) -> None:
            thought.append(text)
            (reader.say if self.thought == "content" else reader.think)(text)

        yield from reader.space()
        yield from reader.literal("{")
        while (name := (yield from _property(reader))) is not None:
            if name == THOUGHT:
                yield from string(reader, think)
            elif name == NEXT:
                yield from self._step(reader, after=self.thought == "content" and any(thought))
            else:
                yield from value(reader, _ignored)

    def _step(self, reader: Reader, *, after: bool) -> Reading[None]:
        yield from reader.literal("{")
        while (name := (yield from _property(reader))) is not None:
            if name == CALLS:
                yield from _calls(reader)
            elif name == RESULT:
                reader.say("\n\n" if after else "")
                plain = self.output is None and (yield from reader.next()) == '"'
                yield from (string if plain else value)(reader, reader.say)
            else:
                yield from value(reader, _ignored)


def spoken(message: Message) -> str:
    """Format earlier calls of the assistant in this envelope."""
    calls = (f'{{"name": {_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls)
    step = f'{{"{CALLS}": [{", ".join(calls)}]}}'
    return f'{{"{THOUGHT}": {_json(message.text)}, "{NEXT}": {step}}}'


def worded(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Convert earlier calls and results to text, for a model without tool support."""
    names: dict[str, str] = {}
    out = []
    for message in messages:
        if message.calls:
            names |= {call.id: call.name for call in message.calls}
            message = said("assistant", spoken(message))
        elif message.role == "tool":
            name = message.name or names.get(message.call_id or "")
            message = said("user", f"Result{f' of {name}' if name else ''}:\n{message.text}")
        out.append(message)
    return tuple(out)


def _property(reader: Reader) -> Reading[str | None]:
    """Read the name of the object's next property; None at its end, which is consumed."""
    yield from reader.space()
    yield from reader.maybe(",")
    yield from reader.space()
    if (yield from reader.next()) == "}":
        yield from reader.take(1)
        return None
    return (yield from key(reader))


def _calls(reader: Reader) -> Reading[None]:
    """Read a list of calls, or a single one."""
    if (yield from reader.next()) == "{":
        yield from call_object(reader)
        return
    yield from reader.literal("[")
    yield from reader.space()
    while (yield from reader.next()) != "]":
        yield from call_object(reader)
        yield from reader.space()
        if not (yield from reader.maybe(",")) and (yield from reader.next()) != "]":
            raise Unreadable("expected another call, or the end of the calls")
        yield from reader.space()
    yield from reader.take(1)


def _ignored(text: str) -> None:
    pass


def _closed(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _within(tool: ToolSpec, name: str) -> Schema:
    parameters = tool.parameters
    shaped = parameters if "type" in parameters or "$ref" in parameters else {"type": "object", **parameters}
    return _rebased(shaped, f"#/$defs/{name}")


def _rebased(schema: Schema, place: str) -> Schema:
    """Return the schema with its local `$ref`s moved below another pointer."""
    return {name: _moved(name, item, place) for name, item in schema.items()}


def _moved(name: str, item: Any, place: str) -> Any:
    if name == "$ref" and isinstance(item, str) and (item == "#" or item.startswith("#/")):
        return place + item[1:]
    if isinstance(item, dict) and name not in _VALUES:
        return _rebased(item, place)
    if isinstance(item, list) and name not in _VALUES:
        return [_rebased(one, place) if isinstance(one, dict) else one for one in item]
    return item


def _as_json(tools: tuple[ToolSpec, ...]) -> str:
    return "\n".join(
        _json({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        for tool in tools
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
