"""Call ids and thought signatures, which Google requires back at the same position."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.types.messages import Message

PROVIDER = "google"


class Mark(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A position in an answer: call number `call`, the text from `start` to `end`, or a `thought`."""

    signature: str | None = None
    """Base64, since the blob is stored as JSON."""
    call: int | None = None
    name: str | None = None
    """The called tool; call numbers shift if an earlier call was removed."""
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
    """Return the marks of a message in order; invalid blobs are skipped."""
    found = []
    for opaque in message.opaque:
        if opaque.provider == PROVIDER:
            try:
                found.append(msgspec.convert(opaque.blob, Mark))
            except msgspec.ValidationError:
                continue
    return found
