"""`make coverage` prints one line of branches and lines for each of four areas."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from checks import targets
from checks.coverage_areas import AREAS

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]["run"]
MEASURED = """
import coverage
measure = coverage.Coverage(DATA, branch=True, source=SOURCE)
measure.start()
import rightseat.engine.assembler, rightseat.models.scripted, rightseat.plugins.plugin, rightseat.doors.openai.read
measure.stop()
measure.save()
"""
pytestmark = pytest.mark.demand("release.coverage_by_area")


def test_all_areas_are_measured_by_their_own_tests() -> None:
    assert SETTINGS["branch"] is True
    assert SETTINGS["source"] == [f"src/rightseat/{area}" for area in AREAS]
    folders = (*targets.COVERED_FOLDERS, *targets.FAST_COVERED_FOLDERS)
    assert {f"tests/unit/{area}" for area in AREAS} <= set(folders)
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_lines_come_after_both_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []

    def record_step(target: targets.Target, name: str, *command: str) -> bool:
        commands.append(command)
        return True

    monkeypatch.setattr(targets.Target, "run_step", record_step)
    targets.run_coverage(targets.Target("coverage"))
    _, first, second, lines = commands
    assert ("--cov-append" in first, "--cov-append" in second) == (False, True)
    assert lines[-2:] == ("-m", "checks.coverage_areas")


@pytest.mark.io
def test_each_area_has_a_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = MEASURED.replace("DATA", repr(str(data))).replace("SOURCE", repr(SETTINGS["source"]))
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    report = f"import sys; from checks.coverage_areas import main; sys.exit(main({str(data)!r}))"
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(AREAS)
    assert all("branches" in line and "%" in line for line in lines)


@pytest.mark.io
def test_an_area_that_nothing_measured_is_red(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = MEASURED.replace("DATA", repr(str(data))).replace("SOURCE", repr(SETTINGS["source"][:1]))
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    report = f"import sys; from checks.coverage_areas import main; sys.exit(main({str(data)!r}))"
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "doors    nothing was measured" in done.stdout
