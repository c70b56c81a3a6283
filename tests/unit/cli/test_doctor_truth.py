"""`rightseat doctor` tells the truth of keys, of the server that it found, of what was not checked. Nothing is left."""

import asyncio
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from rightseat.cli.doctor import format_verdict, print_lines, stream_checks
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config, ModelSettings
from rightseat.doctor.result import CheckResult, broken, good, skipped, untried
from rightseat.http.auth import Authenticator
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.storage import ADDRESS_FILE, data_folder, read_address
from tests.kit.app_server import serve_runtime
from tests.kit.cases import each_case
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.cli.test_doctor import DEMO, format_http_response, serve_raw_answer

pytestmark = pytest.mark.io
SERVED = '[models.default]\nspec = "scripted:demo"\n[store]\npath = "data"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIGHTSEAT_DATA", str(tmp_path / "kept"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RIGHTSEAT_PORT", "RIGHTSEAT_HOST", "RIGHTSEAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def check(text: str, *, call: bool = False) -> list[CheckResult]:
    await asyncio.to_thread(Path("rightseat.toml").write_text, text, "utf-8")
    return await print_lines(stream_checks(None, None, None, call=call), quiet=True)


async def run_doctor(cwd: Path, *options: str) -> tuple[int, str]:
    """The command as a person runs it, in a folder."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    command = [find_executable(), "doctor", *options]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=cwd, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT
    )
    return done.returncode, done.stdout


@each_case(
    ("lines", "verdict"),
    [
        ([good("a")], "Everything works."),
        ([good("a"), skipped("b", "not needed here")], "Everything works."),
        ([good("a"), broken("b", "why", "fix"), untried("c", "why", "fix")], "1 broken. The lines above"),
        ([good("a"), untried("b", "why", "fix")], "Nothing is broken of what was checked. Not checked: b."),
    ],
)
def test_the_last_line(lines: list[CheckResult], verdict: str) -> None:
    assert format_verdict(lines).startswith(verdict)


@pytest.mark.demand("first_hour.doctor_calls_models", "first_hour.doctor_verdict")
async def test_a_key_that_is_refused() -> None:
    async with serve_raw_answer(format_http_response(401)) as port:
        text = f'[server]\nport = 0\n[models.a]\nspec = "openai:x"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
        uncalled, called = await check(text), await check(text, call=True)
    [line] = [line for line in uncalled if line.what == "model a, key and name"]
    assert (line.state, line.is_untried, "--call" in line.fix) == ("skipped", True, True)
    assert "model a, key and name" in format_verdict(uncalled)
    [line] = [line for line in called if line.what == "model a, key and name"]
    assert (line.state, "upstream_denied" in line.why, "key" in line.fix) == ("broken", True, True)
    assert "broken" in format_verdict(called)


@pytest.mark.demand("first_hour.doctor_calls_models")
async def test_a_model_that_answers_is_called_once() -> None:
    [line] = [line for line in await check(DEMO, call=True) if line.what == "model default, key and name"]
    assert (line.state, "a call was answered" in line.why) == ("good", True)


@pytest.mark.demand("first_hour.doctor_verdict")
async def test_a_server_that_needs_a_key_is_not_called_well() -> None:
    keys = Authenticator(AuthSettings(keys={"ada": Secret("adas-own-key")}))
    config = Config(models={"default": ModelSettings(spec="scripted:demo")})
    async with serve_runtime(build_runtime(config, env={}), authenticate=keys) as home:
        lines = await print_lines(stream_checks(home.url, None, None), quiet=True)
    [line] = [line for line in lines if line.what == "key"]
    assert (line.state, "401" in line.why, line.fix) == ("broken", True, "give one: --key env:NAME")
    assert format_verdict(lines).startswith("1 broken")


@pytest.mark.demand("first_hour.doctor_verdict")
async def test_a_server_that_does_not_run_is_not_called_well() -> None:
    lines = await check(DEMO)
    assert format_verdict(lines) == "Nothing is broken of what was checked. Not checked: server."


def count_threads(folder: Path) -> int:
    with closing(sqlite3.connect(f"file:{folder}/data/rightseat.db?mode=ro", uri=True)) as file:
        number: int = file.execute("SELECT count(*) FROM threads").fetchone()[0]
        return number


@pytest.mark.demand("first_hour.doctor_finds_own_server", "first_hour.doctor_leaves_nothing")
async def test_the_server_of_the_folder_is_found_on_any_port_and_nothing_is_left() -> None:
    async with RightseatProcess(config=SERVED) as server:
        code, out = await run_doctor(server.folder)
        threads = count_threads(server.folder)
        other = server.folder / "other"
        other.mkdir()
        (other / "rightseat.toml").write_text(f"[server]\nport = {server.port}\n{SERVED}", "utf-8")
        other_code, other_out = await run_doctor(other)
        config = load_config(server.folder / "rightseat.toml")
        assert read_address(config) == server.url
        await server.stop()
        assert not (data_folder(config) / ADDRESS_FILE).exists()
        gone_code, gone_out = await run_doctor(server.folder)
    assert (code, threads) == (0, 0), out
    assert f"this set-up's runs at {server.url} ({server.folder.resolve()}/rightseat.toml" in out
    assert out.endswith("Everything works.\n")
    assert other_code == 1
    assert f"the rightseat at {server.url} is of another set-up" in other_out
    assert f"--url {server.url}" in other_out
    assert re.search(r"serve --port \d+ --data", other_out)
    assert gone_code == 0
    assert "Not checked: server." in gone_out
