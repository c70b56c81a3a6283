"""`rightseat doctor` without a server: each thing that can be wrong is one line with its way out."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.cli.doctor import check_port, parse_secret, print_lines, run_doctor, stream_checks
from rightseat.config.installation import format_extra_command
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import Config, ServerSettings
from rightseat.doctor import setup
from rightseat.doctor.result import CheckResult
from rightseat.errors import ConfigError
from rightseat.server import service
from rightseat.wiring.from_config import build_runtime
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

DEMO = '[server]\nport = 0\n[models.default]\nspec = "scripted:demo"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Not the store of whoever runs the tests.
    monkeypatch.setenv("RIGHTSEAT_DATA", str(tmp_path / "data"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RIGHTSEAT_PORT", "RIGHTSEAT_HOST", "RIGHTSEAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def check_config_text(folder: Path, text: str) -> list[CheckResult]:
    (folder / "rightseat.toml").write_text(text, "utf-8")
    return await print_lines(stream_checks(None, None, folder / "rightseat.toml"), quiet=True)


def list_broken(found: list[CheckResult]) -> list[CheckResult]:
    return [line for line in found if line.state == "broken"]


@asynccontextmanager
async def serve_raw_answer(answer: bytes) -> AsyncIterator[int]:
    """Whatever it is asked, it says this and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def format_http_response(status: int) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()


async def test_secrets_are_counted_and_a_short_key_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANN_KEY", "0123456789abcde")
    monkeypatch.setenv("BOB_KEY", "0123456789abcdef")
    keys = '[auth.keys]\nbob = "env:BOB_KEY"\n'
    lines = await check_config_text(folder, DEMO + keys)
    assert [line.why for line in lines if line.what == "secrets"] == ["1 set"]
    assert [line for line in lines if line.what == "keys"] == []
    lines = await check_config_text(folder, f'{DEMO}{keys}ann = "env:ANN_KEY"\n')
    assert [line.why for line in lines if line.what == "secrets"] == ["2 set"]
    [line] = [line for line in lines if line.what == "keys"]
    assert (line.state, line.is_untried) == ("skipped", False)
    assert line.why == "fewer than 16 characters are easily guessed: ann"
    assert list_broken(lines) == []


@pytest.mark.demand("doctor.without_server_doctor_checks")
async def test_a_good_setup_has_nothing_broken(folder: Path) -> None:
    found = await check_config_text(folder, DEMO)
    assert list_broken(found) == []
    states = {line.what: line.state for line in found}
    assert states["Python"] == states["config"] == states["assistants"] == states["port 0"] == "good"
    assert states["server"] == "skipped"


@pytest.mark.demand("doctor.without_server_doctor_checks")
@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("[server]\nprot = 1\n", "config", "Did you mean port?"),
        ("[server\n", "config", "not valid TOML"),
        ('[auth.keys]\na = "env:NO_SUCH_KEY"\n', "config", "NO_SUCH_KEY is not set"),
        ('[models.a]\nspec = "opnai:x"\n', "model a", "Did you mean 'openai'?"),
        ('[models.a]\nspec = "openai:x"\n', "model a", "needs a key"),
        ('[assistants.a]\ntools = ["nowhere:at_all"]\n', "tool nowhere:at_all", "no module"),
        ('[assistants.a]\ntools = ["math:pi"]\n', "assistants", "not a function or a tool"),
        ('[server]\nhost = "0.0.0.0"\nport = 0\n', "port 0", "reached from other machines"),
    ],
)
async def test_what_is_wrong_is_a_line_with_a_fix(folder: Path, text: str, what: str, why: str) -> None:
    text = text if "port" in text else f"{text}[server]\nport = 0\n" if "[server" not in text else text
    found = [line for line in list_broken(await check_config_text(folder, text)) if line.what == what]
    assert [line.why for line in found if why in line.why and line.fix] != []


