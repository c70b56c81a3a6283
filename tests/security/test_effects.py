"""Requests that a foreign page can cause: GET has no effect on any route, and the server calls no host of a header."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime
from rightseat.http.endpoint import Route
from rightseat.server.app import App
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, Prompt
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.timeouts import HANG_TIMEOUT
from tests.security.test_routes import fill_path

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

QUERIES = (
    "",
    "?doors=1",
    "?run=default&ask=hello&question=hello&message=hello&q=hello",
    "?query=mutation%7BgenerateCopilotResponse(data%3A%7B%7D)%7BthreadId%7D%7D",
)
IMG_HEADERS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}


class CountingModel(Model):
    """A model that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.calls += 1
        for chunk in reply_text("w0"):
            yield chunk


def list_routes(app: App, *methods: str) -> list[Route]:
    return [route for _, route, _ in app.table.routes if route.method in methods]


@pytest.mark.demand("security.get_has_no_effect")
async def test_no_get_calls_a_model() -> None:
    model = CountingModel()
    async with serve_runtime(Runtime(model=model)) as server:
        paths = {fill_path(route.path) for route in list_routes(server.app, "GET")}
        assert "/playground/setup" in paths
        for path in sorted(paths):
            for query in QUERIES:
                async with RawHttpClient(server.url) as client, asyncio.timeout(HANG_TIMEOUT):
                    await client.send(build_raw_request("GET", path + query, b"", IMG_HEADERS))
                    # Some routes are streams without an end: the head says enough.
                    await client.read_head()
    assert model.calls == 0


@pytest.mark.demand("security.get_has_no_effect")
async def test_a_page_without_an_origin_causes_no_effect() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for route in list_routes(server.app, "POST", "PATCH", "DELETE"):
            async with RawHttpClient(server.url) as client:
                fields = {**IMG_HEADERS, "Content-Type": "application/json"}
                await client.send(build_raw_request(route.method, fill_path(route.path), b"{}", fields))
                assert (await client.read_head()).status == 403, route.path


@pytest.mark.demand("security.get_has_no_effect")
async def test_calling_every_door_calls_no_host_of_a_header() -> None:
    """The header names a listener of the attacker; the doors are called all the same."""
    connections: list[str] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append((await reader.readline()).decode())
        writer.close()

    model = CountingModel()
    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with listener, serve_runtime(Runtime(model=model)) as server:
        port = listener.sockets[0].getsockname()[1]
        async with RawHttpClient(server.url) as client:
            request = build_raw_request("POST", "/playground/setup", b"", {"X-Api-Key": "k"}, f"127.0.0.1:{port}")
            await client.send(request)
            assert (await client.read_head()).status == 200
            lines = (await client.read_json())["lines"]
    called = [line for line in lines if ": " in line["what"]]
    assert {line["what"].partition(":")[0] for line in called} >= {"openai", "agui", "openbb", "copilotkit", "mcp"}
    assert [line for line in called if line["state"] == "broken"] == []
    assert model.calls > 0
    assert connections == []
