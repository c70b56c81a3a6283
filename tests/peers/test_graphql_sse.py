"""graphql-sse's own client against subscriptions: what it yields, what it says of an error, and that leaving ends
the run."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.peers.install import HERE
from tests.peers.prerequisites import require
from tests.unit.doors.copilotkit.client import PATH, serve_copilotkit
from tests.unit.doors.copilotkit.test_subscriptions import make_body

pytestmark = [pytest.mark.peers, pytest.mark.demand("copilotkit.subscriptions")]
KEY = "sesame-7"


class SseClient:
    def __init__(self, process: Process) -> None:
        self.process = process

    async def read_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(HANG_TIMEOUT):
            return dict(json.loads(await self.process.stdout.readline()))

    async def run(self, body: dict[str, Any], **options: Any) -> tuple[list[Any], str | None]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({**body, **options}).encode() + b"\n")
        line = await self.read_line()
        return line["results"], line["error"]


@asynccontextmanager
async def run_client(url: str, record: Callable[[str, str], None]) -> AsyncIterator[SseClient]:
    arguments = (str(HERE / "graphql-sse" / "drive.mjs"), str(require("graphql-sse")), url + PATH)
    process = await asyncio.create_subprocess_exec("node", *arguments, stdin=PIPE, stdout=PIPE, limit=1 << 22)
    client = SseClient(process)
    try:
        record("graphql-sse", (await client.read_line())["version"])
        yield client
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def test_hello_and_a_run(record_driven: Callable[[str, str], None]) -> None:
    runtime = Runtime(model=FakeModel(reply_text("Hel", "lo")))
    async with serve_copilotkit(runtime) as url, run_client(url, record_driven) as client:
        assert await client.run({"query": "subscription { hello }"}) == ([{"data": {"hello": "Hello World"}}], None)
        results, error = await client.run(make_body())
    assert error is None
    events = [result["data"]["generateCopilotResponse"] for result in results]
    assert "".join(event.get("content", "") for event in events) == "Hello"
    assert events[-1]["response"]["status"] == {"code": "Success"}


async def test_errors_are_results(record_driven: Callable[[str, str], None]) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url, run_client(url, record_driven) as client:
        for body in ({"query": "subscription { goodbye }"}, make_body(agentSession={"agentName": "nobody"})):
            [result], error = await client.run(body)
            assert error is None
            assert result["errors"]


async def test_a_key_is_asked_for(record_driven: Callable[[str, str], None]) -> None:
    authenticate = Authenticator(AuthSettings(keys={"ann": Secret(KEY)}))
    served = serve_copilotkit(Runtime(model=FakeModel()), authenticate=authenticate)
    async with served as url, run_client(url, record_driven) as client:
        results, error = await client.run({"query": "subscription { hello }"})
        assert (results, "401" in (error or "")) == ([], True)
        headers = {"Authorization": f"Bearer {KEY}"}
        results, error = await client.run({"query": "subscription { hello }"}, headers=headers)
        assert (len(results), error) == (1, None)


async def test_leaving_ends_the_run(record_driven: Callable[[str, str], None]) -> None:
    closed = asyncio.Event()

    async def talk(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            yield TextChunk("one")
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with serve_copilotkit(Runtime(model=FakeModel(talk))) as url, run_client(url, record_driven) as client:
        results, error = await client.run(make_body(), leave=3)
        assert (len(results), error) == (3, None)
        await wait_until(closed.is_set)
