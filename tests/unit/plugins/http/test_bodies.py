"""Bodies of every kind, as a FastAPI server reads them."""

import base64
import json
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.plugin import Encoding, RequestBody
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.plugins.http.plugin_values import (
    LOCAL_POLICY,
    call_tool,
    make_object_body,
    make_operation,
    make_plugin,
    open_tools,
)
from tests.unit.plugins.http.recording_api import RecordingApi

pytestmark = pytest.mark.io

FILE = {"type": "string", "format": "binary"}
TEXT = {"type": "string"}
PNG = b"\x89PNG\r\n\x1a\n--rightseat-\r\n\0\xff"


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def make_messages_with_files(*parts: FileMessagePart | ImageMessagePart, text: str = "here") -> tuple[Message, ...]:
    return (Message("user", (TextMessagePart(text), *parts)),)


def make_file_part(name: str, data: bytes, media: str | None = None) -> FileMessagePart:
    return FileMessagePart(name, media, encode_base64(data))


@pytest.mark.demand("plugins.json_form_multipart_files", "plugins.bug_original_loader_calling")
@pytest.mark.parametrize("media", ["application/json", "application/vnd.api+json", "application/json; v=1"])
async def test_json(api: RecordingApi, media: str) -> None:
    body = make_object_body(media, ["a"], a={"type": "string"}, b={"type": "array"}, c={"type": ["null", "string"]})
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"a": 'line\nbreak "中"', "b": [1, {"d": True}], "c": None})
    assert api.last_request.headers["content-type"] == media
    assert json.loads(api.last_request.body) == {"a": 'line\nbreak "中"', "b": [1, {"d": True}], "c": None}


async def test_a_json_body_that_is_one_argument(api: RecordingApi) -> None:
    body = RequestBody(media="application/json", schema={"type": "array", "items": {"type": "integer"}}, required=True)
    async with open_tools(make_plugin(make_operation("PUT", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"body": [1, 2]})
    assert api.last_request.body == b"[1,2]"


@pytest.mark.demand("plugins.defaults_applied_code_example")
async def test_fields_under_other_arguments_and_nested_defaults(api: RecordingApi) -> None:
    inner = {"type": "object", "properties": {"hours": {"type": "integer", "default": 2}, "at": TEXT}}
    schema = {"type": "object", "properties": {"id": TEXT, "window": inner}}
    body = RequestBody(
        media="application/json", schema=schema, fields={"id": "id_body", "window": "window"}, required=True
    )
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"id_body": "7", "window": {"at": "now"}})
    assert json.loads(api.last_request.body) == {"id": "7", "window": {"at": "now", "hours": 2}}


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_no_body_where_none_is_known(api: RecordingApi, method: str) -> None:
    async with open_tools(make_plugin(make_operation(method, "/x", url=api.url))) as (tool,):
        await call_tool(tool)
    assert api.last_request.body == b""
    assert "content-type" not in api.last_request.headers


async def test_no_body_where_none_was_given(api: RecordingApi) -> None:
    optional = RequestBody(media="application/json", schema={"type": "object", "properties": {"a": TEXT}})
    delete = make_operation("DELETE", "/x", body=optional, url=api.url)
    async with open_tools(make_plugin(delete)) as (tool,):
        await call_tool(tool)
    assert api.last_request.body == b""
    assert "content-type" not in api.last_request.headers


@pytest.mark.demand("plugins.json_form_multipart_files")
@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "x-www-form-urlencoded"])
async def test_a_urlencoded_form(api: RecordingApi, media: str) -> None:
    body = make_object_body(media, a=TEXT, many={"type": "array"}, deep={"type": "object"}, on={"type": "boolean"})
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"a": "x y&z=中+", "many": [1, 2], "deep": {"k": [1]}, "on": False})
    assert api.last_request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert api.parsed_forms == [
        [("a", "x y&z=中+"), ("many", "1"), ("many", "2"), ("deep", '{"k":[1]}'), ("on", "false")]
    ]


