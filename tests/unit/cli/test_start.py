"""The command line from outside: quick, helpful, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rightseat
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

HEAVY = {"aiohttp", "asyncio", "hypothesis", "httptools", "jsonschema_rs", "msgspec", "pydantic", "rich"}
HEAVY |= {"rightseat.config", "rightseat.models", "rightseat.runtime.runs", "starlette", "uvicorn", "uvloop"}


def run_cli(folder: Path, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "rightseat", *args],
        cwd=folder,
        # A server that the developer runs holds the data folder of the home directory.
        env={**kept, "RIGHTSEAT_DATA": str(folder / "data"), **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )


def test_version(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, f"rightseat {rightseat.__version__}\n")


@pytest.mark.demand("engine.cli_start_lazy_typos")
@pytest.mark.parametrize("args", [["--version"], ["--help"], ["serv"], ["serve", "--help"], ["chat", "--hlep"]])
def test_what_is_quick_imports_nothing_heavy(tmp_path: Path, args: list[str]) -> None:
    code = (
        "import sys\nfrom rightseat.cli import main\n"
        f"sys.argv = ['rightseat', *{args!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=True
    )
    modules = set(done.stdout.split("MODULES")[1].split())
    assert "typer" in modules
    assert modules & HEAVY == set()


@pytest.mark.demand("engine.cli_start_lazy_typos")
@pytest.mark.parametrize(
    ("args", "nearest"),
    [
        (["serv"], "'serve'"),
        (["caht"], "'chat'"),
        (["serve", "--prot", "1"], "--port"),
        (["serve", "--modle", "x"], "--model"),
        (["chat", "--asistant", "x"], "--assistant"),
        (["--verison"], "--version"),
    ],
)
def test_a_typo_is_answered_with_the_nearest(tmp_path: Path, args: list[str], nearest: str) -> None:
    done = run_cli(tmp_path, *args)
    assert done.returncode == 2
    assert nearest in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "env", "said"),
    [
        (["serve", "--config", "gone.toml"], {}, "gone.toml: no such file"),
        (["serve", "--model", "openia:x"], {}, "Did you mean 'openai'?"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], {}, "[auth.keys]"),
        (["serve", "--host", "no.such.host.invalid"], {}, "no.such.host.invalid"),
        (["serve"], {"RIGHTSEAT_PORT": "x"}, "RIGHTSEAT_PORT"),
        (["serve", "--model", "openai:x"], {}, "OPENAI_API_KEY"),
        (["chat", "--assistant", "x", "hi"], {"RIGHTSEAT_MODEL": "scripted:demo"}, "Use one of: default,"),
    ],
)
def test_what_is_wrong_is_said_in_one_block(tmp_path: Path, args: list[str], env: dict[str, str], said: str) -> None:
    done = run_cli(tmp_path, *args, **env)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_all_problems_of_a_file_are_one_block(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text("[server]\nprot = 1\nhots = 'x'\n")
    done = run_cli(tmp_path, "serve")
    assert done.returncode == 1
    assert done.stderr == (
        "error: rightseat.toml:2: server.prot: unknown key. Did you mean port?\n"
        "rightseat.toml:3: server.hots: unknown key. Did you mean hosts?\n"
    )


def test_chat_answers_one_question_and_leaves(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "chat", "what time is it?", RIGHTSEAT_MODEL="scripted:demo")
    assert done.returncode == 0, done.stderr
    assert "UTC" in done.stdout
    assert "demo_clock" in done.stderr, "the tool call is shown beside the answer, not in it"


@pytest.mark.long
def test_chat_reads_lines_until_they_end(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "chat", stdin="hello\n\nhello again\n", RIGHTSEAT_MODEL="scripted:demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 2
    assert "scripted:demo" in done.stderr
