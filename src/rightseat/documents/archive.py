"""Zip archives of strangers: checked before anything is unpacked."""

from __future__ import annotations

import io
import zipfile

from rightseat.documents.document import DocumentUnreadable, ReadLimits

MAX_ENTRIES = 10_000
# The compression ratio is checked only for larger entries.
SMALL_ENTRY = 1 << 20


def open_archive(data: bytes, limits: ReadLimits) -> zipfile.ZipFile:
    """Open an archive; raises DocumentUnreadable for bombs, broken and encrypted ones."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DocumentUnreadable("is broken: it is not a whole archive. Send it again.") from None
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or total > limits.unpacked:
        raise DocumentUnreadable(f"unpacks to more than {limits.unpacked >> 20} MB, so it is not read.")
    for entry in entries:
        if entry.file_size > SMALL_ENTRY and entry.file_size > limits.ratio * max(entry.compress_size, 1):
            raise DocumentUnreadable("is packed so tightly that it looks like an attack, so it is not read.")
        if entry.flag_bits & 0x1:
            raise DocumentUnreadable("is protected by a password. Send it without.")
    return archive
