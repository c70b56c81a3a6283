"""PDF files of different producers: words with spaces, reading order, line ends; what is broken or locked is said."""

import zlib
from collections.abc import Callable

import pytest

from rightseat.documents import Document, ReadLimits, read
from rightseat.documents.document import ReadRequest, fits_budget
from rightseat.documents.reading import read_as
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.documents import pdf_producers, sample_files
from tests.unit.documents.pdf_encryption import make_encrypted_pdf
from tests.unit.documents.pdf_producers import HELVETICA, PRODUCERS, make_page, make_stream

pytestmark = pytest.mark.io
FONT = "/Font << /F1 5 0 R >>"
FORM_OBJECT = f"/Type /XObject /Subtype /Form /BBox [0 0 600 700] /Resources << {FONT} /XObject << /X0 6 0 R >> >>"


def read_now(data: bytes, budget: int = 1000) -> Document:
    return read_as(data, ReadRequest("pdf", budget))


@pytest.mark.demand("documents.pdf_producers")
@pytest.mark.parametrize("producer", PRODUCERS)
async def test_the_text_is_as_a_person_reads_it(producer: str) -> None:
    make, text = PRODUCERS[producer]
    assert await read(make(), kind="pdf", budget=1000) == Document(text, kind="pdf")


@pytest.mark.demand("documents.pdf_producers")
async def test_a_scanned_pdf_says_so() -> None:
    for data in (pdf_producers.make_scanned_pdf(), sample_files.make_pdf_from_streams(b"0 0 m 100 100 l S")):
        found = await read(data, budget=100)
        assert (found.text, found.failed) == ("", False)
        assert "may be scanned" in found.note
        assert "OCR" in found.note


async def test_pages_are_numbered() -> None:
    found = await read(sample_files.make_pdf("Hello PDF"), kind="pdf", budget=100)
    assert found == Document("Hello PDF", kind="pdf")
    two = await read(sample_files.make_pdf("First", "Second"), kind="application/pdf", budget=100)
    assert two.text == "--- page 1 of 2 ---\nFirst\n--- page 2 of 2 ---\nSecond\n"


async def test_a_long_pdf_ends_with_the_budget() -> None:
    found = await read(sample_files.make_pdf(*["word " * 20] * 30), kind="pdf", budget=70)
    assert found.cut
    assert found.note.startswith("Pages 1 to 3 of 30 are shown")
    assert "--- page 3 of 30 ---" in found.text
    assert fits_budget(found.text, 70)


def test_text_beside_the_page_is_not_read() -> None:
    content = "BT /F1 12 Tf 72 700 Td (seen) Tj 2000 0 Td (hidden) Tj ET"
    assert read_now(make_page(content)).text == "seen"


def test_a_code_without_a_character_is_a_space_and_no_hyphen() -> None:
    content = "BT /F1 12 Tf 72 700 Td (one\\002two\\003three\\033four) Tj ET"
    assert read_now(make_page(content)).text == "one two three four"


def test_one_broken_page_does_not_hide_the_others() -> None:
    pages = sample_files.make_pdf("First", "Second").replace(b"/Kids [4 0 R 6 0 R]", b"/Kids [4 0 R 99 0 R]")
    found = read_now(pages)
    assert found.text == "--- page 1 of 2 ---\nFirst\n"
    assert found.note == "Pages that cannot be read: 2."


@pytest.mark.demand("documents.pdf_encryption")
@pytest.mark.parametrize(("password", "text"), [("", "Locked"), ("secret", "")])
@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
async def test_an_encrypted_pdf(password: str, text: str, algorithm: str) -> None:
    found = await read(make_encrypted_pdf("Locked", password, algorithm), budget=100, name="a.pdf")
    assert found.text == text
    assert found.failed == bool(password)
    if password:
        assert found.note == "The file 'a.pdf' is protected by a password. Send it without a password."


@pytest.mark.demand("documents.pdf_encryption")
async def test_an_encryption_of_another_program() -> None:
    found = await read(make_encrypted_pdf("Locked", "", "AES-256", handler="Own"), budget=100, name="a.pdf")
    assert found.failed
    assert "encryption that is not supported" in found.note


