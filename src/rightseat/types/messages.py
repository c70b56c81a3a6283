"""Messages of a conversation: roles, content parts, tool calls. Ids are made by a door or the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from rightseat.types.workers import INLINE_SIZE

MESSAGE_SIZE = 32
MAX_MESSAGES = 10_000
"""Messages of one request; a door refuses more. Each of them costs time whatever its size is."""
MAX_TOOLS = 1_000
"""Tools of one request, and items of an application's context."""
CONTEXT_HEADING = "Context from the application:"
DATE_LABEL = "Today's date"
"""Label of the date in the application's context."""
"""First line of the system message that has an application's context."""

Role = Literal["system", "developer", "user", "assistant", "tool"]


class TextMessagePart(Struct, frozen=True, tag="Text"):
    text: str


class ImageMessagePart(Struct, frozen=True, tag="Image"):
    """Image part. `url` is an address or a `data:` URL; it is passed to the model, never fetched here."""

    url: str
    detail: str | None = None
    name: str | None = None
    """File name, where the client sends one."""


class FileMessagePart(Struct, frozen=True, tag="File"):
    """File part as the client sent it: base64 `data` or an upstream's `file_id`."""

    name: str | None = None
    media_type: str | None = None
    data: str | None = None
    file_id: str | None = None
    read: bool = False
    """Whether its text is in the conversation already: the model sees only its name, tools get the file."""


MessagePart = TextMessagePart | ImageMessagePart | FileMessagePart


class ToolCall(Struct, frozen=True):
    """Tool call. `arguments` is the JSON text of an object; the engine replaces `id` with its own."""

    id: str
    name: str
    arguments: str


class ProviderData(Struct, frozen=True):
    """Provider-specific data, such as a thinking signature, that must be sent back to it unchanged."""

    provider: str
    blob: Any


REASONING_PROVIDER = "reasoning"
"""Provider of opaque parts that hold thoughts as text, `{"text": …}`. Vendors that demand thoughts back get the text;
what else is in the blob goes only to its `origin`."""


def make_client_reasoning(text: str) -> tuple[ProviderData, ...]:
    """Return thoughts that a client posts with an assistant message, as opaque parts of the message."""
    return (ProviderData(REASONING_PROVIDER, {"text": text}),) if text else ()


def is_client_reasoning(part: ProviderData) -> bool:
    return part.provider == REASONING_PROVIDER and isinstance(part.blob, dict) and "origin" not in part.blob


def merge_client_reasoning(part: ProviderData, given: tuple[ProviderData, ...]) -> ProviderData:
    """Return a part with the text of a client's thoughts, where both hold text."""
    if part.provider != REASONING_PROVIDER or not given:
        return part
    return ProviderData(part.provider, {**part.blob, "text": given[-1].blob["text"]})


class Message(Struct, frozen=True):
    role: Role
    parts: tuple[MessagePart, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str | None = None
    id: str | None = None
    opaque: tuple[ProviderData, ...] = ()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextMessagePart))

    @property
    def reasoning(self) -> str:
        """The thoughts of an assistant message, where they are known as text."""
        blobs = (part.blob for part in self.opaque if part.provider == REASONING_PROVIDER)
        return "".join(blob.get("text") or "" for blob in blobs if isinstance(blob, dict))


def measure_messages(messages: Iterable[Message]) -> int:
    """Measure the characters of messages up to `INLINE_SIZE`; beyond it, return a size that is only known to be larger.
    Each message counts as a line, so that many empty ones are large too."""
    size = 0
    for message in messages:
        size += MESSAGE_SIZE + sum(len(part.text) for part in message.parts if isinstance(part, TextMessagePart))
        size += sum(len(call.arguments) for call in message.calls)
        if size > INLINE_SIZE:
            break
    return size


def text_message(role: Role, text: str, **fields: Any) -> Message:
    return Message(role, (TextMessagePart(text),) if text else (), **fields)
