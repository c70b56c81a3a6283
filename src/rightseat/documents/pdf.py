"""Reads PDF with PDFium: the text of its pages and the values of its form fields, until the budget is used."""

from __future__ import annotations

import ctypes
import importlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest, fits_budget, take_head
from rightseat.types.text import estimate_tokens

# Share of the time limit for extraction; the rest is for returning the result.
TIME_SHARE = 0.6
MAX_FIELDS = 500
"""Form fields read on one page."""
MAX_FIELD_BYTES = 16 << 10
BROKEN = "is broken, or not a PDF. Save it again."
OCR_HINT = "Send a PDF with recognized text (OCR), or pictures of its pages."
# PDFium's code for the hyphen of a word that goes on in the next line; a glyph without a character may have it too.
HYPHEN_CODE = "\x02"
# Spaces, and glyphs that no table maps to a character: most often the space of an embedded font.
BLANKS = re.compile(r"[\x00-\x09\x0b-\x20\x7f\xa0\ufffe\uffff]+")
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


class PdfFile:
    """An open PDF; `pages` is the number of its pages. Raises DocumentUnreadable where it cannot be opened."""

    def __init__(self, data: bytes) -> None:
        # Without types of its own.
        self.library: Any = importlib.import_module("pypdfium2")
        self.raw: Any = importlib.import_module("pypdfium2.raw")
        self.error: type[Exception] = self.library.PdfiumError
        try:
            self.document = self.library.PdfDocument(data)
            self.pages = len(self.document)
        except self.error as error:
            raise DocumentUnreadable(self.describe_failure(getattr(error, "err_code", None))) from None
        self.forms: Any = None
        if self.pages and self.document.get_formtype() != self.raw.FORMTYPE_NONE:
            self.document.init_forms()
            self.forms = self.document.formenv

    def describe_failure(self, code: int | None) -> str:
        if code == self.raw.FPDF_ERR_PASSWORD:
            return "is protected by a password. Send it without a password."
        if code == self.raw.FPDF_ERR_SECURITY:
            return "uses an encryption that is not supported. Save it without encryption."
        return BROKEN

    def extract_text(self, number: int) -> str | None:
        """Return the visible text of page `number`, from 1, with the values of its form fields; None: it is broken."""
        try:
            page = self.document[number - 1]
            text_page = page.get_textpage()
        except self.error:
            return None
        text = text_page.get_text_bounded()
        text = clean_text(text, HYPHEN_CODE in text and self.has_hyphens(text_page))
        fields = "\n".join(dict.fromkeys(self.list_fields(page))) if self.forms is not None else ""
        # Closed here: 500 open pages with their fonts and pictures do not fit into the memory limit.
        text_page.close()
        page.close()
        return "\n".join(part for part in (text, fields) if part)

    def has_hyphens(self, text_page: Any) -> bool:
        return any(self.raw.FPDFText_IsHyphen(text_page, index) == 1 for index in range(text_page.count_chars()))

    def list_fields(self, page: Any) -> Iterator[str]:
        """Yield `name: value` of each filled form field of a page."""
        raw = self.raw
        for index in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_FIELDS)):
            annotation = raw.FPDFPage_GetAnnot(page, index)
            if not annotation:
                continue
            if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
                name = self.read_string(raw.FPDFAnnot_GetFormFieldName, annotation)
                value = self.read_string(raw.FPDFAnnot_GetFormFieldValue, annotation)
                if value.strip():
                    yield f"{name}: {value}".replace("\n", " ") if name else value
            raw.FPDFPage_CloseAnnot(annotation)

    def read_string(self, function: Callable[..., int], annotation: Any) -> str:
        """Call a PDFium function that fills a buffer with UTF-16 and returns the number of bytes that it needs."""
        size = function(self.forms, annotation, None, 0)
        if not 2 < size <= MAX_FIELD_BYTES:
            return ""
        buffer = (ctypes.c_ushort * (size // 2 + 1))()
        function(self.forms, annotation, buffer, size)
        return clean_text(bytes(buffer)[: size - 2].decode("utf-16-le", "ignore"), False)


def clean_text(text: str, has_hyphens: bool) -> str:
    """Return PDFium's text with plain line ends, letters for ligatures and spaces for glyphs without a character."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if has_hyphens:
        text = text.replace(HYPHEN_CODE, "-\n")
    return BLANKS.sub(" ", text).replace(" \n", "\n").translate(LIGATURES).strip()


def read_pdf(data: bytes, request: ReadRequest) -> Document:
    file = PdfFile(data)
    if not file.pages:
        raise DocumentUnreadable(BROKEN)
    until = time.monotonic() + request.limits.seconds * TIME_SHARE
    room = request.budget
    texts: list[str] = []
    failures: list[str] = []
    number, cut = 0, False
    while number < min(file.pages, request.limits.pages) and not cut:
        number += 1
        text = file.extract_text(number)
        if text is None:
            failures.append(str(number))
        elif text:
            text = f"--- page {number} of {file.pages} ---\n{text}\n" if file.pages > 1 else text
            cut = not fits_budget(text, room)
            texts.append(take_head(text, room))
            room -= estimate_tokens(text)
        cut = cut or time.monotonic() > until
    if len(failures) == number:
        raise DocumentUnreadable(BROKEN)
    cut = cut or number < file.pages
    notes = [f"Pages 1 to {number} of {file.pages} are shown, the last one perhaps in part."] if cut else []
    if failures:
        notes.append(f"Pages that cannot be read: {', '.join(failures[:20])}.")
    if not texts:
        notes = ["The PDF has no text on the pages that were read; it may be scanned.", OCR_HINT, *notes]
    return request.make_document("".join(texts), *notes, cut=cut)
