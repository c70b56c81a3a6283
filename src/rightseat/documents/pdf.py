"""Reads PDF: the text of its pages until the budget is used."""

from __future__ import annotations

import io
import logging
import re
import time
from typing import Any

from rightseat.documents.cut import fits, head
from rightseat.documents.document import Document, Reading, Unreadable
from rightseat.types.tokens import estimate

# Errors that pypdf raises on broken files.
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
# Share of the time limit for extraction; the rest is for returning the result.
OF_THE_TIME = 0.6


def read_pdf(data: bytes, reading: Reading) -> Document:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is protected by a password. Send it without.")
        count = len(reader.pages)
    except DependencyError:
        raise Unreadable("is encrypted in a way that is not read here. Save it without encryption.") from None
    except (PyPdfError, *BROKEN):
        raise Unreadable("is broken, or not a PDF. Save it again.") from None
    return told(Pages(reader, (PyPdfError, *BROKEN)), count, reading)


class Pages:
    def __init__(self, reader: Any, broken: tuple[type[Exception], ...]) -> None:
        self.reader = reader
        self.broken = broken
        self.failures: list[int] = []

    def text(self, number: int) -> str:
        try:
            found: str = self.reader.pages[number - 1].extract_text()
        except self.broken:
            self.failures.append(number)
            return ""
        return re.sub(r"[ \t]{2,}", " ", found.replace("\0", "")).strip()


def told(pages: Pages, count: int, reading: Reading) -> Document:
    until = time.monotonic() + reading.limits.seconds * OF_THE_TIME
    room = reading.budget
    texts: list[str] = []
    number, cut = 0, False
    while number < min(count, reading.limits.pages) and not cut:
        number += 1
        text = pages.text(number)
        if text:
            text = f"--- page {number} of {count} ---\n{text}\n" if count > 1 else text
            cut = not fits(text, room)
            texts.append(head(text, room))
            room -= estimate(text)
        cut = cut or time.monotonic() > until
    cut = cut or number < count
    notes = [f"Pages 1 to {number} of {count} are shown, the last one perhaps in part."] if cut else []
    if pages.failures:
        notes.append(f"Pages that cannot be read: {', '.join(map(str, pages.failures[:20]))}.")
    if not texts and not pages.failures:
        notes = ["The PDF has no text on the pages that were read; it may be scanned.", *notes]
    return reading.made("".join(texts), *notes, cut=cut)
