"""Word, spreadsheets, pages, images: what is in them comes out, and what is broken is said."""

import base64
from pathlib import Path

import pytest

from rightseat.documents import Document, ReadLimits, read
from rightseat.documents.document import fits_budget
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.documents import sample_files

# Nearly all of them are read in processes of their own.
pytestmark = pytest.mark.io
FILES = Path(__file__).parent / "files"


async def test_docx() -> None:
    row = "".join(f"<w:tc>{sample_files.make_docx_paragraph(text)}</w:tc>" for text in "ab")
    body = (
        sample_files.make_docx_paragraph("A title", '<w:pStyle w:val="Heading2"/>')
        + sample_files.make_docx_paragraph("Some &amp; text")
        + sample_files.make_docx_paragraph("a point", "<w:numPr/>")
        + f"<w:tbl><w:tr>{row}</w:tr></w:tbl>"
        + "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        + "<w:r><w:t>1</w:t><w:tab/><w:t>2</w:t></w:r></w:p>"
    )
    found = await read(sample_files.make_docx(body), kind="docx", budget=100)
    assert found == Document("## A title\nSome & text\n- a point\na  | b\n1\t2", kind="docx")
    assert (await read(sample_files.make_docx(""), kind="docx", budget=100)).note == "The document has no text."


async def test_xlsx() -> None:
    data = sample_files.make_xlsx(One=sample_files.make_xlsx_sheet([["name", "n"], ["a", 1], ["b", 2.5]]))
    found = await read(data, kind="xlsx", budget=100)
    assert found == Document("name,n\na,1\nb,2.5", kind="xlsx")
    two = sample_files.make_xlsx(
        One=sample_files.make_xlsx_sheet([["a"], ["b"]]),
        Empty=sample_files.make_xlsx_sheet([]),
        Two=sample_files.make_xlsx_sheet([["c"], ["d"]]),
    )
    found = await read(two, name="x.xlsx", budget=100)
    assert found.text == "## One\na\nb\n## Two\nc\nd"
    assert (
        "no cells"
        in (await read(sample_files.make_xlsx(Empty=sample_files.make_xlsx_sheet([])), kind="xlsx", budget=100)).note
    )


async def test_large_sheets_share_the_budget() -> None:
    many = sample_files.make_xlsx_sheet([["number", "text"], *([n, "some text"] for n in range(3000))])
    found = await read(
        sample_files.make_xlsx(Large=many, Small=sample_files.make_xlsx_sheet([["a"], ["b"]])), kind="xlsx", budget=200
    )
    assert "## Small\na\nb" in found.text
    assert "\n2999,some text\n" in found.text
    assert "Sheet Large: " in found.note
    assert "of 3000 rows are shown" in found.note
    assert found.cut
    assert fits_budget(found.text, 200)


async def test_xls() -> None:
    found = await read((FILES / "prices.xls").read_bytes(), kind="xls", budget=100)
    assert found.text == "day,close\n2024-01-02,185.64\n2024-01-03,184"


async def test_html() -> None:
    page = """<!DOCTYPE html><html><head><title>A page</title><style>p { color: red }</style>
    <script>document.write("<p>never</p>")</script></head><body onload="x()"><h2>Head</h2>
    <p>One   <b>bold</b>&nbsp;&amp; two<br>next</p><noscript>never</noscript><svg><text>never</text></svg>
    <ul><li>a<li>b</ul><table><tr><th>x<th>y</tr><tr><td>1<td>2</tr></table>
    <img src="x" alt="a chart"><template>never</template><!-- never --><pre>a
      b</pre></body></html>"""
    found = await read(page, kind="html", budget=500)
    assert "never" not in found.text
    assert "red" not in found.text
    lines = [line for line in found.text.split("\n") if line]
    assert lines[:6] == ["A page", "## Head", "One bold & two", "next", "- a", "- b"]
    assert lines[6:9] == ["x | y", "1 | 2", "[image: a chart]"]
    assert "no text" in (await read("<html><script>x</script></html>", budget=10)).note


@pytest.mark.parametrize(
    "page",
    ["<p>a<script>" + "<" * 1000, "<!--" * 5000, "<a " * 20_000, "<a b='" * 20_000, "</" * 20_000],
    ids=lambda page: page[:12],
)
async def test_html_on_which_the_standard_parser_hangs(page: str) -> None:
    """Two of these take it minutes."""
    found = await read(f"<html><p>hello</p>{page}", budget=50, limits=ReadLimits(seconds=HANG_TIMEOUT))
    assert found.text.startswith("hello")


async def test_html_nested_too_deeply_is_given_up() -> None:
    found = await read("<html>" + "<div>" * 100_000, budget=50, limits=ReadLimits(seconds=0.5))
    assert "takes longer than 0.5 s" in found.note


async def test_the_charset_is_the_declared_one_or_the_pages_own() -> None:
    chinese = "<html><meta charset='gbk'><p>价格".encode("gbk")
    assert (await read(chinese, budget=50)).text == "价格"
    assert (await read("价格".encode("gb18030"), kind="text/plain; charset=GB18030", budget=50)).text == "价格"
    assert (await read("ü".encode("utf-16"), kind="txt", budget=50)).text == "ü"
    assert (await read(b"\xef\xbb\xbfa,b", kind="csv", budget=50)).text == "a,b"
    guess = await read(b"caf\xe9", kind="txt", budget=50)
    assert guess.text == "café"
    assert "charset is not known" in guess.note
    bomb = await read(b"\xff\x00", kind="text/plain; charset=zip", budget=50)
    assert "charset is not known" in bomb.note


async def test_text_keeps_beginning_and_end() -> None:
    text = "begin " + "x " * 5000 + "end"
    found = await read(text, kind="md", budget=100)
    assert found.text.startswith("begin")
    assert found.text.endswith("end")
    assert f"of {len(text)} characters are shown" in found.note
    assert found.cut
    assert (await read(text, budget=9999)).text == text


IMAGES = [
    ("png", sample_files.make_png(640, 480)),
    ("jpeg", sample_files.make_jpeg(640, 480)),
    ("gif", sample_files.make_gif(640, 480)),
    ("webp", sample_files.make_webp(640, 480, b"VP8X")),
    ("webp", sample_files.make_webp(640, 480, b"VP8L")),
    ("webp", sample_files.make_webp(640, 480, b"VP8 ")),
]


@pytest.mark.parametrize(("kind", "data"), IMAGES)
async def test_an_image_is_passed_on_or_said(kind: str, data: bytes) -> None:
    said = await read(data, budget=50, name="chart.x")
    assert said.text == f"[image chart.x: {kind.upper()}, 640 × 480 pixels]"
    assert said.images == ()
    assert "does not take images" in said.note
    passed = await read(base64.b64encode(data).decode(), kind=kind, budget=50, images=True)
    [image] = passed.images
    assert image.url == f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    assert (passed.note, passed.cut) == ("", False)


@pytest.mark.parametrize(
    "data", [sample_files.make_png(9000, 9000), sample_files.make_png(10, 10) + bytes(9 << 20)], ids=["wide", "heavy"]
)
async def test_an_image_that_is_too_large_is_only_said(data: bytes) -> None:
    found = await read(data, budget=50, images=True)
    assert found.images == ()
    assert "Send a smaller one" in found.note


@pytest.mark.parametrize(("kind", "data"), IMAGES)
async def test_a_broken_image_is_said(kind: str, data: bytes) -> None:
    found = await read(data[:8], kind=kind, budget=50, images=True)
    assert found.failed
    assert found.images == ()
