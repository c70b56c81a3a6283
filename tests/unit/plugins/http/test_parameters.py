"""What arrives at a server for each place, style and kind of value."""

import itertools
from typing import Any

import pytest

from rightseat.plugins.http.encoding import encode_path, encode_query
from rightseat.plugins.plugin import ApiServer
from tests.unit.plugins.http.plugin_values import call_tool, make_operation, make_parameter, make_plugin, open_tools
from tests.unit.plugins.http.recording_api import RecordingApi

pytestmark = pytest.mark.io

COLOURS = ["blue", "black"]
POINT = {"R": 100, "G": 200}
ODD = "a b&c=d/e?f#g+h%中"
ODD_ESCAPED = "a%20b%26c%3Dd%2Fe%3Ff%23g%2Bh%25%E4%B8%AD"


@pytest.mark.demand("plugins.operation_becomes_tool_all", "plugins.real_http_server_tests")
@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", True, "blue", "color=blue"),
        ("form", True, COLOURS, "color=blue&color=black"),
        ("form", True, POINT, "R=100&G=200"),
        ("form", False, COLOURS, "color=blue,black"),
        ("form", False, POINT, "color=R,100,G,200"),
        ("spaceDelimited", False, COLOURS, "color=blue%20black"),
        ("spaceDelimited", True, COLOURS, "color=blue&color=black"),
        ("pipeDelimited", False, COLOURS, "color=blue%7Cblack"),
        ("deepObject", True, POINT, "color%5BR%5D=100&color%5BG%5D=200"),
        ("deepObject", True, {"a": {"b": [1, 2]}}, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"),
        ("form", True, True, "color=true"),
        ("form", True, 0, "color=0"),
        ("form", True, 1.5, "color=1.5"),
        ("form", True, "", "color="),
        ("form", True, [], ""),
        ("form", False, [], ""),
        ("form", True, [None, "x"], "color=x"),
        ("form", True, {"a": None, "b": 1}, "b=1"),
        ("form", True, ODD, f"color={ODD_ESCAPED}"),
        ("form", False, ["a,b", "c"], "color=a%2Cb,c"),
    ],
)
async def test_a_query_in_every_style(api: RecordingApi, style: Any, explode: bool, value: Any, expected: str) -> None:
    asked = make_operation("GET", "/x", make_parameter("color", "query", style=style, explode=explode), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"color": value})
    assert api.last_request.raw_target == ("/x?" + expected if expected else "/x")


@pytest.mark.demand(
    "plugins.operation_becomes_tool_all", "plugins.real_http_server_tests", "plugins.bug_original_loader_calling"
)
@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, COLOURS, "blue,black"),
        ("simple", False, POINT, "R,100,G,200"),
        ("simple", True, POINT, "R=100,G=200"),
        ("label", False, "blue", ".blue"),
        ("label", False, COLOURS, ".blue,black"),
        ("label", True, COLOURS, ".blue.black"),
        ("label", True, POINT, ".R=100.G=200"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, COLOURS, ";color=blue,black"),
        ("matrix", True, COLOURS, ";color=blue;color=black"),
        ("matrix", False, POINT, ";color=R,100,G,200"),
        ("matrix", True, POINT, ";R=100;G=200"),
        ("simple", False, 7, "7"),
        ("simple", False, False, "false"),
        ("simple", False, ODD, ODD_ESCAPED),
    ],
)
async def test_a_path_in_every_style(api: RecordingApi, style: Any, explode: bool, value: Any, expected: str) -> None:
    one = make_parameter("color", "path", style=style, explode=explode)
    asked = make_operation("GET", "/paint/{color}/now", one, url=f"{api.url}/v1/")
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"color": value})
    assert api.last_request.raw_target == f"/v1/paint/{expected}/now"


@pytest.mark.demand("plugins.operation_becomes_tool_all")
@pytest.mark.parametrize(
    ("explode", "value", "expected"),
    [
        (False, "a b", "a b"),
        (False, COLOURS, "blue,black"),
        (False, POINT, "R,100,G,200"),
        (True, POINT, "R=100,G=200"),
        (False, True, "true"),
    ],
)
async def test_a_header(api: RecordingApi, explode: bool, value: Any, expected: str) -> None:
    asked = make_operation("GET", "/x", make_parameter("X-Color", "header", explode=explode), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"X-Color": value})
    assert api.last_request.headers["x-color"] == expected


@pytest.mark.parametrize("bad", ["a\r\nX-Evil: 1", "a\nb", "中文", "a\0b"])
async def test_a_header_value_that_cannot_be_sent_is_the_tools_failure(api: RecordingApi, bad: str) -> None:
    asked = make_operation("GET", "/x", make_parameter("X-Color", "header"), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        said = await call_tool(tool, {"X-Color": bad})
    assert "X-Color" in said.error["message"]
    assert api.requests == []


@pytest.mark.demand("plugins.operation_becomes_tool_all")
async def test_cookies(api: RecordingApi) -> None:
    asked = make_operation(
        "GET", "/x", make_parameter("session", "cookie"), make_parameter("ids", "cookie", explode=False), url=api.url
    )
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"session": "a b;c", "ids": [1, 2]})
    assert api.last_request.headers["cookie"] == "session=a%20b%3Bc; ids=1,2"


