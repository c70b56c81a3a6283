"""`.ci/run` starts from nothing: no home, cache or variable of the caller's is why it is green."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rightseat.models.llamacpp.weights import EMBEDDED

pytestmark = pytest.mark.io
ROOT = Path(__file__).parents[2]


@pytest.fixture
def sabotaged_env(tmp_path: Path) -> dict[str, str]:
    """The variables of a caller whose caches hold garbage, under the names that a good one would have."""
    home = tmp_path / "home"
    for cache in (home / ".cache" / "rightseat", home / "own"):
        place = cache / "models" / EMBEDDED.sha256[:16] / EMBEDDED.file_name
        place.parent.mkdir(parents=True)
        with place.open("wb") as file:
            file.truncate(EMBEDDED.size)
    for name in ("pip", "uv", "npm"):
        (home / ".cache" / name).write_text("not a folder")
    return {
        **{name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"},
        "HOME": str(home),
        "RIGHTSEAT_CACHE": str(home / "own"),
        "RIGHTSEAT_MODEL": "openai:nobody",
        "OPENAI_API_KEY": "of the developer",
        "PIP_CACHE_DIR": str(home / ".cache" / "pip"),
        "UV_CACHE_DIR": str(home / ".cache" / "uv"),
        "NPM_CONFIG_CACHE": str(home / ".cache" / "npm"),
        "PYTHONPATH": str(home),
        "PIP_INDEX_URL": "file:///where packages are",
    }


def run_ci(env: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", ".ci/run", *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.demand("tests.ci_run_starts_nothing")
def test_only_how_packages_are_reached_comes_along(sabotaged_env: dict[str, str]) -> None:
    done = run_ci(sabotaged_env, "env")
    assert done.returncode == 0, done.stderr
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert seen["CI"] == "true"
    assert seen["PATH"] == sabotaged_env["PATH"]
    assert seen["PIP_INDEX_URL"] == "file:///where packages are"
    assert {"RIGHTSEAT_CACHE", "RIGHTSEAT_MODEL", "OPENAI_API_KEY", "PYTHONPATH"} & seen.keys() == set()
    assert [name for name, value in seen.items() if sabotaged_env["HOME"] in value] == []
    # Its own home was empty, and is gone.
    assert not Path(seen["HOME"]).exists()


@pytest.mark.demand("tests.ci_run_starts_nothing")
def test_the_home_is_empty_and_the_exit_code_is_the_commands(sabotaged_env: dict[str, str]) -> None:
    done = run_ci(sabotaged_env, "sh", "-c", 'ls -A "$HOME"; exit 7')
    assert (done.returncode, done.stdout) == (7, "")


def test_settings_of_the_index_are_found_in_the_callers_home(sabotaged_env: dict[str, str]) -> None:
    home = Path(sabotaged_env["HOME"])
    (home / ".npmrc").write_text("registry=file:///npm\n")
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text("[global]\n")
    for name in ("NPM_CONFIG_USERCONFIG", "PIP_CONFIG_FILE"):
        sabotaged_env.pop(name, None)
    done = run_ci(sabotaged_env, "env")
    assert f"NPM_CONFIG_USERCONFIG={home}/.npmrc\n" in done.stdout
    assert f"PIP_CONFIG_FILE={home}/.config/pip/pip.conf\n" in done.stdout


@pytest.mark.demand("tests.ci_run_starts_nothing")
@pytest.mark.model
@pytest.mark.long
def test_with_sabotaged_caches_the_embedded_model_answers(sabotaged_env: dict[str, str]) -> None:
    """It fetches the real weights; with the caller's, which are all zeros, no answer would come."""
    sabotaged_env["PIP_INDEX_URL"] = os.environ.get("PIP_INDEX_URL", "")
    test = "tests/unit/models/llamacpp/test_engine.py::test_the_embedded_model_answers_dies_and_comes_back"
    done = run_ci(sabotaged_env, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
