"""What widgets and files bring, as the model gets it."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.doors.openbb import client_results
from rightseat.doors.openbb.client_results import RenderedResult, render_result
from rightseat.http.fetch import AddressRules, OutboundClient
from tests.kit.app_server import serve_app
from tests.unit.doors.openbb.client import make_result_item

ROWS = [{"n": n, "name": f"row {n}"} for n in range(2000)]


async def render(raw: Any, budget: int = 500) -> RenderedResult:
    async with OutboundClient() as outbound:
        return await render_result(raw, budget, outbound)


@pytest.mark.parametrize(
    "raw", [None, "", [], {}, {"items": []}, {"items": [{"content": ""}]}, {"file_reference": "x"}]
)
async def test_nothing_is_said_to_be_nothing(raw: Any) -> None:
    found = await render(raw)
    assert found.failed
    assert found.text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain", "plain"),
        (make_result_item("plain"), "plain"),
        (make_result_item("a b", data_type="txt", filename="a.txt"), "a b"),
        ({"content": {"a": 1}}, '{"a":1}'),
        ([make_result_item("one"), make_result_item("two")], "one\n\ntwo"),
        ({"items": [{"content": "one"}, {"content": "two"}]}, "one\n\ntwo"),
        ({"value": 5}, '{"value":5}'),
        ([1, 2], "[1,2]"),
        (7, "7"),
        ({"status": "success", "message": "added"}, '{"status":"success","message":"added"}'),
    ],
)
async def test_what_fits_is_given_as_it_came(raw: Any, text: str) -> None:
    found = await render(raw)
    assert (found.text, found.failed) == (text, False)


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.parametrize(
    "raw",
    [
        {"error_type": "not_found", "content": "gone"},
        {"error_type": None, "content": None},
        {"status": "error", "message": "no"},
        make_result_item('{"error_type": "x", "content": "y"}'),
        make_result_item('{"isError": true}'),
    ],
)
async def test_errors(raw: Any) -> None:
    found = await render(raw)
    assert found.failed


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.io
async def test_a_long_table_is_cut_and_says_so() -> None:
    found = await render(make_result_item(ROWS, data_type="object", parse_as="table"))
    assert len(found.text) < 2600
    assert "row 0" in found.text
    assert "2000" in found.text.replace(",", "").replace("\u202f", "")


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.io
async def test_several_pieces_share_the_budget() -> None:
    pieces = [{"content": json.dumps(ROWS)}, {"content": "short"}, {"content": "word " * 3000}]
    found = await render({"items": pieces}, 600)
    assert "row 0" in found.text
    assert "\n\nshort\n\n" in found.text
    assert len(found.text) < 4000


FILES = [
    (b"name,value\none,1\ntwo,2\nthree,3\n", {"data_type": "csv", "filename": "t.csv"}, "two,2"),
    (
        b"<html><body><p>Hello</p><script>x()</script></body></html>",
        {"data_type": "html", "filename": "p.html"},
        "Hello",
    ),
]


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.io
@pytest.mark.parametrize(("data", "form", "word"), FILES)
@pytest.mark.parametrize("encoded", [True, False])
async def test_files(data: bytes, form: dict[str, str], word: str, encoded: bool) -> None:
    content = base64.b64encode(data).decode() if encoded else data.decode()
    found = await render(make_result_item(content, **form))
    assert word in found.text
    assert "x()" not in found.text


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.io
@pytest.mark.parametrize("kind", ["pdf", "png", "xlsx", "docx", "jpg", "xls"])
async def test_a_broken_file_is_said_to_be_broken(kind: str) -> None:
    found = await render(make_result_item("bm90IGEgZmlsZQ==", data_type=kind, filename=f"report.{kind}"))
    assert found.failed
    assert f"report.{kind}" in found.text


async def test_a_result_that_may_not_be_cited() -> None:
    assert not (await render({"items": [{"content": "x", "citable": False}]})).citable
    assert (await render({"items": [{"content": "x"}]})).citable


@asynccontextmanager
async def serve_page() -> AsyncIterator[tuple[str, OutboundClient]]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        status = 404 if scope["path"] == "/missing" else 200
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"<p>The rate is 7.</p>"})

    async with serve_app(app) as url, OutboundClient(AddressRules(allow=["127.0.0.0/8"])) as outbound:
        yield url, outbound


@pytest.mark.demand("openbb.results_kind_reach_model")
@pytest.mark.io
async def test_a_file_by_its_address() -> None:
    async with serve_page() as (url, outbound):
        form = {"data_type": "html", "filename": "r.html"}
        found = await render_result({"items": [{"url": f"{url}/r", "data_format": form}]}, 500, outbound)
        older = await render_result([{"file_reference": f"{url}/r"}], 500, outbound)
        missing = await render_result({"url": f"{url}/missing"}, 500, outbound)
    assert (found.text, older.text) == ("The rate is 7.", "The rate is 7.")
    assert missing.failed
    assert "404" in missing.text


@pytest.mark.demand("openbb.urls_most_4_fetched")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "http://169.254.169.254/", "file:///etc/passwd", "http://[::1]/"]
)
async def test_an_address_that_a_stranger_may_not_name(url: str) -> None:
    found = await render({"url": url})
    assert found.failed
    assert "could not be fetched" in found.text


def test_what_takes_time_is_known_before() -> None:
    slow = [{"url": "https://x/y"}, {"content": "x", "data_format": {"data_type": "pdf", "filename": "a"}}]
    found = client_results.parse_parts({"items": [*slow, {"content": "x"}]})
    assert isinstance(found, list)
    assert [piece.is_slow for piece in found] == [True, True, False]
