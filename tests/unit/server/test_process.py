"""The real command: what an operator sees of it from outside, before and after a reload."""

import asyncio
import json
import signal

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

CONFIG = """
[server]
log = "json"
[models.main]
spec = "scripted:demo"
[limits]
requests_per_minute = {limit}
"""
CHAT = {"messages": [{"role": "user", "content": "hi"}]}


async def post_chat(url: str) -> int:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", CHAT)
        status = (await client.read_head()).status
        await client.read_body()
        return status


async def get_metrics(url: str) -> str:
    async with RawHttpClient(url) as client:
        await client.get("/metrics")
        assert (await client.read_head()).status == 200
        return (await client.read_body()).decode()


@pytest.mark.long
async def test_limits_numbers_and_lines_through_a_reload() -> None:
    async with RightseatProcess(config=CONFIG.format(limit=2)) as server:
        assert [await post_chat(server.url) for _ in range(3)] == [200, 200, 429]
        text = await get_metrics(server.url)
        assert 'rightseat_runs_total{assistant="default",reason="stop"} 2.0' in text
        assert 'rightseat_run_failures_total{assistant="default",code="rate_limited"} 1.0' in text
        config = next(server.folder.glob("*.toml"))
        config.write_text(CONFIG.format(limit=100))
        server.send_signal(signal.SIGHUP)
        async with asyncio.timeout(HANG_TIMEOUT):
            while (status := await post_chat(server.url)) == 429:
                pass
        assert status == 200
        text = await get_metrics(server.url)
        assert 'rightseat_runs_total{assistant="default",reason="stop"} 3.0' in text
    lines = [json.loads(line) for line in server.stderr.splitlines()]
    asked = [line for line in lines if line["logger"] == "rightseat.access"]
    assert [line["status"] for line in asked[:4]] == [200, 200, 429, 200]
    assert asked[0]["path"] == "/v1/chat/completions"
    assert len({line["request_id"] for line in asked}) == len(asked)
