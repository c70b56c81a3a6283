"""NativeFormat: the engine's own chat route writes, constrains and parses tool calls.

Recent llama-servers know the templates of many families and derive the syntax of calls from others. What the
engine does not guarantee is done here: named tools, bounded numbers of calls, names and control tokens of others.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models._vendor.request import parse_object
from rightseat.models.llamacpp.control_tokens import MARK, WORD_JOINER, TrustedText
from rightseat.models.llamacpp.formats.answer_grammar import as_object_schema
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat, to_openai_tool
from rightseat.models.llamacpp.template import to_template_messages
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import Prompt, ToolSpec

# How LFM2 writes calls, and what its templates have in common.
PYTHONIC_BEGIN, PYTHONIC_END = "<|tool_call_start|>", "<|tool_call_end|>"
PYTHONIC_MARKERS = ("<|tool_list_start|>", "List of tools: [")

# Gemma 4, MiniCPM 5 and LFM2, in whose calls the engine's grammar has no schema.
UNENFORCED_MARKERS = ("<|tool_call>call:", '<param name="', *PYTHONIC_MARKERS)

_PLAIN_NAME = re.compile(r"[\w.:/-]{1,256}")
_ANNOTATIONS = frozenset({"$schema", "default", "description", "examples", "title"})
_PLAIN_TYPES = frozenset({"boolean", "integer", "number", "string"})
_OBJECT_KEYWORDS = frozenset({"additionalProperties", "properties", "required", "type"})
_SCHEMA_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class NativeFormat(ToolCallFormat):
    """`call_opening`: the text that begins every call. An answer that must be a call continues it, because the
    engine's own constraint lets any text precede a call. `enforces_schemas`: the engine's grammar has the properties
    of a tool."""

    name = "native"

    def __init__(self, call_opening: str = "", *, enforces_schemas: bool = True) -> None:
        self.call_opening = call_opening
        self.enforces_schemas = enforces_schemas

    @staticmethod
    def takes_prompt(prompt: Prompt) -> bool:
        """Return whether the chat route can do what the caller sets: no grammar and no answer that has begun."""
        return not any(prompt.settings.extra.get(name) for name in ("grammar", "continue_final_message"))

    def make_plan(self, context: FormatContext) -> PromptPlan:
        tools, schema = tuple(map(_to_engine_tool, context.tools)), context.prompt.output_schema
        instructions = [] if schema is None or context.must_call else [self.describe_output_schema(schema, context)]
        messages = self.insert_instructions(instructions, context)
        enforced = {tool.name for tool in context.tools if self.enforces_schemas and is_plain_schema(tool.parameters)}
        return PromptPlan(
            messages=messages,
            tools=tools,
            answer_prefix=self.make_answer_prefix(context),
            filters_stop_words=bool(context.prompt.settings.stop),
            enforced_tools=frozenset(enforced),
            chat_request=self._build_request(messages, tools, context),
            parse=self.parse_text,
        )

    def make_answer_prefix(self, context: FormatContext) -> str:
        # A model that thinks must be free to do so first.
        return "" if context.thinking.active_tags or not context.must_call else self.call_opening

    def _build_request(
        self, messages: tuple[Message, ...], tools: tuple[dict[str, Any], ...], context: FormatContext
    ) -> dict[str, Any]:
        # The engine itself parses arguments and makes content parts where a template needs them.
        capabilities = replace(context.capabilities, object_arguments=False, content_parts=False)
        request: dict[str, Any] = {"messages": to_template_messages(messages, capabilities), "reasoning_format": "auto"}
        if prefix := self.make_answer_prefix(context):
            request["messages"].append({"role": "assistant", "content": TrustedText(prefix)})
            request |= {"continue_final_message": True, "add_generation_prompt": False}
        schema, parallel = context.prompt.output_schema, context.prompt.settings.parallel_calls
        if tools:
            request |= {"tools": list(tools), "tool_choice": "required" if context.must_call else "auto"}
            request |= {} if parallel is None else {"parallel_tool_calls": parallel}
        elif schema is not None:
            # With tools the engine would take the schema for the whole answer, and no call were possible.
            request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        return split_control_tokens(request, context)

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        # LFM2's template, whose answers the engine parses, does not render earlier calls.
        return not context.capabilities.tool_calls

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = ", ".join(_format_pythonic_call(call) for call in message.calls)
        text = context.mark_foreign(message.text)
        return f"{text}{PYTHONIC_BEGIN}{context.mark_foreign(f'[{calls}]')}{PYTHONIC_END}"

    def writes_results_as_text(self, context: FormatContext) -> bool:
        return False


def _format_pythonic_call(call: ToolCall) -> str:
    arguments = parse_object(call.arguments) or {}
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def split_control_tokens(request: dict[str, Any], context: FormatContext) -> dict[str, Any]:
    """Return the request with control tokens of others split, in all texts."""
    marked = msgspec.json.encode(context.control_tokens.mark(request), enc_hook=str).decode()
    split: dict[str, Any] = msgspec.json.decode(marked.replace(MARK, WORD_JOINER))
    return split


def _to_engine_tool(tool: ToolSpec) -> dict[str, Any]:
    """Return the tool in OpenAI's form, with the types that templates read; raises CallerError for its name."""
    if not _PLAIN_NAME.fullmatch(tool.name):
        shown = repr(tool.name[:64])
        raise CallerError(f"This model's tool format cannot express the tool name {shown}. Use a plain name.")
    return to_openai_tool(replace(tool, parameters=add_types(as_object_schema(tool.parameters))))


def add_types(schema: Any) -> Any:
    """Return the schema with the type of `enum` and `const` added where it is missing: templates print it."""
    if isinstance(schema, list):
        return [add_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _add_types_below(key, value) for key, value in schema.items()}
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if "type" not in schema and isinstance(values, list) and values:
        types = {_JSON_TYPES.get(type(value), "") for value in values}
        if len(types) == 1 and "" not in types:
            out["type"] = types.pop()
    return out


def _add_types_below(keyword: str, value: Any) -> Any:
    if keyword in ("const", "default", "enum", "examples"):
        return value
    if keyword in _SCHEMA_MAPS and isinstance(value, dict):
        return {name: add_types(schema) for name, schema in value.items()}
    return add_types(value)


def is_plain_schema(schema: Any) -> bool:
    """Return whether every engine and every syntax of calls enforces the schema: plain types and required
    properties. In XML-like calls a text may be anything, so that its length, pattern or enum is not enforced."""
    if not isinstance(schema, dict):
        return False
    keywords = schema.keys() - _ANNOTATIONS
    kind = schema.get("type")
    if kind == "array":
        return keywords == {"type", "items"} and is_plain_schema(schema["items"])
    if kind != "object":
        return isinstance(kind, str) and kind in _PLAIN_TYPES and keywords == {"type"}
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        keywords <= _OBJECT_KEYWORDS
        and isinstance(properties, dict)
        and isinstance(required, list)
        and all(isinstance(name, str) and name in properties for name in required)
        and all(map(is_plain_schema, properties.values()))
    )
