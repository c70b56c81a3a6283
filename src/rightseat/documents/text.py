"""Reads plain text, Markdown and HTML (its visible text); decodes bytes of any charset for the other readers."""

from __future__ import annotations

import codecs
import re
from html.parser import HTMLParser

from rightseat.documents.document import Document, ReadRequest, cut_middle, fits_budget

# UTF-32 before UTF-16: its mark begins with UTF-16's.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Only encodings of text: Python also knows zip, bz2 and rot13 by these names.
TEXT_CHARSET = re.compile(r"(?:utf-?(?:8|16|32)|iso-?8859|windows-?125|cp\d|latin|gb|big5|euc|shift|koi8|us-ascii).*")

SKIPPED_TAGS = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "math")
BLOCK_TAGS = frozenset((
    "address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "summary", "table", "title", "tr", "ul",
))  # fmt: skip
KEPT_TAGS = BLOCK_TAGS | {"img", "td", "th"}
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{2,40})", re.IGNORECASE)
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


class HtmlTextParser(HTMLParser):
    """Extracts text. Feed it sanitized markup only: hostile pages keep HTMLParser busy for minutes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")
        self.verbatim += tag == "pre"
        self.pieces.append(HEADINGS.get(tag, "- " if tag == "li" else " | " if tag in ("td", "th") else ""))
        if words := dict(attrs).get("alt"):
            self.pieces.append(f"[image: {words}]")

    def handle_endtag(self, tag: str) -> None:
        self.verbatim -= tag == "pre"
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data if self.verbatim else re.sub(r"\s+", " ", data))

    @property
    def text(self) -> str:
        lines = (re.sub(r"[ \t\xa0]+", " ", line).strip() for line in "".join(self.pieces).split("\n"))
        rows = (line.removeprefix("| ") for line in lines)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(rows)).strip()


def read_html(data: bytes, request: ReadRequest) -> Document:
    import nh3

    match = META_CHARSET.search(data[:4096])
    source, note = decode_text(data, request.charset or (match[1].decode() if match else ""))
    parser = HtmlTextParser()
    # Parse the page as browsers do, and keep the KEPT_TAGS only.
    attributes = {"img": {"alt"}}
    parser.feed(nh3.clean(source, set(KEPT_TAGS), set(SKIPPED_TAGS), attributes, link_rel=None))
    parser.close()
    text = parser.text
    if not text:
        return request.make_document("", note, "The page has no text; it may be made by scripts, which are not run.")
    return cut_text(text, request, note)
