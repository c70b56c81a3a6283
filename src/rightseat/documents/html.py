"""Reads HTML as its visible text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from rightseat.documents.document import Document, ReadRequest
from rightseat.documents.text import cut_text, decode_text

SKIPPED_TAGS = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "object",
    "canvas",
    "select",
    "math",
)
BLOCK_TAGS = frozenset(
    (
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "title",
        "tr",
        "ul",
    )
)
KEPT_TAGS = BLOCK_TAGS | {"img", "td", "th"}
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{2,40})", re.IGNORECASE)


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


def sanitize_html(source: str) -> str:
    """Parse a page as browsers do and return it with the KEPT_TAGS only."""
    import nh3

    return nh3.clean(
        source,
        tags=set(KEPT_TAGS),
        clean_content_tags=set(SKIPPED_TAGS),
        attributes={"img": {"alt"}},
        link_rel=None,
    )


def read_html(data: bytes, request: ReadRequest) -> Document:
    match = META_CHARSET.search(data[:4096])
    source, note = decode_text(data, request.charset or (match[1].decode() if match else ""))
    parser = HtmlTextParser()
    parser.feed(sanitize_html(source))
    parser.close()
    text = parser.text
    if not text:
        return request.make_document(
            "", note, "The page has no text; it may be made by scripts, which are not run."
        )
    return cut_text(text, request, note)
