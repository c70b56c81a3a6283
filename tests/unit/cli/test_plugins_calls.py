"""`plugins check` finds what would fail at the first call: a method that a path does not have, a token that nobody
brings."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rightseat.cli import app
from rightseat.config.load import load_config
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import serve_runtime
from tests.unit.plugins.folders import MANIFEST, make_api_document, write_plugin
from tests.unit.plugins.runtime.api_plugins import serve_json_api
from tests.unit.plugins.runtime.live_plugin import PluginClient

EXCHANGE = {"type": "oidc", "access_token_url": "https://sso.example.com/token", "args": {"access-token": ""}}
NEW_EXCHANGE = {"type": "oidc", "token_url": "https://sso.example.com/token", "grant": "token_exchange"}
MISSING = "The user's own token is exchanged, and no setting says which header of the request brings it."
LINES = ['user_headers = {access_token = "X-Access-Token"}', 'forward_headers = ["X-Access-Token"]']


def check(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plugins", "check", *map(str, arguments)])
    return result.exit_code, result.output


def write_flow(tmp_path: Path, endpoint: str, *operations: str) -> Path:
    """A plugin with these operations ("get /hosts") and a flow that calls the endpoint."""
    document = make_api_document()
    document["paths"] = {}
    for name in operations:
        method, path = name.split()
        operation = {"description": "Does it.", "responses": {"200": {"description": "ok"}}}
        document["paths"].setdefault(path, {})[method] = operation
    step = {"name": "start", "call_type": "api", "params": {"endpoint": endpoint}}
    flow = {"name": "f", "description": "Calls.", "steps": [step]}
    return write_plugin(tmp_path, document, MANIFEST, files={"flows/f.yaml": json.dumps(flow, indent=1)})


@pytest.mark.demand("plugins.check_finds_what_a_call_fails_on")
@pytest.mark.parametrize(
    ("endpoint", "operations", "hint"),
    [
        ("PUT /hosts/1", ["patch /hosts/1", "put /hosts/2"], "Did you mean 'PATCH /hosts/1'? The path is the same."),
        ("PUT /hosts", ["get /hosts", "post /hosts"], "Did you mean 'GET /hosts' or 'POST /hosts'? The path is"),
        ("GET /hosts/{name}", ["get /hosts/{id}", "get /hosts"], "Did you mean 'GET /hosts/{id}'? The path is"),
        ("POST /hosts/", ["get /hosts", "post /hostz"], "Did you mean 'GET /hosts'? The path is"),
        ("GET /hsts", ["get /hosts"], "Did you mean 'GET /hosts'?"),
        ("/hosts", ["get /hosts"], "Did you mean 'GET /hosts'?"),
    ],
)
def test_an_operation_is_named_with_another_method(
    tmp_path: Path, endpoint: str, operations: list[str], hint: str
) -> None:
    code, output = check(write_flow(tmp_path, endpoint, *operations))
    assert code == 1
    assert "flows/f.yaml:5 steps.start.params.endpoint" in output
    assert f"openapi.yaml has no operation {endpoint!r}." in output
    assert hint in output


@pytest.mark.demand("plugins.check_finds_what_a_call_fails_on")
@pytest.mark.parametrize("auth", [EXCHANGE, {"oidc": {**EXCHANGE}}, [{"type": "header"}, EXCHANGE], NEW_EXCHANGE])
def test_an_exchange_of_the_users_token_needs_a_header(tmp_path: Path, auth: Any) -> None:
    if isinstance(auth, dict) and "oidc" in auth:
        auth = {"oidc": {name: value for name, value in EXCHANGE.items() if name != "type"}}
    code, output = check(write_plugin(tmp_path, make_api_document(), {**MANIFEST, "auth": auth}))
    assert code == 0, "a setting of the server is missing, the plugin has no error"
    assert MISSING in output
    assert all(line in output for line in LINES)
    assert "plugin.json:" in output


@pytest.mark.demand("plugins.check_finds_what_a_call_fails_on")
@pytest.mark.parametrize(
    "auth",
    [
        {**EXCHANGE, "args": {"access-token": "env:TOKEN"}},
        {**EXCHANGE, "access_token": "env:TOKEN"},
        {"type": "oidc", "token_url": "https://sso.example.com/token", "client_id": "me"},
        {"type": "header", "args": {"access-token": "env:TOKEN"}},
    ],
)
def test_an_auth_that_brings_its_own_credential_needs_none(tmp_path: Path, auth: Any) -> None:
    assert MISSING not in check(write_plugin(tmp_path, make_api_document(), {**MANIFEST, "auth": auth}))[1]


@pytest.mark.demand("plugins.check_finds_what_a_call_fails_on")
@pytest.mark.parametrize(
    ("setting", "is_missing"),
    [
        ("", True),
        ('user_headers = {access_token = "X-Access-Token"}', False),
        ('user_headers = {Access-Token = "X-Access-Token"}', False),
        ('user_headers = {client_id = "X-Client"}', True),
        ('auth = {access_token = "some-token"}', False),
    ],
)
def test_the_settings_of_the_configuration_count(tmp_path: Path, setting: str, is_missing: bool) -> None:
    folder = write_plugin(tmp_path, make_api_document(), {**MANIFEST, "auth": EXCHANGE})
    (tmp_path / "rightseat.toml").write_text(f'[[plugins]]\npath = "{folder.name}"\n{setting}\n', "utf-8")
    assert (MISSING in check(folder, "--config", tmp_path / "rightseat.toml")[1]) == is_missing


@pytest.mark.demand("plugins.check_finds_what_a_call_fails_on")
@pytest.mark.io
async def test_the_first_call_fails_with_the_same_line_and_the_log_has_said_it_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_json_api() as api:
        document = {**make_api_document({"description": "Lists."}), "servers": [{"url": api.url}]}
        folder = write_plugin(tmp_path, document, {**MANIFEST, "auth": EXCHANGE})
        (path,) = document["paths"]
        step = {"name": "start", "call_type": "api", "params": {"endpoint": f"GET {path}", "values": {}}}
        (folder / "flows").mkdir()
        flow = json.dumps({"name": "f", "description": "d", "steps": [step]})
        (folder / "flows" / "f.yaml").write_text(flow, "utf-8")
        text = f'[models.m]\nspec = "scripted:demo"\n[[plugins]]\npath = "{folder.name}"\nallow = ["127.0.0.1"]\n'
        (tmp_path / "rightseat.toml").write_text(text, "utf-8")
        runtime = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
        assert MISSING in caplog.text
        async with serve_runtime(runtime) as server:
            client = PluginClient(server.url, f"{folder.name}.f")
            await client.send_message("go")
    assert api.requests == []
    assert all(line in client.failure for line in LINES)
