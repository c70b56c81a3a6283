"""`rightseat plugins`: check, list, new."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rightseat.cli import app
from rightseat.plugins.load import read_plugin
from tests.unit.plugins.folders import MANIFEST, make_api_document, write_empty_flow, write_plugin

RUNNER = CliRunner()


def run_plugins_command(*words: str | Path) -> Result:
    return RUNNER.invoke(app, ["plugins", *map(str, words)])


@pytest.mark.demand("plugins.rightseat_plugins_check_dir")
def test_a_good_plugin_passes(tmp_path: Path) -> None:
    made = write_plugin(tmp_path, make_api_document())
    said = run_plugins_command("check", made)
    assert said.exit_code == 0
    assert said.output == (
        "hosts: 1 operation, 0 Python tools, 0 flows\n\n"
        "1 plugin with 1 operation, 0 Python tools, 0 flows: no problems.\n"
    )


@pytest.mark.demand("plugins.rightseat_plugins_check_dir")
def test_every_problem_has_its_place_and_its_fix(tmp_path: Path) -> None:
    text = 'openapi: 3.0.0\nservers:\n  - url: "/api"\npaths:\n  /hosts:\n    get: {description: "Lists \\d hosts"}\n'
    made = write_plugin(tmp_path, text)
    said = run_plugins_command("check", made)
    assert said.exit_code == 1
    assert f"  error   {made}/openapi.yaml:3 servers[0].url\n" in said.output
    assert "          The address is relative: nobody knows to where.\n" in said.output
    assert "          → Write the whole address" in said.output
    assert f"  warning {made}/openapi.yaml:6\n" in said.output
    assert said.output.endswith(": 1 error, 1 warning.\n")


@pytest.mark.demand("plugins.strict_authors_id_characters")
def test_strict_is_for_authors(tmp_path: Path) -> None:
    manifest = {"name": "A name of far too many letters", "description": "test"}
    made = write_plugin(tmp_path, {**make_api_document({"description": ""}, method="post")}, manifest, name="Hosts")
    assert run_plugins_command("check", made).exit_code == 0
    said = run_plugins_command("check", "--strict", made)
    assert said.exit_code == 1
    for words in (
        "not in lower-case letters",
        "under 15 are shown well",
        "The description is vague: 'test'.",
        "It has no description.",
        "It has no requestBody.",
    ):
        assert words in said.output
    bare = write_plugin(
        tmp_path, {**make_api_document(), "paths": {"/a": {"get": {"description": "Lists hosts."}}}}, name="bare"
    )
    assert "It has no responses." in run_plugins_command("check", "--strict", bare).output


@pytest.mark.demand("plugins.strict_authors_id_characters")
def test_a_misspelt_key_is_told_to_authors(tmp_path: Path) -> None:
    made = write_plugin(tmp_path, make_api_document({"paramters": []}))
    assert run_plugins_command("check", made).exit_code == 0
    assert "Did you mean 'parameters'?" in run_plugins_command("check", "--strict", made).output


@pytest.mark.demand("plugins.rightseat_plugins_check_dir")
def test_a_folder_of_plugins(tmp_path: Path) -> None:
    write_plugin(tmp_path, make_api_document(), name="good")
    write_plugin(tmp_path, "[", name="bad")
    said = run_plugins_command("check", tmp_path)
    assert said.exit_code == 1
    assert "good: 1 operation" in said.output
    assert f"error   {tmp_path}/bad/openapi.yaml" in said.output


@pytest.mark.demand("plugins.rightseat_plugins_check_dir")
@pytest.mark.parametrize("name", ["none", "empty"])
def test_nothing_to_check_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    said = run_plugins_command("check", tmp_path / name)
    assert said.exit_code == 1
    assert "folder" in str(said.exception)


@pytest.mark.demand("plugins.check_never_imports_runs")
@pytest.mark.io
def test_a_check_runs_nothing_and_a_terminal_stays_as_it_is(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    code = f"import pathlib\npathlib.Path({str(canary)!r}).touch()\nexported = []\n"
    hostile = {**MANIFEST, "\x1b[2Jname\n": "x", "name": "\x1b]0;evil\x07 hosts"}
    made = write_plugin(
        tmp_path, make_api_document(), hostile, files={"lib/__init__.py": code, "sitecustomize.py": code}
    )
    said = subprocess.run(
        [sys.executable, "-m", "rightseat", "plugins", "check", "--strict", "."],
        cwd=made,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert said.returncode == 1, said.stderr
    assert b"passed over" in said.stdout
    assert b"\x1b" not in said.stdout
    assert b"\x07" not in said.stdout
    assert not canary.exists()


@pytest.mark.demand("plugins.rightseat_plugins_list_plugins")
def test_list_says_what_is_there(tmp_path: Path) -> None:
    auth = {"type": "header", "args": {"Authorization": "sk-1234567"}}
    write_plugin(
        tmp_path,
        make_api_document(),
        {**MANIFEST, "name": "主机", "auth": auth},
        files={"flows/a.yaml": write_empty_flow("a")},
    )
    write_plugin(tmp_path, "[", name="bad")
    said = run_plugins_command("list", "--plugins", tmp_path)
    assert said.exit_code == 0
    assert "✓ hosts  主机\n    Looks up hosts by name" in said.output
    assert "    1 operation, 0 Python tools, 1 flow; auth: header\n" in said.output
    assert "✗ bad  hosts\n" in said.output
    assert f"1 error: rightseat plugins check {tmp_path}/bad" in said.output
    assert "sk-1234567" not in said.output


def test_list_says_what_of_this_machine_is_sent(tmp_path: Path) -> None:
    kinds = [
        {"type": "header", "args": {"A": "env:SHOP_KEY", "B": "sk-1234567"}},
        {"type": "oidc", "token_url": "https://a.example/t", "client_id": "me", "client_secret": "file:key"},
    ]
    write_plugin(tmp_path, make_api_document(), {**MANIFEST, "auth": kinds})
    said = run_plugins_command("list", "--plugins", tmp_path)
    assert "; auth: header (env:SHOP_KEY), oidc (file:key)\n" in said.output


def test_list_of_no_folder(tmp_path: Path) -> None:
    said = run_plugins_command("list", "--plugins", tmp_path / "none")
    assert said.exit_code == 1
    assert "this folder does not exist" in str(said.exception)


@pytest.mark.demand("plugins.rightseat_plugins_list_plugins")
def test_list_reads_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path / "plugins", make_api_document())
    config = tmp_path / "rightseat.toml"
    config.write_text('[[plugins]]\npath = "plugins"\n')
    assert "✓ hosts" in run_plugins_command("list", "--config", config).output
    monkeypatch.chdir(tmp_path)
    assert "✓ hosts" in run_plugins_command("list").output
    config.write_text("")
    assert "rightseat plugins new NAME" in run_plugins_command("list").output


@pytest.mark.demand("plugins.rightseat_plugins_new_name")
def test_a_new_plugin_passes_the_strict_check(tmp_path: Path) -> None:
    said = run_plugins_command("new", "my-hosts", "--in", tmp_path)
    assert said.exit_code == 0
    made = tmp_path / "my-hosts"
    assert str(made) in said.output
    checked = run_plugins_command("check", "--strict", made)
    assert (checked.exit_code, "no problems" in checked.output) == (0, True), checked.output
    found = read_plugin(made, strict=True)
    assert (found.id, found.alias, found.name, found.question != "") == ("my-hosts", "", "My hosts", True)
    assert [one.id for one in found.operations] == ["GET /hosts", "POST /hosts/{id}/tickets"]
    assert [one.dangerous for one in found.operations] == [False, True]
    assert [one.name for one in found.scripts] == ["uptime_in_words"]
    assert [one.name for one in found.flows] == ["offline_report.yaml"]
    assert found.auth[0].args["Authorization"].reveal() == "env:MY_HOSTS_TOKEN"
    for file in (*found.files, made / "plugin.json"):
        assert "@" not in file.read_text("utf-8").replace("@tool", "")
    assert json.loads((made / "plugin.json").read_text("utf-8"))["$comment"]


@pytest.mark.demand("plugins.rightseat_plugins_new_name")
def test_new_touches_nothing_that_is_there(tmp_path: Path) -> None:
    made = write_plugin(tmp_path, make_api_document())
    before = (made / "plugin.json").read_text()
    said = run_plugins_command("new", "hosts", "--in", tmp_path)
    assert (said.exit_code, "already exists" in str(said.exception)) == (1, True)
    assert (made / "plugin.json").read_text() == before


@pytest.mark.parametrize("name", ["../x", "Hosts", "a b", "", "1a", "x" * 50, "主机"])
def test_new_wants_a_plain_name(tmp_path: Path, name: str) -> None:
    said = run_plugins_command("new", name, "--in", tmp_path / "inner")
    assert "cannot be called" in str(said.exception)
    assert list(tmp_path.iterdir()) == []
