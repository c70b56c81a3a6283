"""Format of the embedded model's adapter: one line per tool, and Hermes' tags for calls.

    get_weather(city: string, unit?: "celsius"|"fahrenheit") // Get the weather
      city: The city's name

It is the shortest description of a tool that still names its arguments. train/ renders its data with this
module, so that prompts match the training data exactly.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.format import Ask, Plan, dumped
from rightseat.models.llamacpp.formats.hermes import BEGIN, END, Hermes
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec

# Verbatim from the training data: any change degrades the adapter.
TOLD = (
    f'You can call these functions. To call one, reply {BEGIN}{{"name": ..., "arguments": {{...}}}}{END}. '
    "If none fits or a required value is missing, reply in plain words."
)
_DEEPEST = 4
# The grammar has all enum values; listing thousands would fill the context.
_VALUES = 40


class Signatures(Hermes):
    name = "signatures"
    marks = ()
    own_prompt = True

    def plan(self, ask: Ask) -> Plan:
        plan = super().plan(ask)
        # The adapter was also trained on enum choices; other output schemas use the base model.
        chooses = "enum" in (ask.prompt.output_schema or ())
        return replace(plan, adapted=True) if ask.tools or chooses else plan

    def told(self, ask: Ask) -> str:
        tools = "\n".join(map(signature, ask.tools))
        return f"{TOLD}\n\n{ask.foreign(tools)}"

    def calls(self, allowed: Allowed) -> str:
        quote = allowed.rules.quote
        one = allowed.rules.add("tagged", f"{quote(BEGIN)} {allowed.json_call()} {quote(END)}")
        return allowed.repeated(one, '"\\n"')

    def spoken(self, message: Message, ask: Ask) -> str:
        bodies = (f'{{"name": {dumped(call.name)}, "arguments": {call.arguments}}}' for call in message.calls)
        calls = (f"{BEGIN}{ask.foreign(body)}{END}" for body in bodies)
        return "\n".join(filter(None, [ask.foreign(message.text), *calls]))


def signature(tool: ToolSpec) -> str:
    """Return the tool's signature line, and one line per described argument."""
    properties = _properties(tool.parameters)
    lines = [f"{tool.name}({_listed(tool.parameters)})"]
    if tool.description:
        lines[0] += f" // {_line(tool.description)}"
    for name, schema in properties.items():
        if isinstance(schema, dict) and schema.get("description"):
            lines.append(f"  {name}: {_line(str(schema['description']))}")
    return "\n".join(lines)


def _listed(schema: dict[str, Any], depth: int = 0) -> str:
    required = schema.get("required")
    needed = required if isinstance(required, list) else ()
    return ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(value, depth + 1)}"
        for name, value in _properties(schema).items()
    )


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _type(schema: Any, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "any"
    if isinstance(schema.get("enum"), list):
        listed = [dumped(value) for value in schema["enum"][:_VALUES]]
        return "|".join(listed if len(schema["enum"]) <= _VALUES else [*listed, "..."])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"{_type(schema.get('items', {}), depth + 1)}[]"
    if kind == "object" and _properties(schema):
        return f"{{{_listed(schema, depth)}}}"
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _line(text: str) -> str:
    """Join the text into one line: a line break would look like another tool."""
    return " ".join(text.split())