@pytest.mark.demand("plugins.json_form_multipart_files")
async def test_a_urlencoded_form_with_encodings(api: RecordingApi) -> None:
    body = RequestBody(
        media="application/x-www-form-urlencoded",
        schema={"type": "object", "properties": {name: {} for name in "abcd"}},
        required=True,
        fields={name: name for name in "abcd"},
        encodings={
            "a": Encoding(explode=False),
            "b": Encoding(style="deepObject"),
            "c": Encoding(media="application/json"),
            "d": Encoding(style="pipeDelimited", explode=False),
        },
    )
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"a": ["p q", "r"], "b": {"k": 1}, "c": ["s"], "d": [1, 2]})
    assert api.last_request.body == b"a=p+q,r&b%5Bk%5D=1&c=%5B%22s%22%5D&d=1%7C2"


@pytest.mark.demand("plugins.json_form_multipart_files", "plugins.real_http_server_tests")
async def test_multipart_with_files_lists_and_json_parts(api: RecordingApi) -> None:
    body = make_object_body(
        "multipart/form-data",
        ["report"],
        report=FILE,
        more={"type": "array", "items": FILE},
        title=TEXT,
        toc={"type": "boolean", "default": True},
        tags={"type": "array", "items": TEXT},
        options={"type": "object"},
    )
    files = make_messages_with_files(
        make_file_part("r.xlsx", PNG, "application/x-r"), make_file_part("a.txt", b"1"), make_file_part("b.bin", b"2")
    )
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        arguments = {"report": "r.xlsx", "more": ["a.txt", "b.bin"], "title": "题\r\n目"}
        await call_tool(tool, {**arguments, "tags": ["p", "q"], "options": {"k": 1}}, messages=files)
    assert api.parsed_forms == [
        [
            ("report", "r.xlsx", "application/x-r", PNG),
            ("more", "a.txt", "text/plain", b"1"),
            ("more", "b.bin", "application/octet-stream", b"2"),
            ("title", "题\r\n目"),
            ("toc", "true"),
            ("tags", "p"),
            ("tags", "q"),
            ("options", '{"k":1}'),
        ]
    ]
    assert b'name="options"\r\nContent-Type: application/json\r\n\r\n{"k":1}' in api.last_request.body


@pytest.mark.demand("plugins.json_form_multipart_files")
async def test_multipart_encodings_and_headers_of_parts(api: RecordingApi) -> None:
    body = RequestBody(
        media="multipart/form-data",
        schema={"type": "object", "properties": {"f": FILE, "x": {}, "t": TEXT}},
        required=True,
        fields={"f": "f", "x": "x", "t": "t"},
        encodings={
            "f": Encoding(media="image/png", headers={"X-Limit": "7", "content-type": "no"}),
            "x": Encoding(media="application/json"),
            "t": Encoding(media="text/csv"),
        },
    )
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(
            tool, {"x": [1, 2], "t": "a,b", "f": "p"}, messages=make_messages_with_files(make_file_part("p", b"1"))
        )
    text = api.last_request.body.decode()
    assert 'name="f"; filename="p"\r\nContent-Type: image/png\r\nX-Limit: 7\r\n\r\n1' in text
    assert 'name="x"\r\nContent-Type: application/json\r\n\r\n[1,2]' in text
    assert 'name="t"\r\nContent-Type: text/csv\r\n\r\na,b' in text


async def test_names_in_a_form_cannot_break_out_of_their_quotes(api: RecordingApi) -> None:
    body = make_object_body("multipart/form-data", f=FILE)
    evil = make_messages_with_files(make_file_part('x"\r\nX-Evil: 1\r\n.txt', b"1"))
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"f": "x"}, messages=evil)
    assert b"\r\nX-Evil" not in api.last_request.body
    assert len(api.parsed_forms[0]) == 1


@pytest.mark.demand("plugins.json_form_multipart_files")
@pytest.mark.parametrize(
    ("media", "value", "sent"),
    [
        ("text/plain", "hé\nllo", "hé\nllo".encode()),
        ("text/csv", "a,b\n1,2", b"a,b\n1,2"),
        ("application/xml", "<a>&amp;</a>", b"<a>&amp;</a>"),
        ("text/plain", 5, b"5"),
    ],
)
async def test_text_and_xml(api: RecordingApi, media: str, value: Any, sent: bytes) -> None:
    body = RequestBody(media=media, schema={"type": ["string", "integer"]}, required=True)
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"body": value})
    assert (api.last_request.body, api.last_request.headers["content-type"]) == (sent, media)


