from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError


def write_config(folder: Path, text: str) -> Path:
    path = folder / "rightseat.toml"
    path.write_text(text, "utf-8")
    return path


def list_config_errors(folder: Path, text: str) -> list[str]:
    path = write_config(folder, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, env={})
    return caught.value.message.replace(str(path), "FILE").split("\n")


@pytest.mark.demand("engine.unknown_keys_rightseat_toml")
def test_no_file_gives_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(env={}) == Config()
    assert load_config(env={}).server.port == 7777


def test_the_file_of_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, "[server]\nport = 8123\n")
    config = load_config(env={})
    assert config.server.port == 8123
    assert config.files == (Path("rightseat.toml"),)


def test_a_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIG_KEY", "s3cret")
    (tmp_path / "prompt.txt").write_text("Be brief.", "utf-8")
    config = load_config(
        write_config(
            tmp_path,
            """
[server]
public_url = "https://copilot.example"
grace = 5
[auth]
keys = {alice = "env:BIG_KEY"}
[models.big]
spec = "openai:gpt-4o"
context = 128000
api_key = "env:BIG_KEY"
headers = {X-Team = "blue"}
[assistants.sales]
model = "big"
system_file = "prompt.txt"
tools = ["shop.tools:price"]
rounds = 3
[limits]
run_seconds = 1.5
""",
        ),
        env={},
    )
    big = config.models["big"]
    assert (big.spec, big.context, big.options["headers"]) == ("openai:gpt-4o", 128000, {"X-Team": "blue"})
    assert big.options["api_key"].reveal() == config.auth.keys["alice"].reveal() == "s3cret"
    assert config.assistants["sales"].system == "Be brief."
    assert config.assistants["sales"].tools == ("shop.tools:price",)
    assert config.limits.run_seconds == 1.5
    assert config.files[1] == tmp_path / "prompt.txt"
    assert "s3cret" not in repr(config)


@pytest.mark.demand("engine.unknown_keys_rightseat_toml")
def test_all_problems_are_reported_together_with_their_lines(tmp_path: Path) -> None:
    text = """sever = 1
[server]
prot = 3
port = "x"
log = "xml"
grace = -1
[auth]
proxy_header = "X-User"
jwt = {issuer = "a", audiance = "b"}
[models.big]
base_url = "x"
[assistants.a]
system = \"\"\"
port = 3
\"\"\"
rouns = 3
tools = ["clock"]
"""
    assert list_config_errors(tmp_path, text) == [
        "FILE:1: sever: unknown key. Did you mean server?",
        "FILE:3: server.prot: unknown key. Did you mean port?",
        "FILE:4: server.port: expected a whole number, got text.",
        "FILE:5: server.log: expected one of console, json, got text.",
        "FILE:6: server.grace: expected a number >= 0.0.",
        'FILE:8: auth.proxy_header: proxy_addresses is missing. Name the proxy, such as ["10.0.0.5"].',
        "FILE:9: auth.jwt.audiance: unknown key. Did you mean audience?",
        "FILE:9: auth.jwt: audience is missing.",
        "FILE:9: auth.jwt: jwks is missing.",
        'FILE:10: models.big: spec is missing. Write for example spec = "openai:gpt-4o", or spec = "local".',
        "FILE:16: assistants.a.rouns: unknown key. Did you mean rounds?",
        "FILE:17: assistants.a.tools: 'clock' is not of the form module:attribute."
        " Built in are calculate, table_query, facts, code_interpreter, ipython, python, web_search, brave_search,"
        " wolfram_alpha.",
    ]


