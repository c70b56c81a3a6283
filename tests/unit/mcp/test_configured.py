"""[mcp.NAME], [assistants.NAME] mcp and [server] mcp_allow: what may be written, and what comes of it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.mcp.tool_sources import McpServers
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.remote import make_mcp_servers
from tests.unit.mcp.tool_calls import SERVER_SCRIPT, get_tool_result

Load = Callable[[str], Config]
TWO_SERVERS = """
[models.m]
spec = "scripted:demo"
[mcp.one]
command = "one"
[mcp.two]
url = "https://two.example/mcp"
"""


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    def made(text: str) -> Config:
        path = tmp_path / "rightseat.toml"
        path.write_text(text, "utf-8")
        return load_config(path)

    return made


def make_servers(config: Config) -> McpServers:
    made = make_mcp_servers(config)
    assert made is not None
    return made


@pytest.mark.demand("agents.mcp_name_stdio_commands")
def test_a_table_is_a_server(load_text: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "Bearer canary-0123456789")
    made = make_servers(
        load_text(
            """
            [mcp.here]
            command = "npx"
            args = ["-y", "thing"]
            env = { MODE = "quiet", API_KEY = "env:TOKEN" }
            [mcp.there]
            url = "https://tools.example/mcp"
            headers = { Authorization = "env:TOKEN", X-Team = "blue" }
            confirm = "writes"
            timeout = 5
            """
        )
    )
    here, there = made.connections["here"].connection.server, made.connections["there"].connection.server
    assert (here.command, here.args) == ("npx", ("-y", "thing"))
    assert here.env == {"MODE": "quiet", "API_KEY": "Bearer canary-0123456789"}
    assert there.headers == {"Authorization": "Bearer canary-0123456789", "X-Team": "blue"}
    assert (there.confirm, there.timeout) == ("writes", 5)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[mcp.x]", "write either command, to run a program, or url"),
        ('[mcp.x]\ncommand = "a"\nurl = "https://b/mcp"', "write either command, to run a program, or url"),
        ('[mcp.x]\nurl = "b/mcp"', "write a full address"),
        ('[mcp.x]\nurl = "https://b/mcp"\nargs = ["-c"]', "it goes with command"),
        ('[mcp.x]\ncommand = "a"\nheaders = { A = "b" }', "it goes with url"),
        ('[mcp."a b"]\ncommand = "a"', "use letters, digits"),
        ('[mcp.x]\ncommand = "a"\nconfirm = "sometimes"', "one of dangerous, writes, all, never"),
        ('[mcp.x]\ncomand = "a"', "command"),
        ('[mcp.x]\ncommand = "a"\nenv = { KEY = "env:NOT_SET_ANYWHERE" }', "NOT_SET_ANYWHERE"),
        ('mcp = "x"', "tables such as [mcp.NAME]"),
    ],
)
def test_what_is_wrong_is_named(load_text: Load, table: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=r"rightseat\.toml") as caught:
        load_text(table)
    assert problem in caught.value.message


@pytest.mark.parametrize(("line", "expected"), [("", {"one", "two"}), ('mcp = ["two"]', {"two"}), ("mcp = []", set())])
async def test_an_assistant_has_all_servers_or_those_it_names(load_text: Load, line: str, expected: set[str]) -> None:
    made = build_runtime(load_text(f"{TWO_SERVERS}\n[assistants.a]\n{line}"))
    for name in ("a", "default"):
        source = made.assistants[name].toolset
        names = {one.connection.server.name for one in getattr(source, "entries", ())}
        assert names == expected
    assert made.assistants["m"].toolset is None, "a model that is asked by its name is nothing else"
    await made.close()


def test_a_server_that_is_not_there_is_named(load_text: Load) -> None:
    with pytest.raises(ConfigError, match=r"there is no server 'tow'. Did you mean 'two'"):
        build_runtime(load_text(f'{TWO_SERVERS}\n[assistants.a]\nmcp = ["tow"]'))


def test_without_the_extra_the_line_to_install_it_is_said(load_text: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("rightseat.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    with pytest.raises(ConfigError, match=r".*rightseat\[mcp\]"):
        make_mcp_servers(load_text(TWO_SERVERS))


def test_without_servers_the_sdk_is_not_imported(load_text: Load) -> None:
    assert make_mcp_servers(load_text('[models.m]\nspec = "scripted:demo"')) is None


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
@pytest.mark.io
async def test_a_runtime_starts_its_servers_and_a_reload_keeps_them(load_text: Load) -> None:
    text = f"""
    [models.m]
    spec = "scripted:demo"
    [mcp.things]
    command = "{sys.executable}"
    args = ["{SERVER_SCRIPT}"]
    """
    first = build_runtime(load_text(text))
    await first.start()
    assert first.servers is not None
    link = first.servers.connections["things"].connection
    await link.start()
    second = build_runtime(load_text(text), before=first)
    await second.start()
    await first.close()
    assert second.servers is not None
    assert second.servers.connections["things"].connection is link
    assert (await get_tool_result(second.servers, "add", {"a": 1, "b": 2})).content == {"result": 3}
    await second.close()
    assert not link.is_started
