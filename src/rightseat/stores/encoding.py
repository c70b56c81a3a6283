"""Encoding of what stores keep: entries of threads and records, as JSON that becomes values of known types."""

from __future__ import annotations

import logging
from typing import TypeVar

import msgspec

from rightseat.types.events import CallArgs, ReasoningDelta, SubRunEvent, TextDelta
from rightseat.types.stores import Continuation, PendingQuestion
from rightseat.types.threads import EntryRow, ThreadEntry

log = logging.getLogger(__name__)
T = TypeVar("T")
# Events that wait for the next flush instead of causing one: a crash may lose them.
BUFFERED_EVENTS = (TextDelta, ReasoningDelta, CallArgs, SubRunEvent)
# Entries that wait while the store fails; further ones are not kept.
MAX_UNWRITTEN = 20_000
LOST_RUN = -1
"""Number of a run whose entries a damaged file has lost."""
RUN_LOST = (
    "This run has been started before, and what it did is lost: the store's file was damaged. It is not run again "
    "under the same id; look at what it may have changed, and send it under a new one."
)
encode_json = msgspec.json.Encoder(enc_hook=str).encode
continuation_decoder = msgspec.json.Decoder(Continuation)
question_decoder = msgspec.json.Decoder(PendingQuestion)
_entry_decoder = msgspec.json.Decoder(ThreadEntry)
_offsets_decoder = msgspec.json.Decoder(tuple[int, ...])


def encode_entry(entry: ThreadEntry) -> bytes | None:
    """Encode an entry; None if JSON cannot represent it, such as a lone surrogate."""
    try:
        return encode_json(entry)
    except (TypeError, ValueError, OverflowError, RecursionError):
        log.warning("a %s of a thread cannot be kept: it is not JSON", type(entry).__name__)
        return None


def decode_entry(first: int, last: int, cuts: bytes | str, body: bytes | str) -> EntryRow | None:
    """Decode a row of entries; None if another version wrote it and it is invalid here."""
    try:
        return EntryRow(first, last, _entry_decoder.decode(body), _offsets_decoder.decode(cuts))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("an entry of a thread cannot be read and is left out")
        return None


def decode_record(body: bytes | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decode a stored record; an undecodable one counts as missing."""
    if body is None:
        return None
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("something that was kept cannot be read and is left out")
        return None
