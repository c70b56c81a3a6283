"""Call ids and thought signatures, which Google requires back at the same position."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.types.messages import Message

PROVIDER = "google"


class PartMark(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
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
    def signature_bytes(self) -> bytes | None:
        try:
            return base64.b64decode(self.signature, validate=True) if self.signature else None
        except (binascii.Error, ValueError):
            return None


def encode_signature(signature: bytes | None) -> str | None:
    return base64.b64encode(signature).decode() if signature else None


def make_blob(mark: PartMark) -> Any:
    return msgspec.to_builtins(mark)


def read_marks(message: Message) -> list[PartMark]:
    """Return the marks of a message in order; invalid blobs are skipped."""
    part_marks = []
    for opaque in message.opaque:
        if opaque.provider == PROVIDER:
            try:
                part_marks.append(msgspec.convert(opaque.blob, PartMark))
            except msgspec.ValidationError:
                continue
    return part_marks
