"""Messages → `system` and `messages` of the Messages API, for conversations of any origin.

The API requires alternating user and assistant messages, user first; each tool result in the user message
right after its call; call ids that are unique and match [A-Za-z0-9_-]{1,64}; no empty text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from rightseat.engine.history import pair_calls_with_results
from rightseat.errors import CallerError
from rightseat.models.anthropic.claude_models import ClaudeModel
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart, ToolCall

ContentBlock = dict[str, Any]
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF_TYPE = "application/pdf"

# "%PDF" in base64.
_PDF_BASE64_PREFIX = "JVBERi"


def format_parts(parts: tuple[MessagePart, ...]) -> list[ContentBlock]:
    """Return the content blocks of `parts`."""
    return [block for part in parts for block in _format_part(part)]


def make_text_blocks(text: str) -> list[ContentBlock]:
    """Return a text block, or none for blank text, which the API refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _format_part(part: MessagePart) -> list[ContentBlock]:
    match part:
        case TextMessagePart():
            return make_text_blocks(part.text)
        case ImageMessagePart():
            return [{"type": "image", "source": _format_image(part.url)}]
        case FileMessagePart():
            return _format_file(part)
        case _:
            assert_never(part)


def _format_image(url: str) -> dict[str, str]:
    if url.startswith("data:"):
        return _format_image_data(*_split_data_url(url))
    if url.startswith("https://"):
        return {"type": "url", "url": url}
    raise CallerError(
        "This model takes a picture as a data: URL or by an https:// address: send it as one of them.", param="messages"
    )


def _format_image_data(media_type: str, data: str) -> dict[str, str]:
    # A common misspelling of image/jpeg.
    media_type = "image/jpeg" if media_type == "image/jpg" else media_type
    if media_type not in IMAGE_TYPES:
        raise CallerError("This model takes pictures as JPEG, PNG, GIF or WebP: convert it first.", param="messages")
    return {"type": "base64", "media_type": media_type, "data": data}


def _split_data_url(url: str) -> tuple[str, str]:
    head, comma, data = url.removeprefix("data:").partition(",")
    kind, *flags = head.lower().split(";")
    if not comma or "base64" not in flags:
        raise CallerError("A data: URL must be base64, as in data:image/png;base64,…", param="messages")
    return kind.strip(), data


def _format_file(part: FileMessagePart) -> list[ContentBlock]:
    if part.file_id is not None:
        return [_make_document({"type": "file", "file_id": part.file_id}, part.name)]
    kind, data = part.media_type or "", part.data or ""
    if data.startswith("data:"):
        named, data = _split_data_url(data)
        kind = kind or named
    kind = kind.partition(";")[0].strip().lower()
    if kind in IMAGE_TYPES:
        return [{"type": "image", "source": _format_image_data(kind, data)}]
    if kind == PDF_TYPE or data.startswith(_PDF_BASE64_PREFIX):
        return [_make_document({"type": "base64", "media_type": PDF_TYPE, "data": data}, part.name)]
    text = _decode_text(data) if kind in ("", "application/octet-stream") or kind.startswith("text/") else None
    if text is None:
        named = repr(part.name) if part.name else "a file"
        raise CallerError(
            f"This model reads PDF, plain text and pictures, and {named} is none of them.", param="messages"
        )
    source = {"type": "text", "media_type": "text/plain", "data": text}
    return [_make_document(source, part.name)] if text.strip() else []


def _make_document(source: dict[str, str], name: str | None) -> ContentBlock:
    return {"type": "document", "source": source, **({"title": name[:255]} if name else {})}


def _decode_text(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


PROVIDER = "anthropic"
PLACEHOLDER_USER_TEXT = "Go on."
_VALID_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ConversationPayload(Struct):
    system_texts: list[str] = []
    """System messages at the start of the conversation."""
    late_system_texts: list[str] = []
    """Later system messages, for models that do not accept them in place."""
    messages: list[dict[str, Any]] = []
    called_tools: list[str] = []
    """Names of the tools called in it, as sent to the API."""


def sanitize_name(name: str) -> str:
    """Return a name or id that the API accepts; the mapping is deterministic."""
    if _VALID_NAME.fullmatch(name):
        return name
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
    return f"{readable}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def build_conversation(
    messages: Iterable[Message], name: str, model: ClaudeModel, *, thinking: bool
) -> ConversationPayload:
    """Build the payload. `thinking`: the model will think, so its signed thinking blocks are sent back."""
    writer = _ConversationBuilder(name, model, thinking)
    for message in pair_calls_with_results(messages):
        match message.role:
            case "system" | "developer":
                writer.add_instructions(message.text)
            case "assistant":
                writer.add_assistant_message(message)
            case "tool":
                writer.add_tool_result(message)
            case _:
                writer.append("user", format_parts(message.parts))
    writer.finish()
    return writer.payload


