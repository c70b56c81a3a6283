"""Format of the embedded model's adapter: one line per tool, and Hermes' tags for calls.

    get_weather(city: string, unit?: "celsius"|"fahrenheit") // Get the weather
      city: The city's name

It is the shortest description of a tool that still names its arguments. train/ renders its data with this
module, so that prompts match the training data exactly.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.allowed import AnswerGrammar
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, dump_json
from rightseat.models.llamacpp.formats.hermes import BEGIN, END, HermesFormat
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec

# Verbatim from the training data: any change degrades the adapter.
INSTRUCTIONS = (
    f'You can call these functions. To call one, reply {BEGIN}{{"name": ..., "arguments": {{...}}}}{END}. '
    "If none fits or a required value is missing, reply in plain words."
)
_MAX_DEPTH = 4
# The grammar has all enum values; listing thousands would fill the context.
_MAX_ENUM_VALUES = 40


class SignatureFormat(HermesFormat):
    name = "signatures"
    template_markers = ()
    own_prompt = True

    def make_plan(self, context: FormatContext) -> PromptPlan:
        plan = super().make_plan(context)
        # The adapter was also trained on enum choices; other output schemas use the base model.
        chooses = "enum" in (context.prompt.output_schema or ())
        return replace(plan, uses_adapter=True) if context.tools or chooses else plan

    def describe_tools(self, context: FormatContext) -> str:
        tools = "\n".join(map(format_signature, context.tools))
        return f"{INSTRUCTIONS}\n\n{context.mark_foreign(tools)}"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote
        tagged_call = grammar.rules.add(
            "tagged", f"{quote(BEGIN)} {grammar.add_json_call_rule()} {quote(END)}"
        )
        return grammar.repeat_calls(tagged_call, '"\\n"')

    def format_calls(self, message: Message, context: FormatContext) -> str:
        bodies = (
            f'{{"name": {dump_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls
        )
        calls = (f"{BEGIN}{context.mark_foreign(body)}{END}" for body in bodies)
        return "\n".join(filter(None, [context.mark_foreign(message.text), *calls]))


def format_signature(tool: ToolSpec) -> str:
    """Return the tool's signature line, and one line per described argument."""
    properties = _get_properties(tool.parameters)
    lines = [f"{tool.name}({_format_parameters(tool.parameters)})"]
    if tool.description:
        lines[0] += f" // {_to_single_line(tool.description)}"
    for name, schema in properties.items():
        if isinstance(schema, dict) and schema.get("description"):
            lines.append(f"  {name}: {_to_single_line(str(schema['description']))}")
    return "\n".join(lines)


def _format_parameters(schema: dict[str, Any], depth: int = 0) -> str:
    required = schema.get("required")
    required_names = required if isinstance(required, list) else ()
    return ", ".join(
        f"{name}{'' if name in required_names else '?'}: {_format_type(value, depth + 1)}"
        for name, value in _get_properties(schema).items()
    )


def _get_properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _format_type(schema: Any, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "any"
    if isinstance(schema.get("enum"), list):
        listed = [dump_json(value) for value in schema["enum"][:_MAX_ENUM_VALUES]]
        return "|".join(listed if len(schema["enum"]) <= _MAX_ENUM_VALUES else [*listed, "..."])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"{_format_type(schema.get('items', {}), depth + 1)}[]"
    if kind == "object" and _get_properties(schema):
        return f"{{{_format_parameters(schema, depth)}}}"
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _to_single_line(text: str) -> str:
    """Join the text into one line: a line break would look like another tool."""
    return " ".join(text.split())
