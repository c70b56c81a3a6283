"""Dispatches to the reader of a kind; readers are imported on first use."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.documents import kinds
from rightseat.documents.cut import fits_budget, take_head
from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest, join_notes


def read_as(data: bytes, request: ReadRequest) -> Document:
    """Read bytes as the request's kind. Always returns a Document, with its text within the budget."""
    try:
        document = dispatch_reader(data, request)
    except DocumentUnreadable as why:
        return request.make_failure(str(why))
    if fits_budget(document.text, request.budget):
        return document
    note = join_notes([document.note, "The end is cut off."])
    return replace(document, text=take_head(document.text, request.budget), note=note, cut=True)


def dispatch_reader(data: bytes, request: ReadRequest) -> Document:
    match request.kind:
        case "json":
            from rightseat.documents.json import read_json

            return read_json(data, request)
        case "csv":
            from rightseat.documents.csv import read_csv

            return read_csv(data, request)
        case "html":
            from rightseat.documents.html import read_html

            return read_html(data, request)
        case "pdf":
            from rightseat.documents.pdf import read_pdf

            return read_pdf(data, request)
        case "docx":
            from rightseat.documents.word import read_word

            return read_word(data, request)
        case kind if kind in kinds.SHEET_KINDS:
            from rightseat.documents.sheets import read_sheets

            return read_sheets(data, request)
        case kind if kind in kinds.IMAGE_KINDS:
            from rightseat.documents.image import read_image

            return read_image(data, request)
        case _:
            from rightseat.documents.text import read_text

            return read_text(data, request)
