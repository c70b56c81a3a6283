"""Answers of every status and kind, and how they are cut to what a model can take."""

import asyncio
import base64
import codecs
import gzip
import json
import time
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.plugins.http.api import ApiClient
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.request import UnsignedRequest
from rightseat.plugins.http.response import Redactor, format_body
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.engine.turns import list_call_results, run_turn
from tests.unit.plugins.http.plugin_values import (
    LOCAL_POLICY,
    call_tool,
    make_operation,
    make_plugin,
    make_response,
    open_tools,
)
from tests.unit.plugins.http.recording_api import RecordingApi, make_json_response, make_raw_response

pytestmark = pytest.mark.io

HOSTS = {
    "type": "object",
    "properties": {
        "total": {"type": "integer"},
        "hosts": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}},
        },
    },
}


async def call_operation(api: RecordingApi, *responses: Any, method: str = "GET", budget: int | None = None) -> Any:
    made = make_operation(method, "/x", url=api.url, responses=responses, name="list_hosts")
    async with open_tools(make_plugin(made)) as (tool,):
        return await call_tool(tool, budget=budget)


@pytest.mark.demand("plugins.2xx_204_typed_errors", "plugins.bug_original_loader_calling")
@pytest.mark.parametrize("status", [200, 201, 202, 203, 206, 226])
async def test_any_2xx_is_a_success(api: RecordingApi, status: int) -> None:
    api.replies = [make_json_response({"a": 1}, status)]
    assert (await call_operation(api)).text == '{"a":1}'


@pytest.mark.demand("plugins.2xx_204_typed_errors")
@pytest.mark.parametrize(("status", "words"), [(204, "204 No Content"), (200, "200 OK"), (205, "205")])
async def test_an_answer_without_content_is_a_sentence(api: RecordingApi, status: int, words: str) -> None:
    api.replies = [make_raw_response(status=status)]
    text = (await call_operation(api, method="DELETE")).text
    assert "DELETE /x succeeded" in text
    assert words in text


async def test_where_something_was_made_is_said(api: RecordingApi) -> None:
    api.replies = [make_raw_response(status=201, location="/x/7")]
    assert "location: /x/7" in (await call_operation(api, method="POST")).text


@pytest.mark.demand("plugins.bug_original_loader_calling")
@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"plain words", "text/plain"),
        (b"not { json", "application/json"),
        (b"<a>1</a>", "application/xml"),
        (b"a,b\n1,2", "text/csv"),
        (b"no media", ""),
        (b'{"json": "called text"}', "text/plain"),
        (b'[1, NaN, {"big": 123456789012345678901234567890}]', "application/json"),
    ],
)
async def test_text_of_any_kind_as_it_is(api: RecordingApi, body: bytes, media: str) -> None:
    """The original took everything for JSON, and failed on all else."""
    api.replies = [make_raw_response(body, media)]
    assert (await call_operation(api)).text == body.decode()


@pytest.mark.demand("plugins.charsets_answers_handled")
@pytest.mark.parametrize(
    ("data", "media"),
    [
        ("主机榮".encode(), "text/plain; charset=utf-8"),
        ("主机榮".encode(), "text/plain; charset=iso-8859-1"),
        ("主机榮".encode("gb18030"), "text/plain; charset=gb2312"),
        ("主机榮".encode("gbk"), "text/plain"),
        (codecs.BOM_UTF8 + "主机榮".encode(), "text/plain"),
        (codecs.BOM_UTF16_LE + "主机榮".encode("utf-16-le"), "text/plain"),
        ("主机榮".encode("big5"), 'text/plain; charset="Big5"'),
    ],
)
async def test_charsets(api: RecordingApi, data: bytes, media: str) -> None:
    api.replies = [make_raw_response(data, media)]
    assert (await call_operation(api)).text == "主机榮"


async def test_a_page_is_read_as_a_person_would(api: RecordingApi) -> None:
    api.replies = [make_raw_response("<html><script>x()</script><h1>Hello</h1><p>you</p></html>", "text/html")]
    text = (await call_operation(api)).text
    assert "Hello" in text
    assert "<p>" not in text
    assert "x()" not in text


@pytest.mark.demand("plugins.binary_answer_becomes_downloadable")
@pytest.mark.parametrize(
    ("headers", "media", "name"),
    [
        ({}, "application/pdf", "list_hosts.pdf"),
        ({"content_disposition": 'attachment; filename="q3 报表.docx"'.encode().decode("latin-1")}, "", None),
        ({"content_disposition": 'attachment; filename="../../etc/pass\'wd"'}, "image/png", "pass'wd"),
        ({"content_disposition": "attachment; filename*=UTF-8''%E6%8A%A5%E8%A1%A8.docx"}, "x/y", "报表.docx"),
    ],
)
async def test_a_binary_answer_is_a_file_for_the_user(
    api: RecordingApi, headers: dict[str, str], media: str, name: str | None
) -> None:
    data = b"\x00\x01\xff%PDF" * 10
    api.replies = [make_raw_response(data, media, 200, **headers)]
    found = await call_operation(api)
    artifact = found.artifact
    assert artifact.kind == "file"
    assert base64.b64decode(artifact.content["data"]) == data
    assert artifact.content["size"] == 70
    assert artifact.content["media_type"] == (media or "application/octet-stream")
    if name is not None:
        assert artifact.name == name
    assert artifact.name in found.text
    assert base64.b64encode(data).decode() not in found.text