@pytest.mark.demand("engine.unknown_keys_rightseat_toml")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[server]\nport = 70000", "FILE:2: server.port: expected a whole number <= 65535."),
        ("[server]\n[asistants.default]\nsystem = 'x'", "FILE:2: asistants: unknown key. Did you mean assistants?"),
        ("[server]\nzzz = 1", "FILE:2: server.zzz: unknown key. Known here: host, port,"),
        ("server = 1", "FILE:1: server: expected a table, got a whole number."),
        ("models = 1", "FILE:1: models: expected tables such as [models.NAME], got a whole number."),
        ("[models]\nbig = 'x'", "FILE:2: models.big: expected a table, got text."),
        ("[models.a]\nspec = 'x:y'\ncontext = 0", "FILE:3: models.a.context: expected a whole number >= 1."),
        ("[server]\ncors = [1]", "FILE:2: server.cors: expected text, got a whole number (at [0])."),
        ("[auth]\nadmins = ['ann']", "FILE:2: auth.admins: there is no key 'ann' in [auth.keys]."),
        ("[auth.keys]\nbob = 3", "FILE:2: auth.keys.bob: expected text, such as 'env:NAME'."),
        ("[auth.keys]\nbob = 'env:NO_SUCH'", "FILE:2: auth.keys.bob: the environment variable NO_SUCH is"),
        ("[models.a]\nspec='x:y'\nh = {k = 'env:NO_SUCH'}", "FILE:3: models.a.h.k: the environment variable"),
        ("[auth]\nproxy_addresses = ['10.0.0.1']", "FILE:2: auth.proxy_addresses: proxy_header is missing."),
        ("[models.small]\nspec='x:y'\n[assistants.a]\nmodel='smal'", "no model 'smal'. Did you mean small?"),
        ("[assistants.a]\nmodel = 'gpt'", "no model 'gpt'. Write [models.gpt], or a spec like openai:gpt."),
        ("[assistants.a]\nsystem = 'x'\nsystem_file = 'gone.txt'", "cannot read"),
        ("[server]\nport = = 3", "FILE:2: not valid TOML: Invalid value (column 8)."),
        ("[server]\nhost = '''", "FILE:2: not valid TOML:"),
    ],
)
def test_each_problem_says_where_and_what(tmp_path: Path, text: str, complaint: str) -> None:
    assert any(complaint in line for line in list_config_errors(tmp_path, text)), list_config_errors(tmp_path, text)


def test_a_missing_and_an_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "gone.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b"[server]\nhost = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(path)
    with pytest.raises(ConfigError, match="cannot read the file"):
        load_config(tmp_path)


def test_a_wrong_value_is_never_repeated(tmp_path: Path) -> None:
    text = "[models.a]\nspec = ['sk-very-secret']\n[auth]\nkeys = 'sk-very-secret'\n"
    assert "sk-very-secret" not in "\n".join(list_config_errors(tmp_path, text))


def test_a_plain_secret_is_taken_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config = load_config(write_config(tmp_path, "[models.a]\nspec='openai:x'\napi_key='sk-plain'\n"), env={})
    assert config.models["a"].options["api_key"].reveal() == "sk-plain"
    assert "models.a.api_key" in caplog.text
    assert "env:" in caplog.text
    assert "sk-plain" not in caplog.text + repr(config)


def test_command_line_over_environment_over_file(tmp_path: Path) -> None:
    path = write_config(tmp_path, "[server]\nport = 1\nhost = '::1'\n")
    env = {"RIGHTSEAT_PORT": "2", "RIGHTSEAT_MODEL": "openai:e"}
    config = load_config(path, env=env)
    assert (config.server.host, config.server.port) == ("::1", 2)
    assert (config.model, config.model_from) == ("openai:e", "RIGHTSEAT_MODEL")
    config = load_config(path, host="localhost", port=0, model="openai:m", env=env)
    assert (config.server.host, config.server.port) == ("localhost", 0)
    assert (config.model, config.model_from) == ("openai:m", "--model")


@pytest.mark.parametrize("port", ["x", "-1", "65536"])
def test_a_bad_port_in_the_environment(port: str) -> None:
    with pytest.raises(ConfigError, match="RIGHTSEAT_PORT"):
        load_config(env={"RIGHTSEAT_PORT": port})
