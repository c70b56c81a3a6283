"""`make quick` itself: it goes red for a broken line, and finds the tests of one part of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks import quick

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "evals", "checks", "bench", "train", "docs", "examples", "pyproject.toml", "README.md")
ENGINE = Path("src") / "rightseat" / "engine" / "loop.py"


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """The project's tree in a folder of its own, whose name has a space."""
    home = tmp_path / "a copy"
    home.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "vendor", ".*")
    for name in COPIED:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, home / name, ignore=ignored)
        else:
            shutil.copy(place, home)
    return home


def run_quick(home: Path, *part: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(home / "src"), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "checks.quick", *part]
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)


@pytest.mark.demand("tests.quick_runs_lint_import")
@pytest.mark.long
@pytest.mark.io
def test_a_broken_line_in_the_engine_is_red(project_copy: Path) -> None:
    text = (project_copy / ENGINE).read_text(encoding="utf-8")
    broken = text.replace("yield event\n                continue", "yield event and None\n                continue")
    assert broken != text
    (project_copy / ENGINE).write_text(broken, encoding="utf-8")
    done = run_quick(project_copy, "engine")
    assert done.returncode == 1
    # Nothing else is red, and not every test is: it is the line, not the copy.
    assert "quick: red: tests in" in done.stdout
    assert "FAILED tests/unit/engine/test_loop.py" in done.stdout
    assert re.search(r"\d+ failed, \d+ passed", done.stdout)


@pytest.mark.demand("tests.quick_runs_lint_import")
@pytest.mark.long
@pytest.mark.io
def test_a_forbidden_import_and_an_unused_one_are_red(project_copy: Path) -> None:
    door = project_copy / "src" / "rightseat" / "doors" / "openai" / "__init__.py"
    door.write_text(f"import rightseat.models.scripted\n{door.read_text(encoding='utf-8')}", encoding="utf-8")
    done = run_quick(project_copy, "doors/openai")
    assert done.returncode == 1
    assert "quick: red: import rules, ruff check" in done.stdout


@pytest.mark.demand("house.quick_by_room")
@pytest.mark.demand("tests.quick_runs_lint_import")
def test_the_tests_of_a_part() -> None:
    assert quick.find_tests("doors/openbb") == [ROOT / "tests" / "unit" / "doors" / "openbb"]
    assert quick.find_tests("http/sse") == [ROOT / "tests" / "unit" / "http" / "test_sse.py"]


def test_an_unknown_part_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.main(["doors/nothing"]) == 2
    said = capsys.readouterr().err
    assert "no such part: src/rightseat/doors/nothing" in said
    assert "models" in said