async def test_an_object_as_xml(api: RecordingApi) -> None:
    body = RequestBody(media="application/xml", schema={"type": "object", "xml": {"name": "pet"}}, required=True)
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {"body": {"name": "a<b", "tags": ["x", "y"], "><evil": 1}})
    made = '<pet><name>a&lt;b</name><tags>x</tags><tags>y</tags><item name="&gt;&lt;evil">1</item></pet>'
    assert api.last_request.body.decode().endswith(made)


@pytest.mark.demand("plugins.json_form_multipart_files")
async def test_a_file_as_the_whole_body(api: RecordingApi) -> None:
    body = RequestBody(media="application/octet-stream", schema=FILE, required=True)
    image = RequestBody(media="image/*", schema=FILE, required=True)
    url = f"data:image/png;base64,{encode_base64(PNG)}"
    made = make_plugin(
        make_operation("POST", "/raw", body=body, url=api.url, name="raw"),
        make_operation("PUT", "/image", body=image, url=api.url, name="image"),
    )
    async with open_tools(made) as (raw, picture):
        await call_tool(raw, {"body": "a.bin"}, messages=make_messages_with_files(make_file_part("a.bin", PNG)))
        assert (api.last_request.body, api.last_request.headers["content-type"]) == (PNG, "application/octet-stream")
        await call_tool(picture, {"body": "it"}, messages=make_messages_with_files(ImageMessagePart(url)))
    assert (api.last_request.body, api.last_request.headers["content-type"]) == (PNG, "image/png")


# Files that users attach


UPLOAD_BODY = make_object_body("multipart/form-data", ["f"], f=FILE)


def make_upload_plugin(api: RecordingApi) -> Any:
    return make_plugin(make_operation("POST", "/x", body=UPLOAD_BODY, url=api.url))


async def test_the_only_file_is_meant_whatever_the_model_wrote(api: RecordingApi) -> None:
    async with open_tools(make_upload_plugin(api)) as (tool,):
        await call_tool(
            tool, {"f": "report_final.pdf"}, messages=make_messages_with_files(make_file_part("q3.pdf", b"1"))
        )
        await call_tool(tool, {}, messages=make_messages_with_files(make_file_part("q3.pdf", b"1")))
    assert api.parsed_forms == [[("f", "q3.pdf", "application/pdf", b"1")]] * 2


async def test_the_newest_of_two_files_with_one_name(api: RecordingApi) -> None:
    messages = (
        *make_messages_with_files(make_file_part("a.txt", b"old")),
        *make_messages_with_files(make_file_part("a.txt", b"new"), make_file_part("b.txt", b"b")),
    )
    async with open_tools(make_upload_plugin(api)) as (tool,):
        await call_tool(tool, {"f": "A.TXT"}, messages=messages)
        await call_tool(tool, {"f": "/mnt/data/b"}, messages=messages)
    assert [form[0][1:] for form in api.parsed_forms] == [
        ("a.txt", "text/plain", b"new"),
        ("b.txt", "text/plain", b"b"),
    ]


async def test_a_data_url_as_a_files_content_and_files_of_other_roles(api: RecordingApi) -> None:
    theirs = FileMessagePart("mine.txt", None, f"data:text/html;base64,{encode_base64(b'<p>')}")
    forged = Message("tool", (make_file_part("tool.txt", b"no"),), call_id="c")
    async with open_tools(make_upload_plugin(api)) as (tool,):
        await call_tool(tool, {}, messages=(*make_messages_with_files(theirs), forged))
    assert api.parsed_forms == [[("f", "mine.txt", "text/html", b"<p>")]]


async def test_which_of_several_files_is_asked(api: RecordingApi) -> None:
    messages = make_messages_with_files(make_file_part("a.txt", b"a"), make_file_part("b.txt", b"b"))
    async with open_tools(make_upload_plugin(api)) as (tool,):
        said = await call_tool(tool, {"f": "c.txt"}, messages=messages)
        [ask] = said.pause.asks
        assert ask.schema["properties"]["f"]["enum"] == ["b.txt", "a.txt"]
        assert api.requests == []
        await call_tool(tool, messages=messages, after=said.pause, answer={"f": "a.txt"})
    assert api.parsed_forms[0][0][3] == b"a"


