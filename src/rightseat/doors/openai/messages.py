"""Parse the messages of a chat request, in the shapes that real clients send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

import msgspec

from rightseat.doors.openai import wire
from rightseat.doors.openai.tools import encode_custom_input
from rightseat.errors import CallerError
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    Role,
    TextMessagePart,
    ToolCall,
    make_client_reasoning,
)


def parse_messages(chat_messages: Sequence[wire.ChatMessage]) -> tuple[Message, ...]:
    """Parse all messages. A result without an id gets that of the call it can only belong to."""
    open_calls: dict[str, str] = {}
    messages = []
    for number, chat_message in enumerate(chat_messages):
        role: Role = "tool" if chat_message.role == "function" else chat_message.role
        calls = parse_calls(chat_message, number)
        open_calls.update((call.id, call.name) for call in calls)
        call_id = find_call_id(chat_message, open_calls, number) if role == "tool" else None
        open_calls.pop(call_id or "", None)
        message = Message(
            role,
            parse_content(chat_message.content or chat_message.refusal),
            calls,
            call_id=call_id,
            name=chat_message.name if role != "tool" else None,
            opaque=make_client_reasoning(find_reasoning(chat_message)) if role == "assistant" else (),
        )
        messages.append(message)
    return tuple(messages)


def parse_calls(chat_message: wire.ChatMessage, number: int) -> tuple[ToolCall, ...]:
    # The 2023 API has one call per message and no ids: the function's name is used as id.
    if chat_message.function_call is not None:
        function = chat_message.function_call
        return (ToolCall(function.name, function.name, encode_arguments(function.arguments)),)
    calls = []
    for index, call in enumerate(chat_message.tool_calls or ()):
        id = call.id or f"call_{number}_{index}"
        if call.function is not None:
            calls.append(ToolCall(id, call.function.name, encode_arguments(call.function.arguments)))
        elif call.custom is not None:
            calls.append(ToolCall(id, call.custom.name, encode_custom_input(call.custom.input)))
        else:
            place = f"messages[{number}].tool_calls[{index}]"
            raise CallerError(f"{place}: a call needs `function` or `custom`.", param=place)
    return tuple(calls)


def encode_arguments(arguments: str | dict[str, Any] | None) -> str:
    return msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else arguments or ""


def find_call_id(chat_message: wire.ChatMessage, open_calls: dict[str, str], number: int) -> str:
    """Return the id of the call that a result answers: its own, else that of the only open call, by name or at all."""
    call_id = chat_message.name if chat_message.role == "function" else chat_message.tool_call_id
    if call_id:
        return call_id
    named = [id for id, name in open_calls.items() if name == chat_message.name]
    match named or list(open_calls):
        case [id]:
            return id
        case _:
            raise CallerError("A tool message needs the tool_call_id it answers.", param=f"messages[{number}]")


def parse_content(content: str | Iterable[str | wire.ContentPart] | None) -> tuple[MessagePart, ...]:
    if isinstance(content, str):
        return (TextMessagePart(content),) if content else ()
    parts = map(parse_part, content or ())
    return tuple(part for part in parts if part is not None)


def parse_part(content: str | wire.ContentPart) -> MessagePart | None:
    """Return the part; None for a thought, which is no part of the answer."""
    match content:
        case str():
            return TextMessagePart(content)
        case wire.TextPart(text) | wire.InputTextPart(text) | wire.OutputTextPart(text) | wire.RefusalPart(text):
            return TextMessagePart(text)
        case wire.ImagePart(image):
            return ImageMessagePart(image) if isinstance(image, str) else ImageMessagePart(image.url, image.detail)
        case wire.FilePart(file):
            return FileMessagePart(name=file.filename, data=file.file_data, file_id=file.file_id)
        case wire.AudioPart(audio):
            return FileMessagePart(media_type=f"audio/{audio.format}", data=audio.data)
        case wire.ThinkingPart() | wire.RedactedThinkingPart() | wire.ReasoningPart():
            return None
        case _:
            assert_never(content)


def find_reasoning(chat_message: wire.ChatMessage) -> str:
    """Return the thoughts of an assistant message: from one of the fields that servers use, else from its parts."""
    for value in (chat_message.reasoning_content, chat_message.reasoning, chat_message.thinking):
        if isinstance(value, str) and value:
            return value
    content = chat_message.content
    return "".join(map(find_thought, () if isinstance(content, str) else content or ()))


def find_thought(content: str | wire.ContentPart) -> str:
    match content:
        case wire.ThinkingPart(thinking):
            return thinking
        case wire.ReasoningPart(text, reasoning):
            return text or reasoning or ""
        case _:
            return ""
