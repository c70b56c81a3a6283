"""Reads plain text and Markdown; decodes bytes of any charset for the other readers."""

from __future__ import annotations

import codecs
import re

from rightseat.documents.cut import cut_middle, fits_budget
from rightseat.documents.document import Document, ReadRequest

# UTF-32 before UTF-16: its mark begins with UTF-16's.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Only encodings of text: Python also knows zip, bz2 and rot13 by these names.
TEXT_CHARSET = re.compile(
    r"(?:utf-?(?:8|16|32)|iso-?8859|windows-?125|cp\d|latin|gb|big5|euc|shift|koi8|us-ascii).*"
)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def decode_text(data: bytes, charset: str = "") -> tuple[str, str]:
    """Return text (LF line ends, no control characters) and a note if the charset was guessed."""
    text, note = decode_guessing(data, charset.strip().strip("\"'").lower())
    return CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")), note


def decode_guessing(data: bytes, charset: str) -> tuple[str, str]:
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), ""
    for name in ("utf-8", charset if TEXT_CHARSET.fullmatch(charset) else "utf-8"):
        try:
            return data.decode(name), ""
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace"), "Its charset is not known; some letters may be wrong."


def read_text(data: bytes, request: ReadRequest) -> Document:
    text, note = decode_text(data, request.charset)
    return cut_text(text.strip(), request, note)


def cut_text(text: str, request: ReadRequest, *notes: str) -> Document:
    """Return a text whole if it fits, else its beginning and end."""
    if fits_budget(text, request.budget):
        return request.make_document(text, *notes)
    shown = cut_middle(text, request.budget, front=0.75)
    note = f"About {len(shown)} of {len(text)} characters are shown, from the beginning and the end."
    return request.make_document(shown, *notes, note, cut=True)
