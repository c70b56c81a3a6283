"""The official client against three workers: its answer may come to another worker than its call."""

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

pytestmark = [pytest.mark.io, pytest.mark.long, pytest.mark.timeout(600), pytest.mark.demand("scale.mcp_at_any_worker")]
# An answer comes to its call's worker once in three times: all of so many do once in ten million times.
MAX_ROUNDS = 15


def read_posts(server: RightseatProcess, start: int) -> list[dict[str, Any]]:
    """The POSTs in the log after so many characters."""
    lines = [json.loads(line) for line in server.stderr[start:].splitlines() if line.endswith("}")]
    return [line for line in lines if line.get("method") == "POST"]


async def find_workers_of_round(server: RightseatProcess, start: int) -> tuple[int, int]:
    """The workers that got the call and the answer: each round posts `initialized` and the answer, which are 202."""

    def is_logged() -> bool:
        posts = read_posts(server, start)
        return sum(post["status"] == 202 for post in posts) == 2 and any("run" in post for post in posts)

    await wait_until(is_logged)
    posts = read_posts(server, start)
    return next(post["worker"] for post in posts if "run" in post), [
        post["worker"] for post in posts if post["status"] == 202
    ][-1]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_is_asked_and_answers_at_any_worker(tmp_path: Path, mode: str) -> None:
    """In the older era until an answer has come to another worker than its call."""

    async def say_yes(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"approved": True})

    async with serve_json_api() as api:
        plugin = write_api_plugin(tmp_path / "net", api.url)
        config = (
            f'[models.m]\nspec = "scripted:demo"\n[store]\npath = "{tmp_path / "data"}"\n[server]\nlog = "json"\n'
            f'[[plugins]]\npath = "{plugin}"\nallow = ["127.0.0.1"]\nconfirm = "all"\n'
        )
        async with RightseatProcess(config=config, args=["--workers", "3"]) as server:
            for number in range(MAX_ROUNDS):
                start = len(server.stderr)
                async with Client(f"{server.url}/mcp", mode=mode, elicitation_callback=say_yes) as client:
                    async with asyncio.timeout(HANG_TIMEOUT):
                        result = await client.call_tool("net_get_hosts", {})
                assert result.structured_content == {"hosts": ["web-01"]}
                assert len(api.requests) == number + 1
                if mode == "legacy":
                    call_worker, answer_worker = await find_workers_of_round(server, start)
                    if call_worker != answer_worker:
                        break
            else:
                assert mode == "auto", "every answer came to the worker of its call"
