"""Documents made for tests, byte by byte: sound ones, and ones that are made to hurt."""

import io
import struct
import zipfile
import zlib

WORD_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONSHIP_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE_NAMESPACE = "http://schemas.openxmlformats.org/package/2006/relationships"


def make_zip(**parts: str | bytes) -> bytes:
    """An archive; in the names of its parts `__` stands for a slash and a final `_x` for `.xml`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml").replace("_rels", ".rels"), content)
    return made.getvalue()


def make_docx(body: str, head: str = "") -> bytes:
    content = f'{head}<w:document xmlns:w="{WORD_NAMESPACE}"><w:body>{body}</w:body></w:document>'
    return make_zip(word__document_xml=content)


def make_docx_paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def make_xlsx_sheet(rows: list[list[object]], first: str = "") -> str:
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "".join(
            f'<c r="{chr(65 + column)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
            if isinstance(value, str)
            else f'<c r="{chr(65 + column)}{number}"><v>{value}</v></c>'
            for column, value in enumerate(row)
        )
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{SHEET_NAMESPACE}"><sheetData>{first}{"".join(lines)}</sheetData></worksheet>'


def make_xlsx(**sheets: str) -> bytes:
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>' for number, name in enumerate(names, 1)
    )
    related = "".join(
        f'<Relationship Id="r{number}" Type="{RELATIONSHIP_NAMESPACE}/worksheet" Target="worksheets/s{number}.xml"/>'
        for number in range(1, len(names) + 1)
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        main = f'<Relationship Id="r1" Type="{RELATIONSHIP_NAMESPACE}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE_NAMESPACE}">{main}</Relationships>')
        namespaces = f'xmlns="{SHEET_NAMESPACE}" xmlns:r="{RELATIONSHIP_NAMESPACE}"'
        archive.writestr("xl/workbook.xml", f"<workbook {namespaces}><sheets>{listed}</sheets></workbook>")
        archive.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE_NAMESPACE}">{related}</Relationships>'
        )
        for number, name in enumerate(names, 1):
            archive.writestr(f"xl/worksheets/s{number}.xml", sheets[name])
    return made.getvalue()


def make_pdf(*pages: str) -> bytes:
    return make_pdf_from_streams(*(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode() for text in pages))


def make_pdf_from_streams(*streams: bytes) -> bytes:
    """A PDF whose pages have these content streams."""
    count = len(streams)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, stream in enumerate(streams):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
        objects.append(page.encode() + b" /Resources << /Font << /F1 3 0 R >> >> >>")
        packed = zlib.compress(stream, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    return make_pdf_from_objects(*objects)


def make_pdf_from_objects(*objects: bytes, trailer: str = "") -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalog."""
    made = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start = len(made)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    made += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    made += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(made)


def make_png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(9)


def make_jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe\x00\x10" + b"a comment here"
    return b"\xff\xd8" + comment + struct.pack(">BBHBHH", 0xFF, 0xC2, 11, 8, height, width) + bytes(9)


def make_gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(9)


def make_webp(width: int, height: int, form: bytes) -> bytes:
    sizes = {
        b"VP8X": bytes(4) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3],
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }
    return b"RIFF" + bytes(4) + b"WEBP" + form + bytes(4) + sizes[form] + bytes(9)