@pytest.mark.demand("plugins.operation_becomes_tool_all")
async def test_reserved_characters_stay_but_never_end_the_value(api: RecordingApi) -> None:
    asked = make_operation("GET", "/x", make_parameter("to", "query", reserved=True), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"to": "/a/b:c?d=e&admin=1#x"})
    assert api.last_request.raw_target == "/x?to=/a/b:c?d=e%26admin=1%23x"
    assert api.last_request.query == [("to", "/a/b:c?d=e&admin=1#x")]


@pytest.mark.demand("plugins.operation_becomes_tool_all")
async def test_a_parameter_with_a_media_type_is_written_in_it(api: RecordingApi) -> None:
    asked = make_operation(
        "GET",
        "/x/{where}",
        make_parameter("filter", "query", media="application/json"),
        make_parameter("where", "path", media="application/json"),
        make_parameter("X-Filter", "header", media="application/json"),
        url=api.url,
    )
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"filter": {"a": [1]}, "where": {"b": 2}, "X-Filter": {"c": None}})
    assert api.last_request.query == [("filter", '{"a":[1]}')]
    assert api.last_request.path == '/x/{"b":2}'
    assert api.last_request.headers["x-filter"] == '{"c":null}'


@pytest.mark.demand("plugins.bug_original_loader_calling")
async def test_optional_parameters_are_sent_when_given_and_left_out_when_not(api: RecordingApi) -> None:
    """The original dropped every query parameter that was not required."""
    asked = make_operation(
        "GET",
        "/hosts",
        make_parameter("name", "query", {"type": "string"}),
        make_parameter("limit", "query", {"type": "integer"}, required=True),
        url=api.url,
    )
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"name": "web", "limit": 3})
        await call_tool(tool, {"limit": 3, "name": None})
    assert [got.raw_target for got in api.requests] == ["/hosts?name=web&limit=3", "/hosts?limit=3"]


@pytest.mark.demand("plugins.defaults_applied_code_example")
async def test_defaults_come_from_the_document_not_from_the_model(api: RecordingApi) -> None:
    asked = make_operation(
        "GET",
        "/hosts",
        make_parameter("limit", "query", {"type": "integer", "default": 10}, required=True),
        make_parameter("status", "query", {"type": "string", "enum": ["on", "off"], "default": "on"}),
        make_parameter("odd", "query", {"type": "integer", "default": "none"}),
        url=api.url,
    )
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"status": ""})
        assert "required" not in tool.parameters
    assert api.last_request.raw_target == "/hosts?limit=10&status=on"


@pytest.mark.demand("plugins.bug_original_loader_calling")
@pytest.mark.parametrize("value", [1, 0, -5, 2.5, 1e21])
async def test_numbers_need_no_point(api: RecordingApi, value: float) -> None:
    """The original took `1` for no number, and `.` for one."""
    asked = make_operation("GET", "/x", make_parameter("n", "query", {"type": "number"}), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"n": value})
        assert "invalid" in (await call_tool(tool, {"n": "."})).error["code"]
    assert float(api.last_request.query[0][1]) == value


async def test_two_parameters_of_one_name_are_two_arguments(api: RecordingApi) -> None:
    asked = make_operation(
        "GET",
        "/x/{id}",
        make_parameter("id", "path", argument="id"),
        make_parameter("id", "query", argument="id_query"),
        url=api.url,
    )
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"id": "a", "id_query": "b"})
    assert api.last_request.raw_target == "/x/a?id=b"


@pytest.mark.demand("plugins.operation_becomes_tool_all", "plugins.bug_original_loader_calling")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
async def test_every_method(api: RecordingApi, method: str) -> None:
    asked = make_operation(method.lower(), "/x/{id}", make_parameter("id", "path"), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        said = await call_tool(tool, {"id": "7"})
    assert (api.last_request.method, api.last_request.path) == (method, "/x/7")
    assert not said.result.failed


async def test_a_query_in_the_documents_own_path_stays(api: RecordingApi) -> None:
    asked = make_operation("GET", "/x?action=list", make_parameter("n", "query"), url=api.url)
    async with open_tools(make_plugin(asked)) as (tool,):
        await call_tool(tool, {"n": 1})
    assert api.last_request.raw_target == "/x?action=list&n=1"


@pytest.mark.demand("plugins.several_servers_variables")
async def test_the_next_server_is_asked_when_the_first_is_not_there(api: RecordingApi) -> None:
    gone = "http://127.0.0.1:9"
    servers = (ApiServer(url=gone), ApiServer(url=f"{api.url}/second"))
    read = make_operation("GET", "/x", servers=servers, name="read")
    write = make_operation("POST", "/x", servers=servers, name="write")
    async with open_tools(make_plugin(read, write)) as (reading, writing):
        assert not (await call_tool(reading)).result.failed
        # Nobody knows how far it came at the first.
        assert (await call_tool(writing)).error["code"] == "upstream_unreachable"
    assert [got.path for got in api.requests] == ["/second/x"]


def test_no_value_of_any_style_makes_another_parameter() -> None:
    for style, explode, reserved in itertools.product(
        ("form", "spaceDelimited", "pipeDelimited", "deepObject"), (True, False), (True, False)
    ):
        one = make_parameter("q", "query", style=style, explode=explode, reserved=reserved)
        for value in ("a&b=c", ["a&b=c", "#"], {"k&x": "v&y#"}):
            made = encode_query(one, value)
            assert not any("&" in pair or "#" in pair for pair in made), (style, made)
    for style, explode in itertools.product(("simple", "label", "matrix"), (True, False)):
        made_path = encode_path(make_parameter("q", "path", style=style, explode=explode), ["a/b", "c?d#e"])
        assert not set("/?#") & set(made_path)