@pytest.mark.demand("plugins.binary_answer_becomes_downloadable")
async def test_what_the_document_calls_a_file_is_one_and_what_is_an_attachment_is_both(api: RecordingApi) -> None:
    schema = {"type": "string", "format": "binary"}
    api.replies = [
        make_raw_response("a,b", "text/csv"),
        make_json_response({"detail": "not ready"}),
        make_raw_response("a,b", "text/csv", content_disposition="attachment; filename=t.csv"),
        make_raw_response(b'{"a":1}', "application/octet-stream"),
    ]
    assert (await call_operation(api, make_response(schema, media="text/csv"))).artifact.name == "list_hosts.csv"
    assert "not ready" in (await call_operation(api, make_response(schema, media="text/csv"))).text
    both = await call_operation(api)
    assert (both.text, both.artifact.name) == ("a,b", "t.csv")
    assert (await call_operation(api, make_response({}))).text == '{"a":1}'


@pytest.mark.demand("plugins.2xx_204_typed_errors", "plugins.real_http_server_tests")
@pytest.mark.parametrize("status", [400, 404, 409, 418, 422, 500, 501, 599])
async def test_errors_are_failures_with_what_the_server_says(api: RecordingApi, status: int) -> None:
    api.replies = [make_json_response({"detail": "no such host"}, status)]
    error = (await call_operation(api, method="POST")).error
    assert error["code"] == f"http_{status}"
    assert f"POST /x answered {status}" in error["message"]
    assert "no such host" in error["message"]


@pytest.mark.demand("plugins.2xx_204_typed_errors")
async def test_a_typed_error_is_told_by_the_document(api: RecordingApi) -> None:
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}}
    api.replies = [
        make_json_response({"reason": "taken", "trace": "x" * 4000}, 409),
        make_raw_response(status=404),
        make_json_response({}, 402),
    ]
    responses = (
        make_response(schema, "409", description="The name is taken."),
        make_response(None, "4XX", description="A mistake of yours."),
    )
    first = (await call_operation(api, *responses)).error["message"]
    assert "The name is taken." in first
    assert '{"reason":"taken"}' in first
    assert "xxxx" not in first
    assert "A mistake of yours." in (await call_operation(api, *responses)).error["message"]
    assert "A mistake of yours." in (await call_operation(api, *responses)).error["message"]


async def test_an_error_page_is_shortened(api: RecordingApi) -> None:
    page = "<!doctype html><html><head><style>.a{}</style></head><body>Gateway broke " + "x " * 20_000
    api.replies = [make_raw_response(page, "text/html", 400)]
    message = (await call_operation(api)).error["message"]
    assert "Gateway broke" in message
    assert "<html" not in message
    assert len(message) < 4000


# Cutting


@pytest.mark.demand("plugins.descriptions_operation_body_response", "plugins.response_size_limit_schema")
async def test_a_long_answer_keeps_what_the_document_names(api: RecordingApi) -> None:
    rows = [{"id": f"h-{n:03}", "name": f"web {n}", "junk": "j" * 300} for n in range(40)]
    api.replies = [make_json_response({"total": 40, "hosts": rows, "debug": "d" * 3000})]
    text = (await call_operation(api, make_response(HOSTS), budget=1000)).text
    assert "junk" not in text.splitlines()[0]
    assert json.loads(text.splitlines()[0])["hosts"][39] == {"id": "h-039", "name": "web 39"}
    assert "debug" in text
    assert "left out" in text
    assert estimate_tokens(text) <= 1000


@pytest.mark.demand("plugins.response_size_limit_schema")
@pytest.mark.parametrize("budget", [200, 500, 2000, 6000])
async def test_a_very_long_answer_says_how_much_of_it_is_shown(api: RecordingApi, budget: int) -> None:
    rows = [{"id": f"h-{n:04}", "name": f"主机 {n}"} for n in range(5000)]
    api.replies = [make_json_response({"total": 5000, "hosts": rows})]
    text = (await call_operation(api, make_response(HOSTS), budget=budget)).text
    assert estimate_tokens(text) <= budget
    assert "of 5000" in text
    assert "h-0000" in text


