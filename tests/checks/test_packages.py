import sys
import venv
from pathlib import Path

import pytest

from checks import packages

pytestmark = pytest.mark.io


def write_program(folder: Path, name: str, code: str) -> Path:
    """An executable that signs the log with its name and ends with `code`."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder / "log"}"\n{code}\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")
@pytest.mark.parametrize(("uv", "asked"), [("exit 0", ["uv"]), ("exit 1", ["uv", "python", "python"])])
def test_pip_installs_what_uv_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uv: str, asked: list[str]
) -> None:
    monkeypatch.setattr(packages, "find_uv", lambda environment: write_program(tmp_path, "uv", uv))
    packages.install(write_program(tmp_path, "python", "exit 0"), tmp_path / "lock.txt")
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in lines] == asked
    # Whoever installs holds every file against the lock.
    assert f"--require-hashes -r {tmp_path / 'lock.txt'}" in lines[-1]


@pytest.mark.long
def test_an_index_set_for_pip_counts_for_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    assert packages.make_index_env() == {"UV_DEFAULT_INDEX": "https://mirror.example/simple"}
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://own.example/simple")
    assert packages.make_index_env() == {}


def test_what_cannot_be_installed_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "find_uv", lambda environment: None)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    code = packages.main([str(write_program(tmp_path, "python", "exit 1")), str(tmp_path / "lock.txt")])
    assert code == packages.COULD_NOT_INSTALL
    assert capsys.readouterr().err.splitlines()[-1].startswith("could not install ")


@pytest.mark.demand("tests.test_needs_python_package")
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    assert packages.cache_options() == ()
    (tmp_path / "file").touch()
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert packages.cache_options() == ("--no-cache",)


@pytest.mark.demand("first_hour.start_shows_progress")
def test_what_takes_long_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with packages.show_progress("installing"):
        # Said before it is done.
        assert capsys.readouterr().err == "installing …\n"
    monkeypatch.setattr(packages, "TICK_SECONDS", 0.0)
    with packages.show_progress("installing"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert (lines[0], lines[-1]) == ("installing …", "installing: 0 s")


@pytest.mark.demand("first_hour.start_shows_progress")
@pytest.mark.long
def test_an_environment_without_pip_is_installed_from_outside(tmp_path: Path) -> None:
    """pip comes with Python, as a wheel that runs as it is; nothing of it stays."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    pip = packages.find_pip(python)
    assert packages.run_command((*pip, "--version")) == ""
    assert packages.run_command((str(python), "-m", "pip", "--version")) != ""