def make_packed_page(data: bytes, times: int) -> bytes:
    """A page whose content is packed several times."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    names = f"/Filter [{'/FlateDecode ' * times}]"
    # The table of places is wrong then: PDFium makes it anew.
    return make_page("x").replace(make_stream(b"x"), make_stream(data, names, packed=False))


BOMBS: dict[str, Callable[[], bytes]] = {
    "packed thrice": lambda: make_packed_page(bytes(260 << 20), 3),
    "text": lambda: sample_files.make_pdf_from_streams(b"BT /F1 9 Tf " + (b"(" + b"a" * 60 + b") Tj ") * (1 << 20)),
    "lines": lambda: sample_files.make_pdf_from_streams(b"0 0 m 1 1 l S " * (4 << 20)),
    "saved states": lambda: sample_files.make_pdf_from_streams(b"q " * 3_000_000),
    "form in itself": lambda: make_page(
        "/X0 Do",
        HELVETICA,
        make_stream(b"/X0 Do /X0 Do", FORM_OBJECT),
        page="/Resources << /XObject << /X0 6 0 R >> >>",
    ),
}
HURT: dict[str, Callable[[], bytes]] = {
    "nested arrays": lambda: sample_files.make_pdf_from_streams(b"[" * 2_000_000),
    "nested objects": lambda: sample_files.make_pdf("x").replace(
        b"/Type /Cat", b"/X " + b"[" * 2_000_000 + b"/Type /Cat"
    ),
    "claims pages": lambda: sample_files.make_pdf("x").replace(b"/Count 1", b"/Count 2000000000"),
    "many pages": lambda: (
        sample_files.make_pdf("x")
        .replace(b"/Kids [4 0 R]", b"/Kids [" + b"4 0 R " * 300_000 + b"]")
        .replace(b"/Count 1", b"/Count 300000")
    ),
    "missing pages": lambda: sample_files.make_pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [99 0 R]"),
    "no pages": lambda: (
        sample_files.make_pdf("x").replace(b"/Kids [4 0 R]", b"/Kids []").replace(b"Count 1", b"Count 0")
    ),
    "its own parent": lambda: sample_files.make_pdf("x").replace(b"/Kids", b"/Parent 2 0 R /Kids"),
    "table refers to itself": lambda: sample_files.make_pdf("x").replace(b"/Root", b"/Prev 9 /Root"),
    "cut in the middle": lambda: sample_files.make_pdf("x", "y")[:500],
    "cut at the end": lambda: sample_files.make_pdf("x", "y")[:-200],
    "only a head": lambda: b"%PDF-1.7\n",
    "fields": lambda: make_many_fields(200_000),
}


def make_many_fields(count: int) -> bytes:
    field = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Name) /V (Jane) /Parent 6 0 R /Kids [6 0 R] /Rect [0 0 9 9] >>"
    )
    places = f"[{'6 0 R ' * count}]"
    return make_page("", HELVETICA, field, page=f"/Annots {places}", catalog=f"/AcroForm << /Fields {places} >>")


@pytest.mark.demand("documents.pdf_hostile")
@pytest.mark.parametrize("kind", HURT)
async def test_a_hostile_pdf_ends_within_the_limits(kind: str) -> None:
    found = await read(HURT[kind](), kind="pdf", budget=200, limits=ReadLimits(memory=400 << 20, seconds=HANG_TIMEOUT))
    assert found.note.endswith(".") or found.text
    assert fits_budget(found.text, 200)


@pytest.mark.demand("documents.pdf_hostile")
@pytest.mark.long
@pytest.mark.parametrize("kind", BOMBS)
async def test_a_pdf_that_fills_the_memory_costs_one_child(kind: str) -> None:
    found = await read(BOMBS[kind](), kind="pdf", budget=50, limits=ReadLimits(memory=250 << 20, seconds=HANG_TIMEOUT))
    assert found.text == ""
    assert "cannot be read" in found.note or "memory" in found.note
