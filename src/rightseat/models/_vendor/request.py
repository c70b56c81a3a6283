"""What several vendors take in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from rightseat.types.messages import FileMessagePart, ImageMessagePart, MessagePart, TextMessagePart

# For models that may call tools before they answer by the schema.
SCHEMA_INSTRUCTION_BESIDE_TOOLS = (
    "When you answer in words, answer with one JSON value that fits this JSON Schema, and nothing else:\n"
)


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that the text is, or None."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def format_chat_part(part: MessagePart) -> dict[str, Any]:
    """Return a content part of chat completions, which LangChain takes too."""
    match part:
        case TextMessagePart():
            return {"type": "text", "text": part.text}
        case ImageMessagePart():
            return {"type": "image_url", "image_url": without_none({"url": part.url, "detail": part.detail})}
        case FileMessagePart(media_type=str(media_type), data=str(data)) if media_type.startswith("audio/"):
            audio = {"data": data, "format": media_type.removeprefix("audio/")}
            return {"type": "input_audio", "input_audio": audio}
        case FileMessagePart():
            return {"type": "file", "file": format_file(part)}
        case _:
            assert_never(part)


def format_file(part: FileMessagePart) -> dict[str, str]:
    data = part.data
    if data is not None and not data.startswith("data:"):
        data = f"data:{part.media_type or 'application/octet-stream'};base64,{data}"
    return without_none({"filename": part.name, "file_id": part.file_id, "file_data": data})