async def test_without_a_file_the_user_is_asked_to_attach_one(api: RecordingApi) -> None:
    async with open_tools(make_upload_plugin(api)) as (tool,):
        said = await call_tool(tool, {"f": "guess.txt"})
        assert "attach" in said.pause.asks[0].message
        again = await call_tool(
            tool, after=said.pause, answer="here", messages=make_messages_with_files(make_file_part("n.txt", b"n"))
        )
        assert not again.result.failed
        never = await call_tool(tool, after=said.pause, answer="no")
    assert never.error["code"] == "no_file"
    assert len(api.requests) == 1


async def test_a_list_of_files_left_out_takes_all_that_are_there(api: RecordingApi) -> None:
    body = make_object_body("multipart/form-data", ["fs"], fs={"type": "array", "items": FILE})
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(
            tool, {}, messages=make_messages_with_files(make_file_part("a.txt", b"a"), make_file_part("b.txt", b"b"))
        )
    assert [part[1] for part in api.parsed_forms[0]] == ["a.txt", "b.txt"]


async def test_pictures_without_names_are_several(api: RecordingApi) -> None:
    body = make_object_body("multipart/form-data", ["fs"], fs={"type": "array", "items": FILE})
    pictures = [ImageMessagePart(f"data:image/png;base64,{encode_base64(data)}") for data in (b"1", b"2", b"3")]
    async with open_tools(make_plugin(make_operation("POST", "/x", body=body, url=api.url))) as (tool,):
        await call_tool(tool, {}, messages=make_messages_with_files(*pictures, pictures[0]))
    assert sorted(part[3] for part in api.parsed_forms[0]) == [b"1", b"2", b"3"]
    assert {part[1] for part in api.parsed_forms[0]} == {"image.png", "image-2.png", "image-3.png"}


async def test_a_file_over_the_limit_and_a_broken_one(api: RecordingApi) -> None:
    gate = PluginPolicy(allow=("127.0.0.1",), max_upload=1000)
    async with open_tools(make_upload_plugin(api), gate) as (tool,):
        large = await call_tool(tool, {}, messages=make_messages_with_files(make_file_part("l.bin", b"x" * 1001)))
        huge = await call_tool(tool, {}, messages=make_messages_with_files(make_file_part("h.bin", b"x" * 10_000)))
        broken = await call_tool(tool, {}, messages=make_messages_with_files(FileMessagePart("b.bin", None, "!!!")))
    assert "larger than" in large.error["message"]
    assert "larger than" in huge.error["message"]
    assert "did not arrive whole" in broken.error["message"]
    assert api.requests == []


async def test_the_address_of_a_picture_is_never_fetched(api: RecordingApi) -> None:
    async with open_tools(make_upload_plugin(api)) as (tool,):
        said = await call_tool(tool, {}, messages=make_messages_with_files(ImageMessagePart(f"{api.url}/picture.png")))
    assert "attach" in said.pause.asks[0].message
    assert api.requests == []


async def test_a_file_attached_to_the_answer_where_a_door_has_only_text(api: RecordingApi) -> None:
    model = FakeModel(reply_calls(("shop_act", "{}")), reply_text("Sent."))
    url = f"data:text/plain;base64,{encode_base64(b'late')}"
    part = {"type": "file", "file": {"filename": "late.txt", "file_data": url}}
    history: list[dict[str, Any]] = []
    async with serve_runtime(
        Runtime(model=model, tools=make_operation_tools(make_upload_plugin(api), LOCAL_POLICY))
    ) as home:
        for content in ("upload it", [{"type": "text", "text": "here"}, part]):
            history.append({"role": "user", "content": content})
            async with RawHttpClient(home.url) as client:
                await client.post_json("/v1/chat/completions", {"messages": history})
                await client.read_head()
                history.append((await client.read_json())["choices"][0]["message"])
    assert "attach" in history[1]["content"]
    assert history[3]["content"] == "Sent."
    assert api.parsed_forms == [[("f", "late.txt", "text/plain", b"late")]]
