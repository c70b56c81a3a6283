"""The plugin on the page is a plugin: it passes the strict check, is what the page says, and is called."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.plugins.http.oidc import find_missing_caller_token
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Plugin
from rightseat.plugins.python.tools import make_script_tools
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.wiring.plugins import make_python_policy
from tests.docs.test_docs import ROOT, find_blocks
from tests.unit.plugins.http.plugin_values import call_tool, open_tools
from tests.unit.plugins.http.recording_api import serve_recording_api
from tests.unit.plugins.python.script_plugins import call_once

PAGES = [ROOT / "docs" / "plugins.md", ROOT / "docs" / "plugins.zh.md"]


def write_plugin(page: Path, parent: Path) -> Plugin:
    """The page's plugin, from its blocks."""
    folder = parent / "inventory"
    (folder / "lib").mkdir(parents=True)
    (folder / "plugin.json").write_text(find_blocks(page, "json")[0], "utf-8")
    (folder / "openapi.yaml").write_text(find_blocks(page, "yaml")[0], "utf-8")
    (folder / "lib" / "uptime.py").write_text(find_blocks(page, "python")[0], "utf-8")
    return read_plugin(folder, strict=True)


@pytest.mark.demand("plugins.docs_plugins_md_english")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_plugin_passes_the_strict_check(page: Path, tmp_path: Path) -> None:
    found = write_plugin(page, tmp_path)
    assert found.problems == ()
    assert [one.name for one in found.operations] == ["find_hosts", "open_ticket"]
    assert [one.name for one in found.scripts] == ["uptime_in_words"]
    assert found.question


@pytest.mark.demand("plugins.docs_plugins_md_english")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_model_sees_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    shown = json.loads(find_blocks(page, "json")[1])
    tool = {tool.name: tool for tool in make_operation_tools(write_plugin(page, tmp_path), PluginPolicy())}[
        shown["name"]
    ]
    assert {"name": tool.name, "description": tool.description, "parameters": tool.parameters} == shown


@pytest.mark.demand("plugins.docs_plugins_md_english")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_settings_are_valid(page: Path, tmp_path: Path) -> None:
    write_plugin(page, tmp_path)
    (tmp_path / "rightseat.toml").write_text(find_blocks(page, "toml")[0], "utf-8")
    [settings] = load_config(tmp_path / "rightseat.toml", env={}).plugins
    assert (settings.path, settings.confirm) == ("inventory", "writes")


@pytest.mark.demand("plugins.docs_plugins_md_english")
@pytest.mark.io
async def test_the_pages_plugin_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INVENTORY_TOKEN", "Bearer a-long-token")
    plugin = write_plugin(PAGES[0], tmp_path)
    async with serve_recording_api() as api:
        gate = PluginPolicy(server=f"{api.url}/v1", allow=("127.0.0.1",))
        async with open_tools(plugin, gate) as (find, open_ticket):
            assert '"ok":true' in (await call_tool(find, {"state": "offline"})).text.replace(" ", "")
            assert (api.last_request.method, api.last_request.raw_target) == ("GET", "/v1/hosts?state=offline")
            assert api.last_request.headers["authorization"] == "Bearer a-long-token"
            asked = await call_tool(open_ticket, {"id": "h-001", "summary": "No light."})
            assert len(api.requests) == 1
            await call_tool(open_ticket, after=asked.pause, answer={"approved": True})
            assert (api.last_request.method, api.last_request.raw_target) == ("POST", "/v1/hosts/h-001/tickets")
            assert json.loads(api.last_request.body) == {"summary": "No light.", "hours": 8}
            assert (await call_tool(open_ticket, {"id": "web-01", "summary": "No light."})).error
            assert len(api.requests) == 2


@pytest.mark.demand("plugins.docs_plugins_md_english")
def test_both_languages_have_the_same_parts() -> None:
    marks = [re.findall(r"^(#+|-|\||```\w*)", page.read_text("utf-8"), re.MULTILINE) for page in PAGES]
    assert marks[0] == marks[1]
    assert len(marks[0]) > 40


@pytest.mark.demand("plugins.docs_plugins_md_english", "plugins.check_finds_what_a_call_fails_on")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_settings_of_a_token_exchange_are_all_that_it_needs(page: Path, tmp_path: Path) -> None:
    plugin = write_plugin(page, tmp_path / "plugins")
    manifest = json.loads(find_blocks(page, "json")[0])
    manifest["auth"] = {"type": "oidc", "access_token_url": "https://sso.example.com/t", "args": {"access-token": ""}}
    (plugin.folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (tmp_path / "rightseat.toml").write_text(find_blocks(page, "toml")[1], "utf-8")
    config = load_config(tmp_path / "rightseat.toml", env={})
    [settings] = config.plugins
    assert {*settings.user_headers.values()} <= {*config.server.forward_headers}
    exchanging = read_plugin(plugin.folder)
    assert find_missing_caller_token(exchanging, {}, {}) is not None
    assert find_missing_caller_token(exchanging, settings.user_headers, settings.auth) is None


READER = '''
from pathlib import Path
from rightseat import tool

@tool
def read_sales(path: str) -> str:
    """Reads."""
    return Path(path).read_text()
'''


@pytest.mark.demand("security.lib_tools_confined")
@pytest.mark.io
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_the_pages_confined_plugin_reads_one_more_file(page: Path, tmp_path: Path) -> None:
    if not probe_machine().holds:
        pytest.skip(f"this machine cannot confine a process: {probe_machine().describe()}")
    for name in ("inventory", "reports"):
        (tmp_path / "plugins" / name / "lib").mkdir(parents=True)
        (tmp_path / "plugins" / name / "lib" / "sales.py").write_text(READER)
    (tmp_path / "data").mkdir()
    for name in ("sales.csv", "wages.csv"):
        (tmp_path / "data" / name).write_text(name)
    (tmp_path / "rightseat.toml").write_text(find_blocks(page, "toml")[2], "utf-8")
    config = load_config(tmp_path / "rightseat.toml", env={})
    runs = {}
    for settings in config.plugins:
        plugin = read_plugin(config.resolve_plugin_path(settings))
        (tool,), _ = make_script_tools(plugin, make_python_policy(settings, config))
        for name in ("sales.csv", "wages.csv"):
            runs[plugin.id, name] = (await call_once(tool, {"path": str(tmp_path / "data" / name)})).text
    assert [runs["inventory", name] for name in ("sales.csv", "wages.csv")] == ["sales.csv", "wages.csv"]
    assert runs["reports", "sales.csv"] == "sales.csv"
    assert "tool_failed" in runs["reports", "wages.csv"]