async def test_the_envelope_and_long_texts_survive(api: RecordingApi) -> None:
    api.replies = [make_json_response({"code": 0, "data": {"log": "line\n" * 50_000, "status": "fine"}, "zz": 1})]
    text = (await call_operation(api, budget=400)).text
    assert '"status":"fine"' in text
    assert '"code":0' in text
    assert estimate_tokens(text) <= 400


async def test_an_answer_that_is_not_what_the_document_says_is_kept(api: RecordingApi) -> None:
    api.replies = [make_json_response({"other": ["x" * 50] * 200})]
    text = (await call_operation(api, make_response(HOSTS), budget=500)).text
    assert "other" in text
    assert "xxxx" in text


@pytest.mark.demand("plugins.response_size_limit_schema")
async def test_the_budget_is_computed_from_the_models_context(api: RecordingApi) -> None:
    """The seed's rule: what a tool takes and gives stays within 80 % of the context."""
    rows = [{"id": f"h-{n:04}", "name": f"web {n}"} for n in range(5000)]
    api.replies = [make_json_response({"total": 5000, "hosts": rows}) for _ in range(3)]
    made = make_plugin(make_operation("GET", "/x", url=api.url, responses=(make_response(HOSTS),)))
    sizes = {}
    for context in (2048, 8192):
        model = FakeModel(reply_calls(("shop_act", "{}")), reply_text("many"))
        found = make_operation_tools(made, LOCAL_POLICY)
        runtime = Runtime(assistants=[Assistant("a", model, tools=found, context=context)])
        [text] = list_call_results(await run_turn(runtime))
        sizes[context] = estimate_tokens(text)
        await runtime.close()
    assert 0.5 * 2048 < sizes[2048] < 0.8 * 2048
    assert 0.6 * 8192 < sizes[8192] < 0.8 * 8192
    model = FakeModel(reply_calls(("shop_act", "{}"), ("shop_act", "{}")), reply_text("many"))
    api.replies = [make_json_response({"total": 5000, "hosts": rows}) for _ in range(2)]
    runtime = Runtime(assistants=[Assistant("a", model, tools=make_operation_tools(made, LOCAL_POLICY), context=8192)])
    assert sum(map(estimate_tokens, list_call_results(await run_turn(runtime)))) < 0.8 * 8192
    await runtime.close()


# Bombs


@pytest.mark.demand("plugins.gzip_bombs_answers_refused")
async def test_a_gzip_bomb_is_stopped_at_the_limit(api: RecordingApi) -> None:
    bomb = gzip.compress(b"\0" * (100 << 20))
    api.replies = [make_raw_response(bomb, "application/json", content_encoding="gzip")]
    begun = time.monotonic()
    error = (await call_operation(api)).error
    assert error["code"] == "upstream_too_large"
    assert time.monotonic() - begun < HANG_TIMEOUT


@pytest.mark.demand("plugins.response_size_limit_schema")
async def test_a_large_answer_and_one_that_says_so(api: RecordingApi) -> None:
    gate = PluginPolicy(allow=("127.0.0.1",), max_bytes=1000)
    api.replies = [make_raw_response(b"x" * 1001, "text/plain"), make_raw_response(b"x" * 1000, "text/plain")]
    async with open_tools(make_plugin(make_operation("GET", "/x", url=api.url)), gate) as (tool,):
        assert (await call_tool(tool)).error["code"] == "upstream_too_large"
        assert len((await call_tool(tool)).text) == 1000


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"1" * 100_000,
        b'"\\ud800"',
        b'{"a": 1e999999}',
        b"\xff\xfe\x00",
    ],
)
async def test_json_that_would_break_a_reader(api: RecordingApi, body: bytes) -> None:
    api.replies = [make_raw_response(body, "application/json"), make_raw_response(body, "application/json", 400)]
    assert estimate_tokens((await call_operation(api, make_response(HOSTS), budget=300)).text) <= 300
    assert (await call_operation(api)).error["code"] == "http_400"


async def test_a_very_large_answer_holds_up_nobody(api: RecordingApi) -> None:
    rows = [{"id": f"h-{n:04}", "name": "主机" * 40} for n in range(15_000)]
    api.replies = [make_json_response({"total": 15_000, "hosts": rows})]
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    made = make_operation("GET", "/x", url=api.url, responses=(make_response(HOSTS),))
    caller = ApiClient(make_plugin(made), LOCAL_POLICY)
    fetched, _ = await caller.send(made, UnsignedRequest(method="GET", path="/x"), Turn(messages=()))
    await caller.close()
    heart = asyncio.create_task(beat())
    text = await format_body(fetched, made.responses[0], 2000, Redactor())
    heart.cancel()
    assert "of 15000" in text
    assert estimate_tokens(text) <= 2000
    # Reading it takes a second or so, and in the loop itself it would be one beat: nobody waits for that.
    assert beats >= 10
