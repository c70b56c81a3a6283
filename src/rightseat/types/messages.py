"""The conversation as values: five roles, parts, calls. Ids are strings that some door or the engine made."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Text(Struct, frozen=True, tag=True):
    text: str


class Image(Struct, frozen=True, tag=True):
    """`url` is an address or a `data:` URL; it is passed on to the model, never fetched here."""

    url: str
    detail: str | None = None
    name: str | None = None
    """Of the file that it was, where the client says it."""


class File(Struct, frozen=True, tag=True):
    """A file as the client sent it: base64 `data` or an upstream's `file_id`."""

    name: str | None = None
    media_type: str | None = None
    data: str | None = None
    file_id: str | None = None
    read: bool = False
    """What it says stands in the conversation already: a model is told its name, and tools get it."""


Part = Text | Image | File


class Call(Struct, frozen=True):
    """`arguments` is JSON text, always an object; `id` is ours once the engine has seen the call."""

    id: str
    name: str
    arguments: str


class Opaque(Struct, frozen=True):
    """A provider's blob (thinking signatures) that must travel back to it unchanged."""

    provider: str
    blob: Any


class Message(Struct, frozen=True):
    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    name: str | None = None
    id: str | None = None
    opaque: tuple[Opaque, ...] = ()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def said(role: Role, text: str, **more: Any) -> Message:
    """A message of plain text."""
    return Message(role, (Text(text),) if text else (), **more)
