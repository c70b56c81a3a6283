"""Prompt → LangChain messages, built field by field: message data is never deserialized into objects."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rightseat.models._vendor.request import SCHEMA_INSTRUCTION_BESIDE_TOOLS, format_chat_part, parse_object
from rightseat.models.langchain.stream_parser import read_signed_blocks
from rightseat.types.messages import Message, MessagePart, TextMessagePart, ToolCall, text_message
from rightseat.types.model import Prompt

MessageBlock = str | dict[Any, Any]


def build_messages(prompt: Prompt, model: str) -> list[BaseMessage]:
    prompt_messages = prompt.messages
    if prompt.output_schema is not None:
        # No common way to enforce a schema exists: put it into the instructions and validate here.
        rule = SCHEMA_INSTRUCTION_BESIDE_TOOLS + msgspec.json.encode(prompt.output_schema).decode()
        first = prompt_messages[:1] if prompt_messages and prompt_messages[0].role in ("system", "developer") else ()
        instructions = f"{first[0].text}\n\n{rule}" if first else rule
        prompt_messages = (text_message("system", instructions), *prompt_messages[len(first) :])
    return [_format_message(message, model) for message in prompt_messages]


def _format_message(message: Message, model: str) -> BaseMessage:
    match message.role:
        case "system" | "developer":
            return SystemMessage(content=message.text)
        case "user":
            return HumanMessage(content=_format_content(message.parts), name=message.name)
        case "assistant":
            signed_blocks = read_signed_blocks(message, model)
            content: str | list[MessageBlock] = _format_content(message.parts)
            if signed_blocks:
                content = [*signed_blocks, *([{"type": "text", "text": message.text}] if message.text else [])]
            return AIMessage(content=content, tool_calls=[_format_call(call) for call in message.calls])
        case "tool":
            return ToolMessage(
                content=_format_content(message.parts), tool_call_id=message.call_id or "", name=message.name
            )
        case _:
            assert_never(message.role)


def _format_call(call: ToolCall) -> Any:
    return {"name": call.name, "args": parse_object(call.arguments) or {}, "id": call.id, "type": "tool_call"}


def _format_content(parts: tuple[MessagePart, ...]) -> str | list[MessageBlock]:
    if all(isinstance(part, TextMessagePart) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, TextMessagePart))
    return [format_chat_part(part) for part in parts]
