"""Servers that are broken or mean harm: each is down or cut short, by name, and nothing hangs or grows."""

import asyncio
from typing import Any

import mcp_types as types
import pytest

from rightseat.mcp.flight import BACKLOG, Flight
from rightseat.mcp.link import Link
from rightseat.mcp.outcome import outcome
from rightseat.mcp.server import Server
from rightseat.mcp.tool import fitted, tool_of, usable
from rightseat.tools import Result
from tests.kit.house import serving
from tests.mcp.calling import started


def saying(status: int, kind: str, body: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        head = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.mark.parametrize(
    "app",
    [
        saying(200, "text/html", b"<html>Welcome</html>"),
        saying(200, "application/json", b"{"),
        saying(200, "application/json", b'{"jsonrpc": "2.0", "id": 0, "result": {"tools": 7}}'),
        saying(500, "text/plain", b"oh"),
        saying(401, "application/json", b'{"error": "no"}'),
        saying(200, "text/event-stream", b"data: {\n\n"),
    ],
)
async def test_what_is_no_server_is_down(app: Any) -> None:
    async with serving(app) as url, started(Server(name="odd", url=f"{url}/mcp", start=1)) as servers:
        assert servers.down["odd"]


@pytest.mark.parametrize("words", ["echo hello", "exit 3", "head -c 2000000 /dev/zero"])
async def test_what_is_no_program_of_that_kind_is_down(words: str) -> None:
    odd = Server(name="odd", command="/bin/sh", args=("-c", words), start=3)
    async with started(odd) as servers:
        assert servers.down["odd"]


def wire(**fields: Any) -> types.Tool:
    return types.Tool(**{"name": "t", "input_schema": {"type": "object"}, **fields})


def test_a_schema_that_nobody_can_check_is_left_out() -> None:
    assert usable(wire())
    assert not usable(wire(input_schema={"type": "object", "$ref": "http://127.0.0.1:9/schema"}))
    assert not usable(wire(input_schema={"type": "nothing"}))


def test_a_description_and_a_result_have_an_end() -> None:
    tool = tool_of(Link(Server(name="s", command="c")), wire(description="x" * 10_000), "s__t")
    assert len(tool.description) == 4000
    assert len(fitted(Result("x" * (5 << 20)), None).text) < 1.1 * (1 << 20)
    assert len(fitted(Result("word " * 10_000), 100).text) < 400
    assert fitted(Result({"a": 1}), 100) == Result({"a": 1})


def test_what_a_result_holds() -> None:
    blocks: list[types.ContentBlock] = [
        types.TextContent(type="text", text="one"),
        types.ResourceLink(type="resource_link", uri="file:///a", name="a"),
        types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri="x:/b", text="two")),
        types.EmbeddedResource(
            type="resource",
            resource=types.BlobResourceContents(uri="x:/c", blob="AAEC", mime_type="application/pdf"),
        ),
        types.AudioContent(type="audio", data="not base64!", mime_type="audio/wav"),
    ]
    shown, result = outcome("c", "t", types.CallToolResult(content=blocks))
    assert [artifact.name for artifact in shown] == ["t-4.pdf"]
    assert result == Result("one\na: file:///a\ntwo\n[t-4.pdf, application/pdf: shown to the person]")
    _, failed = outcome("c", "t", types.CallToolResult(content=[], is_error=True))
    assert failed.content["error"] == {"code": "tool_failed", "message": "t failed and did not say why."}


async def test_who_tells_too_much_is_not_listened_to() -> None:
    link = Link(Server(name="s", command="/no/such/program"))
    flight = Flight(link, "t", {}, {})
    for number in range(10 * BACKLOG):
        await flight.told(number, None, None)
    assert flight.items.qsize() == BACKLOG
    await flight.end()
    await link.close()
    await asyncio.sleep(0)