class _ConversationBuilder:
    def __init__(self, name: str, model: ClaudeModel, thinking: bool) -> None:
        self.payload = ConversationPayload()
        self._name = name
        self._model = model
        self._thinking = thinking
        self._pending: list[str] = []
        self._used: set[str] = set()
        self._ids: dict[str, str] = {}

    def add_instructions(self, text: str) -> None:
        if not text.strip():
            return
        if not self.payload.messages:
            self.payload.system_texts.append(text)
        elif self._model.mid_system:
            self._pending.append(text)
        else:
            self.payload.late_system_texts.append(text)

    def append(self, role: str, content: list[ContentBlock]) -> None:
        if not content:
            return
        messages = self.payload.messages
        if role == "assistant":
            self._flush_instructions()
            if not messages:
                messages.append(_make_placeholder_message())
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})

    def add_tool_result(self, message: Message) -> None:
        content = format_parts(message.parts)
        id = self._ids.get(message.call_id or "", sanitize_name(message.call_id or ""))
        content_field = {"content": content} if content else {}
        self.append("user", [{"type": "tool_result", "tool_use_id": id, **content_field}])

    def add_assistant_message(self, message: Message) -> None:
        calls = [self._format_call(call) for call in message.calls]
        message_text = message.text
        # The API refuses images and files in assistant messages: send only the text.
        steps = self._find_steps(message)
        if steps is None:
            self.append("assistant", make_text_blocks(message_text) + calls)
            return
        content: list[ContentBlock] = []
        position = 0
        for step in steps:
            if "text" in step:
                content += make_text_blocks(message_text[position : position + step["text"]])
                position += step["text"]
            elif "call" in step:
                content.append(calls[step["call"]])
            elif self._thinking:
                content.append(dict(step["block"]))
        # The API refuses a message of thinking blocks alone.
        if any("text" in block or "input" in block for block in content):
            self.append("assistant", content)

    def _find_steps(self, message: Message) -> list[dict[str, Any]] | None:
        """Return the recorded order of thinking, text and calls; None if another model wrote it."""
        for opaque in message.opaque:
            blob = opaque.blob
            if opaque.provider != PROVIDER or not isinstance(blob, dict) or blob.get("model") != self._name:
                continue
            steps: list[dict[str, Any]] = blob["steps"]
            call_numbers = [step["call"] for step in steps if "call" in step]
            text_length = sum(step.get("text", 0) for step in steps)
            if call_numbers == list(range(len(message.calls))) and text_length == len(message.text):
                return steps
            # The message was truncated since: put the thinking blocks first.
            thoughts = [step for step in steps if "block" in step]
            remaining = [{"text": len(message.text)}, *({"call": n} for n in range(len(message.calls)))]
            return thoughts + remaining
        return None

    def _format_call(self, call: ToolCall) -> ContentBlock:
        id = sanitize_name(call.id)
        # Some clients reuse ids across turns.
        number = 1
        while id in self._used:
            number += 1
            id = sanitize_name(f"{call.id}_{number}")
        self._used.add(id)
        self._ids[call.id] = id
        name = sanitize_name(call.name)
        if name not in self.payload.called_tools:
            self.payload.called_tools.append(name)
        return {"type": "tool_use", "id": id, "name": name, "input": msgspec.json.decode(call.arguments)}

    def _flush_instructions(self) -> None:
        """Add pending system messages after the last user message, the only place the API accepts them."""
        messages = self.payload.messages
        if self._pending and messages and messages[-1]["role"] == "user":
            messages.append({"role": "system", "content": "\n\n".join(self._pending)})
            self._pending = []

    def finish(self) -> None:
        messages = self.payload.messages
        self._flush_instructions()
        self.payload.late_system_texts += self._pending
        if messages and messages[-1]["role"] == "assistant":
            last = messages[-1]["content"][-1]
            if self._model.prefill and not self._thinking and last["type"] == "text":
                # The API refuses trailing white space in a final assistant message.
                messages[-1]["content"][-1] = {**last, "text": last["text"].rstrip()}
                return
        if not messages or messages[-1]["role"] == "assistant":
            messages.append(_make_placeholder_message())


def _make_placeholder_message() -> dict[str, Any]:
    """Return a user message for a place where the API requires one."""
    return {"role": "user", "content": [{"type": "text", "text": PLACEHOLDER_USER_TEXT}]}