@pytest.mark.demand("doctor.without_server_doctor_checks")
@pytest.mark.parametrize(
    ("source", "why", "fix"),
    [
        ("x = 1\n\ndef (:\n", "SyntaxError: ", "correct shop_NAME.py, line 3"),
        ("x = 1\ny = nothing\n", "NameError: name 'nothing' is not defined", "correct shop_NAME.py, line 2"),
        ("import json\njson.loads('{')\n", "JSONDecodeError: ", "correct shop_NAME.py, line 2"),
        ("\nimport gone_library\n", "needs 'gone_library'", "install gone_library, or correct shop_NAME.py, line 2"),
    ],
    ids=["syntax", "name", "library", "missing"],
)
async def test_an_error_in_a_module_of_tools_names_its_line(
    folder: Path, source: str, why: str, fix: str, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    (folder / f"shop_{name}.py").write_text(source, "utf-8")
    text = f'[assistants.a]\ntools = ["shop_{name}:add"]\n[server]\nport = 0\n'
    lines = {line.what: line for line in list_broken(await check_config_text(folder, text))}
    line = lines[f"tool shop_{name}:add"]
    assert why in line.why
    assert "Correct" not in line.why
    assert line.fix == fix.replace("NAME", name)
    assert lines["assistants"].fix == line.fix
    if name != "missing":
        with pytest.raises(ConfigError, match=f"Correct shop_{name}.py, line [23]\\.$"):
            build_runtime(load_config(folder / "rightseat.toml"))


@pytest.mark.demand("doctor.without_server_doctor_checks")
async def test_tools_by_name_and_of_an_endpoint_are_no_modules(folder: Path) -> None:
    text = (
        '[assistants.default]\nmodel = "m"\ntools = ["calculate", "shop:order"]\n[models.m]\nspec = "scripted:demo"\n'
    )
    text += '[agents.shop]\nkind = "copilotkit"\nurl = "http://127.0.0.1:9/"\n[server]\nport = 0\n'
    lines = {line.what: line.state for line in await check_config_text(folder, text)}
    assert lines["tool calculate"] == "good"
    assert "tool shop:order" not in lines


@pytest.mark.demand("doctor.without_server_doctor_checks")
async def test_every_problem_of_a_file_is_a_line(folder: Path) -> None:
    found = list_broken(await check_config_text(folder, '[server]\nprot = 1\nhots = "x"\n[limits]\nrun_secs = 1\n'))
    assert len(found) == 3
    assert all("rightseat.toml:" in line.why for line in found)


@pytest.mark.demand("doctor.doctor_sees_whether_model")
@pytest.mark.parametrize(("status", "state"), [(200, "good"), (401, "good"), (404, "skipped"), (503, "broken")])
async def test_the_models_server_is_asked(folder: Path, status: int, state: str) -> None:
    async with serve_raw_answer(format_http_response(status)) as number:
        base = f"http://127.0.0.1:{number}/api?key=hidden-query"
        text = f'[server]\nport = 0\n[models.a]\nspec = "openai:x"\nbase_url = "{base}"\n'
        [line] = [line for line in await check_config_text(folder, text) if line.what == "reach 127.0.0.1"]
    assert line.state == state
    assert "hidden-query" not in line.format_text()
    assert ("/api/v1" in line.fix) == (status == 404)


@pytest.mark.parametrize("spec", ["anthropic:claude-opus-5-5", "google:gemini-3-pro"])
async def test_a_vendors_server_has_no_list_at_its_root(folder: Path, spec: str) -> None:
    async with serve_raw_answer(format_http_response(404)) as number:
        text = f'[server]\nport = 0\n[models.a]\nspec = "{spec}"\nbase_url = "http://127.0.0.1:{number}"\n'
        [line] = [line for line in await check_config_text(folder, text) if line.what == "reach 127.0.0.1"]
    assert (line.state, line.fix) == ("good", "")


@pytest.mark.demand("doctor.doctor_sees_whether_model")
async def test_a_models_server_that_is_not_there(folder: Path) -> None:
    with socket.socket() as taken:
        # Bound and not listening: nobody else can take the port, and nobody answers.
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        text = f'[server]\nport = 0\n[models.a]\nspec = "openai:x"\nbase_url = "{base}"\n'
        [line] = list_broken(await check_config_text(folder, text))
    assert (line.what, line.why) == ("reach 127.0.0.1", f"{base}: nothing listens there")
    assert f"start the server at {base}" in line.fix


@pytest.mark.demand("doctor.doctor_sees_whether_model")
async def test_a_models_server_that_speaks_no_http(folder: Path) -> None:
    async with serve_raw_answer(b"SSH-2.0-x\r\n\r\n") as number:
        base = f"http://127.0.0.1:{number}/v1"
        text = f'[server]\nport = 0\n[models.a]\nspec = "openai:x"\nbase_url = "{base}"\n'
        [line] = list_broken(await check_config_text(folder, text))
    assert "does not speak HTTP" in line.why


@pytest.mark.demand("doctor.without_server_doctor_checks")
def test_a_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = check_port(Config(server=ServerSettings(port=taken.getsockname()[1])))
    assert (line.state, "in use" in line.why, "--port" in line.fix) == ("broken", True, True)


async def test_another_program_at_our_port(folder: Path) -> None:
    async with serve_raw_answer(format_http_response(200)) as number:
        [line] = list_broken(await check_config_text(folder, f"[server]\nport = {number}\n"))
    assert (line.what, "not by rightseat" in line.why) == ("server", True)


async def test_a_url_where_nothing_runs_is_broken(folder: Path) -> None:
    [line] = list_broken(await print_lines(stream_checks("http://127.0.0.1:0", None, None), quiet=True))
    assert line.what == "server"


@pytest.mark.demand("doctor.without_server_doctor_checks")
def test_an_old_python() -> None:
    assert setup.check_python((3, 10, 4)).state == "broken"
    assert setup.check_python((3, 11, 0)).state == "good"


@pytest.mark.demand("security.descriptor_reserve")
@pytest.mark.parametrize(
    ("limit", "state", "words"),
    [
        (None, "good", "no limit"),
        (65536, "good", "limit 65536, 16 of them kept"),
        (256, "skipped", "about 104 answers at once, max_runs is 1000"),
        (32, "broken", "about 0 answers"),
    ],
)
def test_the_limit_of_descriptors(limit: int | None, state: str, words: str) -> None:
    line = setup.check_descriptors(Config(), limit)
    assert (line.state, words in line.why) == (state, True), line
    assert ("ulimit -n" in line.fix) == (state != "good")


@pytest.mark.demand("security.descriptor_reserve")
async def test_the_limit_of_descriptors_is_said(folder: Path) -> None:
    lines = await check_config_text(folder, DEMO)
    assert [line.what for line in lines].count("file descriptors") == 1


@pytest.mark.demand("doctor.without_server_doctor_checks")
@pytest.mark.parametrize(("text", "state"), [("", "skipped"), ("[auth.jwt]", "broken")])
def test_an_extra_that_is_not_installed(folder: Path, text: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if text:
        text += '\nissuer = "a"\naudience = "b"\njwks = "https://a.example/k"\n'
    (folder / "rightseat.toml").write_text(text)
    config = load_config(folder / "rightseat.toml", env={})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    [line] = [one for one in setup.check_extras(config) if one.what == "extra jwt"]
    assert (line.state, line.fix) == (state, format_extra_command("jwt"))


@pytest.mark.demand("doctor.exit_code_0_all")
async def test_no_secret_is_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_SECRET", "very-hidden-value")
    (folder / "leaky_tool.py").write_text("import os\nraise ValueError(os.environ['DOCTOR_SECRET'])\n")
    monkeypatch.syspath_prepend(str(folder))
    text = f'{DEMO}[auth.keys]\na = "env:DOCTOR_SECRET"\n[assistants.a]\ntools = ["leaky_tool:x"]\n'
    found = await check_config_text(folder, text)
    assert [line.what for line in list_broken(found)] == ["tool leaky_tool:x", "assistants"]
    for line in found:
        assert "very-hidden-value" not in line.format_text() + json.dumps(line.to_dict())


@pytest.mark.demand("doctor.exit_code_0_all")
def test_the_key_may_be_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_KEY", "of-the-env")
    assert parse_secret("env:DOCTOR_KEY", "--key") == Secret("of-the-env")
    assert parse_secret("typed-in", "--key") == Secret("typed-in")


@pytest.mark.demand("doctor.exit_code_0_all")
def test_json_and_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rightseat.toml").write_text(DEMO)
    assert run_doctor(None, None, None, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert {"state", "what", "why", "fix"} == set(told["lines"][0])
    (folder / "rightseat.toml").write_text("[sever]\n")
    assert run_doctor(None, None, None, as_json=False) == 1
    said = capsys.readouterr().out
    assert "✗ config" in said
    assert "→ " in said
    assert "1 broken" in said


def test_a_terminal_without_check_marks(folder: Path) -> None:
    (folder / "rightseat.toml").write_text(DEMO)
    line = [sys.executable, "-m", "rightseat", "doctor"]
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "? Python" in done.stdout


def test_every_extra_of_the_project_is_looked_at() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(setup.EXTRAS) == set(project["optional-dependencies"])


def test_an_address_of_every_interface_is_asked_on_this_machine() -> None:
    hosts = {"0.0.0.0": "http://127.0.0.1:7777", "::": "http://[::1]:7777", "10.0.0.1": "http://10.0.0.1:7777"}
    for host, expected in hosts.items():
        assert service.local_url(host, 7777) == expected
