"""`serve --plugins` as a process: a question ends at the API, files are watched, and running turns go on."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

pytestmark = pytest.mark.io
LIB = """
from rightseat import tool

@tool
def rank(a: int) -> int:
    '''Ranks.'''
    return a * {}
"""


def write_script(folder: Path) -> str:
    turns = [
        {"when": {"user": "^hosts"}, "calls": [{"name": "hosts_get_hosts", "arguments": {"q": "web"}}]},
        {"when": {"user": "^racks"}, "calls": [{"name": "hosts_get_racks", "arguments": {}}]},
        {"when": {"user": "^rank"}, "calls": [{"name": "hosts_rank", "arguments": {"a": 3}}]},
        {"when": {"user": "slow"}, "say": ["one "] + ["and "] * 40 + ["ten"], "pace_ms": 50},
        {"when": {"tool": "hosts_get_hosts"}, "say": "{result}"},
        {"when": {}, "say": "{result}"},
    ]
    file = folder / "script.json"
    file.write_text(json.dumps({"turns": turns}), "utf-8")
    return f"scripted:{file}"


async def ask(server: RightseatProcess, text: str) -> str:
    async with RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", {"messages": [{"role": "user", "content": text}]})
        await client.read_head()
        body = await client.read_json()
    answer: str = body["choices"][0]["message"]["content"]
    return answer


async def wait_for(check: Callable[[], Any], within: float = HANG_TIMEOUT) -> Any:
    limit = time.monotonic() + within
    while not (found := await check()):
        assert time.monotonic() < limit, "it did not happen"
        await asyncio.sleep(0.05)
    return found


@pytest.mark.demand(
    "plugins.plugins_dir_repeatable_plugins",
    "plugins.plugins_reloaded_files_change",
    "plugins.broken_plugin_never_stops",
)
@pytest.mark.long
async def test_plugins_are_served_watched_and_confined(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    async with serve_json_api() as api:
        hosts = write_api_plugin(plugins / "hosts", api.url)
        (hosts / "lib").mkdir()
        (hosts / "lib" / "rank.py").write_text(LIB.format(2), "utf-8")
        (plugins / "broken").mkdir()
        (plugins / "broken" / "plugin.json").write_text("{", "utf-8")
        config = f'[[plugins]]\npath = "{plugins}"\nallow = ["127.0.0.1"]\n'
        async with RightseatProcess(model=write_script(tmp_path), config=config) as server:
            assert "web-01" in await ask(server, "hosts please")
            assert api.requests == ["GET /hosts?q=web"]
            assert await ask(server, "rank it") == "6"
            assert "plugins    2, with 2 tools" in server.stdout
            assert f"broken has errors: rightseat plugins check {plugins / 'broken'}" in server.stdout
            assert "Plugin broken: plugin.json" in server.stderr
            assert "no tool 'hosts_get_racks'" in await ask(server, "racks please")
            assert not (hosts / "lib" / "__pycache__").exists(), "a call changes the plugin's folder"

            slow = asyncio.create_task(ask(server, "slow"))
            write_api_plugin(hosts, api.url, paths={"/hosts": "All hosts.", "/racks": "All racks."})
            (hosts / "lib" / "rank.py").write_text(LIB.format(5), "utf-8")

            async def racks() -> bool:
                return "web-01" in await ask(server, "racks please")

            await wait_for(racks)
            assert await ask(server, "rank it") == "15", "the new code runs"
            assert (await slow).endswith("ten"), "the running turn was dropped"

            write_api_plugin(plugins / "later", api.url, paths={"/x": "X."})

            async def counted() -> bool:
                return "later" in (await get_pin_error(server))

            await wait_for(counted)
            (hosts / "openapi.yaml").write_text("paths: [", "utf-8")

            async def gone() -> bool:
                return "no tool 'hosts_get_hosts'" in await ask(server, "hosts please")

            await wait_for(gone)
            assert await ask(server, "rank it") == "15", "what is not broken stays"


async def get_pin_error(server: RightseatProcess) -> str:
    """What a turn that pins a plugin is told: those that exist, if it does not."""
    async with RawHttpClient(server.url) as client:
        body = {"messages": [{"role": "user", "content": "x"}], "plugins": ["zzzzzz"]}
        await client.post_json("/v1/chat/completions", body)
        assert (await client.read_head()).status == 400
        error: str = (await client.read_json())["error"]["message"]
    return error
