"""Files that are made to hurt (rows 20 and 31): each costs one child process and gives one sentence."""

import asyncio
import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from rightseat.documents import ReadLimits, read
from rightseat.documents.document import ReadRequest
from rightseat.documents.isolation import make_environment, parse_result
from rightseat.documents.reading import read_as
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.documents import sample_files

pytestmark = pytest.mark.io
SMALL = ReadLimits(memory=400 << 20, seconds=HANG_TIMEOUT)


EARLIER_PIDS: set[int] = set()


@pytest.fixture(autouse=True)
def record_earlier_processes() -> None:
    """Servers of other tests may live as long as the session: their processes are not counted."""
    EARLIER_PIDS.clear()
    EARLIER_PIDS.update(list_child_pids())


def list_child_pids() -> list[int]:
    """The processes that this one has started."""
    mine = os.getpid()
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nPPid:\t{mine}\n" in text:
            found.append(int(status.parent.name))
    return [pid for pid in found if pid not in EARLIER_PIDS]


async def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = sample_files.make_docx(sample_files.make_docx_paragraph("a" * (12 << 20)))
    found = await read(bomb, kind="docx", budget=50)
    assert "may be an attack" in found.note
    large = await read(bomb, kind="docx", budget=50, limits=ReadLimits(unpacked=10 << 20))
    assert "more than 10 MB" in large.note


async def test_an_archive_that_lies_about_its_size() -> None:
    honest = sample_files.make_docx(sample_files.make_docx_paragraph("a" * (5 << 20)))
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        size = archive.infolist()[0].file_size
    lying = honest.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    found = await read(lying, kind="docx", budget=50)
    assert found.failed
    assert "is broken" in found.note


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">',
    ],
    ids=["entities", "a file", "an address"],
)
async def test_xml_with_a_type_of_its_own_is_refused(head: str) -> None:
    found = await read(sample_files.make_docx(sample_files.make_docx_paragraph("x"), head), kind="docx", budget=50)
    assert "contains a document type declaration" in found.note
    assert found.failed


async def test_a_sheet_of_seventeen_billion_cells() -> None:
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    found = await read(
        sample_files.make_xlsx(Far=sample_files.make_xlsx_sheet([], far)), kind="xlsx", budget=50, limits=SMALL
    )
    assert found.failed
    assert found.note.endswith(".")


@pytest.mark.long
async def test_a_pdf_whose_page_is_a_bomb() -> None:
    bomb = sample_files.make_pdf_from_streams(b"BT /F1 12 Tf (ok) Tj ET" + b" " * (400 << 20))
    found = await read(bomb, kind="pdf", budget=50, limits=SMALL)
    assert found.text == ""
    assert "cannot be read" in found.note or "memory" in found.note


async def test_a_pdf_whose_pages_turn_in_a_circle() -> None:
    looped = sample_files.make_pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    found = await read(looped, kind="pdf", budget=50, limits=SMALL)
    assert found.failed
    assert "is broken" in found.note


async def test_what_takes_too_long_is_given_up_and_its_process_is_gone() -> None:
    slow = sample_files.make_pdf(*["word " * 200] * 400)
    found = await read(slow, kind="pdf", budget=100_000, limits=ReadLimits(seconds=0.05))
    assert "takes longer than 0.05 s" in found.note
    assert list_child_pids() == []


def test_a_slow_pdf_gives_what_it_had_by_then() -> None:
    found = read_as(sample_files.make_pdf("first", "second"), ReadRequest("pdf", 100, limits=ReadLimits(seconds=0.0)))
    assert found.text == "--- page 1 of 2 ---\nfirst\n"
    assert found.note.startswith("Pages 1 to 1 of 2 are shown")
    assert found.cut


async def test_a_cancelled_reading_leaves_no_process() -> None:
    task = asyncio.create_task(read(sample_files.make_pdf(*["word " * 200] * 400), budget=100_000))
    await wait_until(lambda: bool(list_child_pids()))
    [pid] = list_child_pids()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pid not in list_child_pids()


async def test_the_loop_goes_on_while_a_large_document_is_read() -> None:
    rows = json.dumps([{"a": n, "b": "x" * 50} for n in range(60_000)])
    turns = 0
    task = asyncio.create_task(read(rows, kind="json", budget=500))
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert "of 60000 rows are shown" in (await task).note
    # Read in the loop itself it would be one turn.
    assert turns >= 10


@pytest.mark.long
async def test_many_at_once_wait_for_each_other() -> None:
    most = 0
    tasks = [asyncio.create_task(read(sample_files.make_pdf(f"number {n}"), budget=50)) for n in range(6)]
    while not all(task.done() for task in tasks):
        most = max(most, len(list_child_pids()))
        await asyncio.sleep(0.005)
    assert [(await task).text for task in tasks] == [f"number {n}" for n in range(6)]
    assert 0 < most <= max(2, (os.cpu_count() or 2) // 2)
    full = await asyncio.gather(
        *(read(sample_files.make_pdf("x"), budget=50, limits=ReadLimits(queue=0.0)) for _ in range(64)),
        return_exceptions=True,
    )
    assert any("too many others" in str(one) for one in full)


def test_a_child_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    assert "canary" not in str(make_environment())
    assert "PATH" in make_environment()


def test_what_a_dead_child_leaves_is_a_sentence() -> None:
    reading = ReadRequest("pdf", 50)
    for answer, code in ((b"", -9), (b"", 1), (b"rubbish", 0), (b'{"text":7}', 0)):
        assert parse_result(answer, code, reading).note.startswith("The document cannot be read")
    assert "too much memory" in parse_result(b"", 3, reading).note


@pytest.mark.long
async def test_a_child_out_of_memory_says_so() -> None:
    text = "a,b\n" + "1,2\n" * 2_000_000
    found = await read(text, kind="csv", budget=50, limits=ReadLimits(memory=150 << 20))
    assert found.failed
    assert "too much memory" in found.note
