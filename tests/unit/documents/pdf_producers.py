"""PDF files in the shapes that different programs write: how they place words, name glyphs and encode text."""

import zlib

from tests.unit.documents.sample_files import make_pdf_from_objects

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>"


def make_stream(data: bytes, entries: str = "", *, packed: bool = True) -> bytes:
    if packed:
        data, entries = zlib.compress(data), f"{entries} /Filter /FlateDecode"
    return f"<< {entries} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def make_page(content: str | bytes, *fonts: bytes, page: str = "", catalog: str = "", packed: bool = True) -> bytes:
    """One page. Object 5 is the font F1; `fonts` and what they refer to are numbered from there."""
    content = content if isinstance(content, bytes) else content.encode("latin-1")
    return make_pdf_from_objects(
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"{PAGE} {page} >>".encode(),
        make_stream(content, packed=packed),
        *(fonts or (HELVETICA,)),
    )


def make_latex_pdf() -> bytes:
    """Computer Modern as pdfTeX writes it: no space glyph, kerning arrays, ligatures of its own encoding."""
    widths = " ".join(["556"] * 256)
    font = (
        "<< /Type /Font /Subtype /Type1 /BaseFont /QXWZAB+CMR10 /FirstChar 0 /LastChar 255 "
        f"/Widths [{widths}] /FontDescriptor 6 0 R "
        "/Encoding << /Type /Encoding /Differences [11 /ff /fi /fl /ffi 45 /hyphen] >> >>"
    )
    descriptor = (
        b"<< /Type /FontDescriptor /FontName /QXWZAB+CMR10 /Flags 4 /FontBBox [-40 -250 1009 750] /ItalicAngle 0 "
        b"/Ascent 694 /Descent -194 /CapHeight 683 /StemV 69 >>"
    )
    content = (
        "BT /F1 9.9626 Tf 133.768 707.125 Td [(F)83(ollo)28(wing)-333(the)-334(success)]TJ "
        "0 -11.955 Td [(the)-333(\\014rst)-333(o\\016cial)-333(\\015o)28(w)-333(of)-333(A)111(V)-333(e\\013ects)]TJ "
        "0 -11.955 Td [(is)-333(an)-333(exam-)]TJ 0 -11.955 Td [(ple)-333(of)-333(it.)]TJ ET"
    )
    return make_page(content, font.encode(), descriptor)


LATEX_TEXT = "Following the success\nthe first official flow of AV effects\nis an exam-\nple of it."


def make_word_pdf() -> bytes:
    """Runs as Word exports them: marked content, one text object for each run, spaces in runs of their own."""
    runs = []
    for y, line in ((720, ["Quarterly", " ", "Report"]), (690, ["Revenue", " ", "grew", " ", "by", " ", "7.5 %"])):
        x = 72.0
        for run in line:
            runs.append(f"BT /F1 11.04 Tf 1 0 0 1 {x:.2f} {y} Tm 0 g 0 G [({run})] TJ ET")
            x += 11.04 * sum(WORD_WIDTHS.get(char, 0.556) for char in run)
    content = "".join(f"/P <</MCID {number}>> BDC q\n{run}\nQ EMC\n" for number, run in enumerate(runs))
    return make_page(content)


# Advances of Helvetica, in parts of the font's size; other characters of the runs are 0.556 wide.
WORD_WIDTHS = {" ": 0.278, "t": 0.278, "r": 0.333, "l": 0.222, "y": 0.5, "v": 0.5, "Q": 0.778, "R": 0.722}
WORD_WIDTHS |= {"w": 0.722, ".": 0.278, "%": 0.889}
WORD_TEXT = "Quarterly Report\nRevenue grew by 7.5 %"


