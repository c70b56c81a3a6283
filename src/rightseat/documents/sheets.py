"""Reads spreadsheets (xlsx, xls, xlsb, ods): each sheet as a CSV table."""

from __future__ import annotations

import io
from typing import Any

from rightseat.documents.archive import open_archive
from rightseat.documents.cut import share_budget, take_head
from rightseat.documents.document import Document, DocumentUnreadable, ReadLimits, ReadRequest
from rightseat.documents.table import fit_csv
from rightseat.types.tokens import estimate_tokens

MAX_SHEETS = 50


def read_sheets(data: bytes, request: ReadRequest) -> Document:
    import python_calamine as calamine

    if data.startswith(b"PK"):
        open_archive(data, request.limits).close()
    try:
        book = calamine.load_workbook(io.BytesIO(data))
        names = book.sheet_names
        sheets = [
            (name, read_rows(book.get_sheet_by_name(name), request.limits)) for name in names[:MAX_SHEETS]
        ]
    except calamine.PasswordError:
        raise DocumentUnreadable("is protected by a password. Send it without.") from None
    except (calamine.CalamineError, OSError, ValueError):
        raise DocumentUnreadable(
            "is broken, or not a spreadsheet. Save it again, as xlsx (a text as docx)."
        ) from None
    notes = (
        [f"Only the first {MAX_SHEETS} of {len(names)} sheets are read."] if len(names) > MAX_SHEETS else []
    )
    filled = [(name, rows) for name, rows in sheets if rows]
    if not filled:
        return request.make_document("", "The workbook has no cells with values.", *notes)
    return format_sheets(filled, request, notes)


def format_sheets(
    sheets: list[tuple[str, list[list[str]]]], request: ReadRequest, notes: list[str]
) -> Document:
    titles = [f"## {take_head(name, 20)}" if len(sheets) > 1 else "" for name, _ in sheets]
    sizes = [sum(estimate_tokens(",".join(row)) + 2 for row in rows) + 8 for _, rows in sheets]
    room = request.budget - sum(estimate_tokens(title) + 2 for title in titles)
    texts: list[str] = []
    cut = bool(notes)
    for title, (name, rows), part in zip(titles, sheets, share_budget(sizes, room), strict=True):
        text, more, less = fit_csv(rows[0], rows[1:], part)
        texts += [title, text] if title else [text]
        notes += [f"Sheet {take_head(name, 20)}: {note}" if title else note for note in more]
        cut = cut or less
    return request.make_document(take_head("\n".join(texts), request.budget), *notes, cut=cut)


def read_rows(sheet: Any, limits: ReadLimits) -> list[list[str]]:
    if sheet.height * sheet.width > limits.cells:
        raise DocumentUnreadable(f"has a sheet of more than {limits.cells} cells. Send a part of it.")
    rows = [[format_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    return [row for row in rows if any(row)]


def format_cell(cell: Any) -> str:
    match cell:
        case str():
            return cell.strip()
        case bool():
            return "true" if cell else "false"
        case float():
            # Spreadsheet numbers are floats: show 2024.0 as 2024.
            return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        case _:
            return "" if cell is None else str(cell)
