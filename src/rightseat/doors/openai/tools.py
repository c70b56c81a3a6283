"""Tools and calls in OpenAI's three shapes: functions, custom tools, and the function API of 2023."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openai import wire
from rightseat.errors import CallerError
from rightseat.http.endpoint import make_tool_spec
from rightseat.types.messages import ToolCall
from rightseat.types.model import ToolChoice, ToolSpec
from rightseat.types.schema import get_validator
from rightseat.types.text import decode_or_none

CUSTOM_INPUT = "input"
"""The only argument of a custom tool."""


class CallShape(Struct, frozen=True):
    """Shape of the calls in a response: `custom` tools have a text, `legacy` is the function API of 2023. `streamed`:
    arguments are sent as they come, those of `custom` and `legacy` calls when they are complete."""

    custom: frozenset[str] = frozenset()
    legacy: bool = False
    streamed: bool = False

    @classmethod
    def from_request(cls, body: wire.ChatRequest, *, streamed: bool) -> CallShape:
        tools = (tool for tool in body.tools or () if isinstance(tool, wire.CustomToolDefinition))
        return cls(frozenset(tool.custom.name for tool in tools), bool(body.functions), streamed)

    def is_streamed(self, name: str) -> bool:
        return self.streamed and not self.legacy and name not in self.custom

    def name_finish_reason(self, reason: str) -> str:
        names = {"calls": "function_call" if self.legacy else "tool_calls", "interrupt": "stop"}
        return names.get(reason, reason)

    def format_calls(self, calls: list[ToolCall]) -> dict[str, Any]:
        """Return the fields of a message that has these calls; the API of 2023 has only one in a message."""
        if not calls:
            return {}
        if self.legacy:
            return {"function_call": {"name": calls[0].name, "arguments": calls[0].arguments}}
        return {"tool_calls": [self.format_call(call) for call in calls]}

    def format_call(self, call: ToolCall) -> dict[str, Any]:
        if call.name in self.custom:
            custom = {"name": call.name, "input": decode_custom_input(call.arguments)}
            return {"id": call.id, "type": "custom", "custom": custom}
        function = {"name": call.name, "arguments": call.arguments}
        return {"id": call.id, "type": "function", "function": function}

    def list_deltas(self, call: ToolCall, index: int) -> Iterator[dict[str, Any]]:
        """Yield the deltas of a complete call: its start, then its arguments."""
        if self.legacy:
            if index == 0:
                yield {"function_call": {"name": call.name, "arguments": ""}}
                yield {"function_call": {"arguments": call.arguments}}
            return
        whole = self.format_call(call)
        kind, argument = whole["type"], "input" if whole["type"] == "custom" else "arguments"
        yield {"tool_calls": [{"index": index, **whole, kind: {**whole[kind], argument: ""}}]}
        yield {"tool_calls": [{"index": index, kind: {argument: whole[kind][argument]}}]}


def encode_custom_input(text: str) -> str:
    return msgspec.json.encode({CUSTOM_INPUT: text}).decode()


def decode_custom_input(arguments: str) -> str:
    value = decode_or_none(arguments)
    text = value.get(CUSTOM_INPUT) if isinstance(value, dict) else None
    return text if isinstance(text, str) else arguments


def parse_tools(body: wire.ChatRequest) -> tuple[ToolSpec, ...]:
    """Return the client's tools, sent as `tools` or as the `functions` of 2023."""
    if body.functions and body.tools:
        raise CallerError("functions: send either `tools` or `functions`, not both.", param="functions")
    functions = [parse_function(function, f"functions[{i}]") for i, function in enumerate(body.functions or ())]
    return (*functions, *(parse_tool(tool, i) for i, tool in enumerate(body.tools or ())))


def parse_tool(tool: wire.ToolDefinition | wire.CustomToolDefinition, number: int) -> ToolSpec:
    if isinstance(tool, wire.CustomToolDefinition):
        return parse_custom_tool(tool.custom, f"tools[{number}].custom")
    return parse_function(tool.function, f"tools[{number}].function")


def parse_function(function: wire.ChatFunction, place: str) -> ToolSpec:
    spec = make_tool_spec(function.name, function.description, function.parameters, place)
    return replace(spec, strict=bool(function.strict))


def parse_custom_tool(custom: wire.CustomTool, place: str) -> ToolSpec:
    """Return the spec of a custom tool: a function with one text, which a `regex` format limits."""
    text_schema: dict[str, Any] = {"type": "string"}
    if isinstance(custom.format, wire.GrammarFormat):
        grammar, place = custom.format.grammar, f"{place}.format"
        if grammar.syntax == "lark":
            problem = "a lark grammar cannot be held here. Send the syntax `regex`, or describe the text in words."
            raise CallerError(f"{place}: {problem}", param=place)
        text_schema["pattern"] = f"^(?:{grammar.definition})$"
        try:
            get_validator(text_schema)
        except CallerError as error:
            raise CallerError(f"{place}: {error.message}", param=place) from None
    parameters = {"type": "object", "properties": {CUSTOM_INPUT: text_schema}, "required": [CUSTOM_INPUT]}
    return make_tool_spec(custom.name, custom.description, parameters | {"additionalProperties": False}, place)


def parse_tool_choice(body: wire.ChatRequest, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    """Return the choice of `tool_choice`, or of `function_call` where that is not sent."""
    names = frozenset(tool.name for tool in tools)
    if body.tool_choice is None:
        return parse_function_call(body.function_call, names)
    match body.tool_choice:
        case wire.NamedToolChoice(wire.FunctionName(name)) | wire.CustomToolChoice(wire.FunctionName(name)):
            return ToolChoice("named", check_tool_name(name, names, "tool_choice"))
        case wire.AllowedToolsChoice():
            return parse_allowed_tools(body.tool_choice, names)
        case mode:
            return ToolChoice(mode)


def parse_function_call(function_call: str | wire.FunctionName | None, names: Container[str]) -> ToolChoice:
    if isinstance(function_call, wire.FunctionName):
        return ToolChoice("named", check_tool_name(function_call.name, names, "function_call"))
    return ToolChoice("none" if function_call == "none" else "auto")


def parse_allowed_tools(choice: wire.AllowedToolsChoice, names: Container[str]) -> ToolChoice:
    allowed = choice.allowed_tools or wire.AllowedTools(choice.mode, choice.tools)
    selected = [item.function or item.custom or wire.FunctionName(item.name or "") for item in allowed.tools]
    if not selected:
        problem = 'tool_choice: allowed_tools names no tool. Send tool_choice "none" to allow none.'
        raise CallerError(problem, param="tool_choice")
    allowed_names = tuple(check_tool_name(item.name, names, "tool_choice") for item in selected)
    return ToolChoice(allowed.mode, allowed=allowed_names)


def check_tool_name(name: str, names: Container[str], place: str) -> str:
    """Return the name if it is a tool of the request; raise CallerError if not."""
    if name not in names:
        raise CallerError(f"{place} names {name[:64]!r}, which is not among the tools.", param=place)
    return name