def make_cid_font(characters: str, encoding: str | None = None, base: str = "AAAAAA+Arial") -> tuple[bytes, ...]:
    """A composite font whose glyph 1 is the first character, with ToUnicode; object 5 and what it refers to."""
    mapping = "\n".join(
        f"<{glyph:04X}> <{character.encode('utf-16-be').hex().upper()}>"
        for glyph, character in enumerate(characters, 1)
        if character != " "
    )
    unicode_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /Adobe-Identity-UCS def\n"
        "/CMapType 2 def\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        f"{mapping.count(chr(10)) + 1} beginbfchar\n{mapping}\nendbfchar\nendcmap end end"
    )
    code_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /Own def\n/CMapType 1 def\n"
        "1 begincodespacerange <0000> <FFFF> endcodespacerange\n1 begincidrange <0000> <FFFF> 0 endcidrange\n"
        "endcmap end end"
    )
    widths = " ".join("278" if character == " " else "556" for character in characters)
    return (
        f"<< /Type /Font /Subtype /Type0 /BaseFont /{base} /Encoding {encoding or '/Identity-H'} "
        "/DescendantFonts [6 0 R] /ToUnicode 8 0 R >>".encode(),
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{base} /CIDToGIDMap /Identity /DW 1000 "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
        f"/W [1 [{widths}]] /FontDescriptor 7 0 R >>".encode(),
        f"<< /Type /FontDescriptor /FontName /{base} /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 "
        "/Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >>".encode(),
        make_stream(unicode_map.encode()),
        make_stream(code_map.encode(), "/Type /CMap /CMapName /Own"),
    )


def encode_glyphs(text: str, characters: str) -> str:
    return "".join(f"{characters.index(character) + 1:04X}" for character in text)


def make_browser_pdf() -> bytes:
    """A page printed by a browser: flipped axes, a composite font, a space glyph that is not in ToUnicode."""
    lines = BROWSER_TEXT.split("\n")
    characters = "".join(sorted(set("".join(lines)) - {" "})) + " "
    parts = [".24 0 0 -.24 0 792 cm", "BT /F1 50 Tf"]
    for number, line in enumerate(lines):
        glyphs = encode_glyphs(line, characters)
        parts.append(f"1 0 0 -1 150 {200 + number * 75} Tm <{glyphs}> Tj")
    return make_page("\n".join([*parts, "ET"]), *make_cid_font(characters))


def make_drawn_font_pdf() -> bytes:
    """A page printed by a browser with a font drawn by the page: its widths are in units of the font's own matrix."""
    lines = BROWSER_TEXT.split("\n")
    characters = "".join(sorted(set("".join(lines)) - {" "}))
    mapping = "\n".join(f"<{code:02X}> <{ord(character):04X}>" for code, character in enumerate(characters, 1))
    unicode_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /Own def\n/CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange\n{len(characters)} beginbfchar\n{mapping}\nendbfchar\n"
        "endcmap end end"
    )
    names = " ".join(f"/g{code}" for code in range(1, len(characters) + 1))
    glyphs = " ".join(f"/g{code} 7 0 R" for code in range(1, len(characters) + 1))
    font = (
        "<< /Type /Font /Subtype /Type3 /FontMatrix [.00048828125 0 0 .00048828125 0 0] /FontBBox [0 -400 1200 1800] "
        f"/FirstChar 1 /LastChar {len(characters)} /Widths [{'1139 ' * len(characters)}] /ToUnicode 6 0 R "
        f"/Encoding << /Type /Encoding /Differences [1 {names}] >> /CharProcs << {glyphs} >> >>"
    )
    parts = ["BT /F1 12 Tf"]
    for number, line in enumerate(lines):
        x = 72.0
        for word in line.split(" "):
            codes = "".join(f"{characters.index(character) + 1:02X}" for character in word)
            parts.append(f"1 0 0 1 {x:.2f} {700 - number * 18} Tm <{codes}> Tj")
            x += 12 * (0.556 * len(word) + 0.278)
    glyph = make_stream(b"1139 0 0 0 1139 1466 d1 0 0 1000 1400 re f")
    return make_page("\n".join([*parts, "ET"]), font.encode(), make_stream(unicode_map.encode()), glyph)


BROWSER_TEXT = "By Didier Lopes\nFollowing the success of the first\nrelease, we are back."


def make_two_column_pdf() -> bytes:
    """Two columns, one after the other, as typesetting programs write them."""
    parts = ["BT /F1 10 Tf 12 TL"]
    for column, lines in enumerate(COLUMNS):
        parts.append(f"1 0 0 1 {72 + 250 * column} 700 Tm")
        parts += [f"({line}) Tj T*" for line in lines]
    return make_page("\n".join([*parts, "ET"]))


COLUMNS = (
    ("The left column begins", "and goes on for", "three lines."),
    ("The right column comes", "after all of", "the left one."),
)
COLUMNS_TEXT = "\n".join(line for lines in COLUMNS for line in lines)


