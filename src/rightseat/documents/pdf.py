"""Reads PDF: the text of its pages until the budget is used."""

from __future__ import annotations

import io
import logging
import re
import time
from typing import Any

from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest, fits_budget, take_head
from rightseat.types.text import estimate_tokens

# Errors that pypdf raises on broken files.
PARSER_ERRORS = (
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
TIME_SHARE = 0.6


def read_pdf(data: bytes, request: ReadRequest) -> Document:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentUnreadable("is protected by a password. Send it without a password.")
        count = len(reader.pages)
    except DependencyError:
        raise DocumentUnreadable("uses an encryption that is not supported. Save it without encryption.") from None
    except (PyPdfError, *PARSER_ERRORS):
        raise DocumentUnreadable("is broken, or not a PDF. Save it again.") from None
    return read_pages(reader, count, (PyPdfError, *PARSER_ERRORS), request)


def read_pages(reader: Any, count: int, broken: tuple[type[Exception], ...], request: ReadRequest) -> Document:
    until = time.monotonic() + request.limits.seconds * TIME_SHARE
    room = request.budget
    texts: list[str] = []
    failures: list[str] = []
    number, cut = 0, False
    while number < min(count, request.limits.pages) and not cut:
        number += 1
        text = ""
        try:
            text = reader.pages[number - 1].extract_text()
        except broken:
            failures.append(str(number))
        if text := re.sub(r"[ \t]{2,}", " ", text.replace("\0", "")).strip():
            text = f"--- page {number} of {count} ---\n{text}\n" if count > 1 else text
            cut = not fits_budget(text, room)
            texts.append(take_head(text, room))
            room -= estimate_tokens(text)
        cut = cut or time.monotonic() > until
    cut = cut or number < count
    notes = [f"Pages 1 to {number} of {count} are shown, the last one perhaps in part."] if cut else []
    if failures:
        notes.append(f"Pages that cannot be read: {', '.join(failures[:20])}.")
    if not texts and not failures:
        notes = ["The PDF has no text on the pages that were read; it may be scanned.", *notes]
    return request.make_document("".join(texts), *notes, cut=cut)
