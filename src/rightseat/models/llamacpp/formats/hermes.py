"""Hermes 2 Pro, Hermes 3, Qwen 2.5 and 3: `<tool_call>{"name": …, "arguments": …}</tool_call>`.

The grammar puts the name first, because the arguments' schema depends on it; Hermes was trained on both
orders, and the parser accepts both.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat, dump_json
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, read_call_object
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec

BEGIN, END = "<tool_call>", "</tool_call>"
RESULT_TEMPLATE = "<tool_response>\n{}\n</tool_response>"

_CALL_SCHEMA = (
    '{"properties": {"arguments": {"title": "Arguments", "type": "object"}, '
    '"name": {"title": "Name", "type": "string"}}, "required": ["arguments", "name"], '
    '"title": "FunctionCall", "type": "object"}'
)


class HermesFormat(ToolCallFormat):
    name = "hermes"
    needs_round_trip = True
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved_tokens = (BEGIN, END)
    padding: ClassVar[str] = "\n"
    """Text between the tags and an earlier call."""

    def describe_tools(self, context: FormatContext) -> str:
        return (
            "You are a function calling AI model. You are provided with function signatures within "
            "<tools></tools> XML tags.\n\n"
            "You may call one or more functions to assist with the user query. Don't make assumptions about "
            "what values to plug into functions.\n\n"
            f"Here are the available tools: <tools>{context.dump_tools(indent=2)}</tools>\n\n"
            "Use the following pydantic model json schema for each tool call you will make:\n\n"
            f"{_CALL_SCHEMA}\n\n"
            "For each function call return a json object with function name and arguments within "
            "<tool_call></tool_call> XML tags as follows:\n\n"
            '<tool_call>\n{"arguments": <args-dict>, "name": <function-name>}\n</tool_call>'
        )

    def describe_output_schema(self, schema: dict[str, Any], context: FormatContext) -> str:
        words = "You are a helpful assistant that answers in JSON. Here's the json schema you must adhere to:"
        return f"{words}\n<schema>\n{context.mark_foreign(dump_json(schema, indent=2))}\n</schema>"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote
        call = grammar.add_json_call_rule()
        tagged_call = grammar.rules.add("tagged", f'{quote(BEGIN)} "\\n"? {call} "\\n"? {quote(END)}')
        return grammar.repeat_calls(tagged_call, '"\\n"?')

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(BEGIN)):
            yield from read_call_object(reader, arguments=("arguments", "parameters"))
            yield from reader.skip_space()
            yield from reader.expect(END)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        bodies = (f'{{"name": {dump_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls)
        calls = (f"{BEGIN}{self.padding}{context.mark_foreign(body)}{self.padding}{END}" for body in bodies)
        return "\n".join(filter(None, [context.mark_foreign(message.text), *calls]))

    def format_result(self, message: Message, context: FormatContext) -> str:
        return RESULT_TEMPLATE.format(context.mark_foreign(message.text))


# Verbatim from the training data: any change degrades the adapter.
INSTRUCTIONS = (
    f'You can call these functions. To call one, reply {BEGIN}{{"name": ..., "arguments": {{...}}}}{END}. '
    "If none fits or a required value is missing, reply in plain words."
)

_MAX_DEPTH = 4

# The grammar has all enum values; listing thousands would fill the context.
_MAX_ENUM_VALUES = 40


class SignatureFormat(HermesFormat):
    """Format of the embedded model's adapter: one line per tool, and Hermes' tags for calls."""

    name = "signatures"
    template_markers = ()
    padding = ""
    own_prompt = True

    def make_plan(self, context: FormatContext) -> PromptPlan:
        plan = super().make_plan(context)
        # The adapter was also trained on enum choices; other output schemas use the base model.
        chooses = "enum" in (context.prompt.output_schema or ())
        # The base model does not know the tags of earlier calls and results and would write them itself.
        has_calls = any(message.calls or message.role == "tool" for message in context.prompt.messages)
        return replace(plan, uses_adapter=True) if context.tools or chooses or has_calls else plan

    def describe_tools(self, context: FormatContext) -> str:
        tools = "\n".join(map(format_signature, context.tools))
        return f"{INSTRUCTIONS}\n\n{context.mark_foreign(tools)}"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote
        tagged_call = grammar.rules.add("tagged", f"{quote(BEGIN)} {grammar.add_json_call_rule()} {quote(END)}")
        return grammar.repeat_calls(tagged_call, '"\\n"')


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