def make_rotated_pdf() -> bytes:
    """A page in landscape: turned by its entry, with text turned against it."""
    content = (
        "BT /F1 12 Tf 0 1 -1 0 100 72 Tm (Turned by a quarter) Tj ET BT /F1 12 Tf 0 1 -1 0 120 72 Tm (and read) Tj ET"
    )
    return make_page(content, page="/Rotate 90")


ROTATED_TEXT = "Turned by a quarter\nand read"


def make_table_pdf() -> bytes:
    """A table with a rule around each cell, row by row."""
    parts = []
    for row, cells in enumerate(TABLE):
        for column, cell in enumerate(cells):
            x, y = 72 + 120 * column, 700 - 20 * row
            parts.append(f"{x} {y} 120 20 re S BT /F1 10 Tf {x + 4} {y + 6} Td ({cell}) Tj ET")
    return make_page("\n".join(parts))


TABLE = (("Symbol", "Close", "Volume"), ("AAPL", "189.50", "52 000 000"), ("MSFT", "402.10", "21 300 000"))
TABLE_TEXT = "\n".join(" ".join(cells) for cells in TABLE)


def make_chinese_pdf() -> bytes:
    """Chinese with a character map in the file, one character beyond 16 bits among them."""
    lines = CHINESE_TEXT.split("\n")
    characters = "".join(sorted(set("".join(lines))))
    shows = " ".join(f"<{encode_glyphs(line, characters)}> Tj T*" for line in lines)
    font = make_cid_font(characters, "9 0 R", "AAAAAA+NotoSansSC")
    return make_page(f"BT /F1 12 Tf 18 TL 72 700 Td {shows} ET", *font)


CHINESE_TEXT = "本季度收入增长百分之七\n毛利率为四成,𠮷野家"


def make_form_pdf() -> bytes:
    """A filled form: its values are in fields, not in the page's content."""
    fields = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Name) /V (Jane Doe) /Rect [150 690 300 710] /F 4 >>",
        b"<< /Type /Annot /Subtype /Widget /FT /Btn /T (Resident) /V /Yes /AS /Yes /Rect [150 660 165 675] /F 4 "
        b"/AP << /N << /Yes 9 0 R /Off 9 0 R >> >> >>",
        b"<< /Type /Annot /Subtype /Widget /FT /Ch /Ff 131072 /T (Country) /Opt [(Norway) (Chile)] /V (Chile) "
        b"/Rect [150 630 300 650] /F 4 >>",
        make_stream(b"", "/Type /XObject /Subtype /Form /BBox [0 0 15 15]"),
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Empty) /Rect [150 600 300 620] /F 4 >>",
    )
    annotations = "[6 0 R 7 0 R 8 0 R 10 0 R]"
    content = "BT /F1 12 Tf 72 695 Td (Tax form) Tj ET"
    page = f"/Annots {annotations}"
    catalog = f"/AcroForm << /Fields {annotations} /DR << /Font << /Helv 5 0 R >> >> /DA (/Helv 0 Tf 0 g) >>"
    return make_page(content, HELVETICA, *fields, page=page, catalog=catalog)


FORM_TEXT = "Tax form\nName: Jane Doe\nResident: Yes\nCountry: Chile"


def make_scanned_pdf() -> bytes:
    """A page that is one picture."""
    image = "/Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceGray /BitsPerComponent 8"
    page = "/Resources << /XObject << /Im0 6 0 R >> >>"
    return make_page("q 612 0 0 792 0 0 cm /Im0 Do Q", HELVETICA, make_stream(bytes(range(256)), image), page=page)


# Each producer's file and its text as a person reads it.
PRODUCERS = {
    "latex": (make_latex_pdf, LATEX_TEXT),
    "word": (make_word_pdf, WORD_TEXT),
    "browser": (make_browser_pdf, BROWSER_TEXT),
    "browser, drawn font": (make_drawn_font_pdf, BROWSER_TEXT),
    "two columns": (make_two_column_pdf, COLUMNS_TEXT),
    "rotated": (make_rotated_pdf, ROTATED_TEXT),
    "table": (make_table_pdf, TABLE_TEXT),
    "chinese": (make_chinese_pdf, CHINESE_TEXT),
    "form": (make_form_pdf, FORM_TEXT),
}
