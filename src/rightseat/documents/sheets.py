"""Reads spreadsheets (xlsx, xls, xlsb, ods): each sheet as a CSV table."""

from __future__ import annotations

import io
from typing import Any

from rightseat.documents.archive import opened
from rightseat.documents.cut import head, share
from rightseat.documents.document import Document, Limits, Reading, Unreadable
from rightseat.documents.table import as_csv
from rightseat.types.tokens import estimate

SHEETS = 50


def read_sheets(data: bytes, reading: Reading) -> Document:
    import python_calamine as calamine

    if data.startswith(b"PK"):
        opened(data, reading.limits).close()
    try:
        book = calamine.load_workbook(io.BytesIO(data))
        names = book.sheet_names
        found = [(name, rows_of(book.get_sheet_by_name(name), reading.limits)) for name in names[:SHEETS]]
    except calamine.PasswordError:
        raise Unreadable("is protected by a password. Send it without.") from None
    except (calamine.CalamineError, OSError, ValueError):
        raise Unreadable(
            "is broken, or not a spreadsheet. Save it again, as xlsx (a text as docx)."
        ) from None
    notes = [f"Only the first {SHEETS} of {len(names)} sheets are read."] if len(names) > SHEETS else []
    filled = [(name, rows) for name, rows in found if rows]
    if not filled:
        return reading.made("", "The workbook has no cells with values.", *notes)
    return told(filled, reading, notes)


def told(sheets: list[tuple[str, list[list[str]]]], reading: Reading, notes: list[str]) -> Document:
    titles = [f"## {head(name, 20)}" if len(sheets) > 1 else "" for name, _ in sheets]
    sizes = [sum(estimate(",".join(row)) + 2 for row in rows) + 8 for _, rows in sheets]
    room = reading.budget - sum(estimate(title) + 2 for title in titles)
    texts: list[str] = []
    cut = bool(notes)
    for title, (name, rows), part in zip(titles, sheets, share(sizes, room), strict=True):
        text, more, less = as_csv(rows[0], rows[1:], part)
        texts += [title, text] if title else [text]
        notes += [f"Sheet {head(name, 20)}: {note}" if title else note for note in more]
        cut = cut or less
    return reading.made(head("\n".join(texts), reading.budget), *notes, cut=cut)


def rows_of(sheet: Any, limits: Limits) -> list[list[str]]:
    if sheet.height * sheet.width > limits.cells:
        raise Unreadable(f"has a sheet of more than {limits.cells} cells. Send a part of it.")
    rows = [[cell_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    return [row for row in rows if any(row)]


def cell_text(cell: Any) -> str:
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
