"""Built-in tools that must be asked for: in the configuration, at a door, and by a client that sends their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient

# As the seed prints them: the schema of a search is none.
CLIENT_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "ipython",
            "description": "Runs code in an ipython interpreter and returns the result after 60 seconds.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        },
    }
]
SCRIPT = {
    "turns": [
        {"when": {"tool": "ipython"}, "say": "It is {result}"},
        {"when": {}, "calls": [{"name": "ipython", "arguments": {"code": "print(15315 * 3 / 55)"}}]},
    ]
}


def write_config(folder: Path, tools: list[str]) -> Path:
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    file = folder / "rightseat.toml"
    file.write_text(
        f'[models.script]\nspec = "scripted:script.json"\n[assistants.default]\nmodel = "script"\n'
        f"tools = {json.dumps(tools)}\n"
    )
    return file


async def ask(folder: Path, tools: list[str]) -> Any:
    runtime = build_runtime(load_config(write_config(folder, tools), env={}), env={})
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        body = {"messages": [{"role": "user", "content": "What is 15315*3/55 ?"}], "tools": CLIENT_TOOLS}
        await client.post_json("/v1/chat/completions", body)
        assert (await client.read_head()).status == 200
        return (await client.read_json())["choices"][0]


@pytest.mark.io
@pytest.mark.demand("tools.code_interpreter")
@pytest.mark.skipif(not probe_machine().holds, reason="this machine cannot confine a process")
async def test_a_clients_ipython_runs_here_where_it_is_asked_for(tmp_path: Path) -> None:
    choice = await ask(tmp_path, ["ipython"])
    assert (choice["finish_reason"], choice["message"]["content"]) == ("stop", "It is 835.3636363636364\n")


@pytest.mark.io
async def test_otherwise_the_client_runs_it(tmp_path: Path) -> None:
    choice = await ask(tmp_path, [])
    assert choice["finish_reason"] == "tool_calls"
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["ipython"]


@pytest.mark.demand("tools.web_search")
def test_a_missing_key_names_the_assistant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    config = load_config(write_config(tmp_path, ["web_search"]), env={})
    with pytest.raises(ConfigError, match=r"\[assistants\.default\].*web_search needs a key: set BRAVE_API_KEY"):
        build_runtime(config, env={})
    with pytest.raises(ConfigError, match=r"Did you mean web_search\?"):
        load_config(write_config(tmp_path, ["web_serch"]), env={})
