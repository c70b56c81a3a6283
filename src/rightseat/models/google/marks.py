"""What Google wants back with the next request, at the same place: ids of calls, signatures of thoughts."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.types.messages import Message

PROVIDER = "google"


class Mark(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One place of an answer: call number `call`, the text from `start` to `end`, or a `thought`."""

    signature: str | None = None
    """Base64: a blob is kept as JSON."""
    call: int | None = None
    name: str | None = None
    """Of the called tool: a call that was left out since moves the others."""
    id: str | None = None
    start: int | None = None
    end: int | None = None
    thought: str | None = None

    @property
    def signed(self) -> bytes | None:
        try:
            return base64.b64decode(self.signature, validate=True) if self.signature else None
        except (binascii.Error, ValueError):
            return None


def written(signature: bytes | None) -> str | None:
    return base64.b64encode(signature).decode() if signature else None


def blob(mark: Mark) -> Any:
    return msgspec.to_builtins(mark)


def marks(message: Message) -> list[Mark]:
    """Those of a message, in their order. What is not of this form was not made here, and is left out."""
    found = []
    for opaque in message.opaque:
        if opaque.provider == PROVIDER:
            try:
                found.append(msgspec.convert(opaque.blob, Mark))
            except msgspec.ValidationError:
                continue
    return found
