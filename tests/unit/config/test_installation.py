"""Commands that are printed fit the installation: clone, pip, uv, pipx."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rightseat.config import installation
from rightseat.config.installation import format_extra_command, format_program, join_command
from tests.kit.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.demand("first_hour.missing_extra")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is no clone's, with an interpreter in it."""
    monkeypatch.setattr(installation, "find_clone", lambda: None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env").mkdir()
    return tmp_path / "env"


def test_with_pip(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert shlex.split(format_extra_command("sql")) == ["env/bin/python", "-m", "pip", "install", "rightseat[sql]"]


def test_without_pip(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = ["uv", "pip", "install", "--python", "env/bin/python", "rightseat[sql]"]
    assert shlex.split(format_extra_command("sql")) == words


@pytest.mark.parametrize(("file", "program"), [("uv-receipt.toml", "uv"), ("pipx_metadata.json", "pipx")])
def test_as_a_tool(environment: Path, file: str, program: str) -> None:
    (environment / file).touch()
    words = shlex.split(format_extra_command("sql"))
    assert (words[0], words[-1]) == (program, "rightseat[sql]")


@pytest.mark.skipif(installation.find_clone() is None, reason="the tests run in another environment than .venv")
def test_in_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert shlex.split(format_extra_command("sql")) == ["make", "install", "ADD=rightseat[sql]"]
    monkeypatch.chdir(tmp_path)
    assert shlex.split(format_extra_command("sql")) == ["make", "-C", str(ROOT), "install", "ADD=rightseat[sql]"]


@pytest.mark.io
@pytest.mark.skipif(installation.find_clone() is None, reason="the tests run in another environment than .venv")
def test_the_command_of_a_clone_runs_as_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is there already, so that nothing is fetched."""
    monkeypatch.chdir(tmp_path)
    command = ["sh", "-c", format_extra_command("sql")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_the_program_is_named_as_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "rightseat"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    assert format_program([str(program)]) == ["bin/rightseat"]
    monkeypatch.setenv("PATH", str(program.parent))
    assert format_program([str(program)]) == ["rightseat"]
    assert format_program(["/somewhere/pytest"])[1:] == ["-m", "rightseat"]


def test_words_are_quoted() -> None:
    assert shlex.split(join_command(["a", "b c", "d[e]"])) == ["a", "b c", "d[e]"]
