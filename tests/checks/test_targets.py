"""The test targets: what is red, what is "could not install", and that each test runs in one of them."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import targets
from checks.targets import FAILED, MARK_EXPRESSIONS, Target

pytestmark = pytest.mark.io
ROOT = Path(__file__).parents[2]


def test_a_step_that_went_well_is_green(capfd: pytest.CaptureFixture[str]) -> None:
    target = Target("test")
    assert target.run_step("say", sys.executable, "-c", "print('closing line')")
    assert target.format_verdict().startswith("make test: green, ")
    assert "closing line" in capfd.readouterr().out


def test_a_failed_step_is_red() -> None:
    target = Target("test")
    assert not target.run_step("tests", sys.executable, "-c", "raise SystemExit(2)")
    assert target.format_verdict().startswith("make test: RED (tests: exit 2), ")


def test_no_tests_at_all_is_red() -> None:
    target = Target("test")
    target.run_step("tests", sys.executable, "-c", "raise SystemExit(5)")
    assert target.faults == ["tests: exit 5"]


def test_a_failed_install_is_told_from_a_failed_test() -> None:
    target = Target("test")
    target.run_step("install", sys.executable, "-c", "raise SystemExit(3)")
    target.run_step("fetch weights", sys.executable, "-c", "raise SystemExit(3)")
    assert target.not_installed
    target.run_step("tests", sys.executable, "-c", "raise SystemExit(3)")
    assert target.faults == ["install: could not install", "fetch weights: could not fetch", "tests: exit 3"]


def test_a_failed_install_is_told_through_make_too(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("thing:\n\t@exit 3\n")
    target = Target("docs")
    target.run_step("install docs", "make", "-C", str(tmp_path), "thing")
    assert target.not_installed
    target.run_step("build the site", "make", "-C", str(tmp_path), "thing")
    assert target.faults == ["install docs: could not install", "build the site: exit 2"]


@pytest.mark.demand("tests.time_reported_never_judged")
def test_a_slow_step_is_not_red() -> None:
    target = Target("test")
    target.started -= 1e6
    assert target.run_step("tests", sys.executable, "-c", "")
    assert "green" in target.format_verdict()


@pytest.mark.demand("tests.time_reported_never_judged")
def test_a_stuck_step_is_ended() -> None:
    target = Target("test")
    assert not target.run_step("hang", sys.executable, "-c", "import time; time.sleep(600)", timeout=0.2)
    assert target.faults == ["hang: stuck, ended after 0 s"]


SECOND_TIME = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(COUNT))
def test_it(number):
    seen = Path(__file__).with_name(f"seen-{number}")
    was_seen = seen.exists()
    seen.touch()
    assert FIXED and was_seen
"""


@pytest.mark.parametrize(
    ("count", "is_fixed", "verdict"),
    [
        (1, True, "green (passed the second time: test_it.py::test_it[0]), "),
        (1, False, "RED (tests: exit 1; failed tests: exit 1), "),
        (targets.MAX_RETRIED + 1, True, "RED (tests: exit 1), "),
    ],
    ids=["passes alone", "fails twice", "too many"],
)
def test_a_few_failed_tests_are_run_once_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int, is_fixed: bool, verdict: str
) -> None:
    text = SECOND_TIME.replace("COUNT", str(count)).replace("FIXED", str(is_fixed))
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    monkeypatch.setattr(targets, "ROOT", tmp_path)
    # The folder that a command runs in was chosen when the module was read.
    monkeypatch.setattr(targets.run_group, "__kwdefaults__", {"cwd": tmp_path, "env": None, "output": None})
    target = Target("test")
    target.run_tests("tests", "-n", "2")
    assert target.faults == ["tests: exit 1"]
    target.retry_tests()
    assert target.format_verdict().startswith(f"make test: {verdict}")


def make_target(code: int) -> Callable[[Target], None]:
    """Return a target that exits with `code`; one that exits with 3 could not fetch."""

    def run(target: Target) -> None:
        target.run_step("fetch" if code == 3 else "tests", sys.executable, "-c", f"raise SystemExit({code})")

    return run


def run_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **exits: int) -> int:
    for name, code in exits.items():
        monkeypatch.setitem(targets.TARGETS, name, make_target(code))
    record = tmp_path / "driven.jsonl"
    record.touch()
    monkeypatch.setenv("RIGHTSEAT_DRIVEN", "")
    return targets.run_targets(list(exits), record)


def test_exit_codes_tell_what_happened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run_all(monkeypatch, tmp_path, one=0, two=0) == 0
    assert run_all(monkeypatch, tmp_path, one=3, two=0) == targets.COULD_NOT_INSTALL
    assert run_all(monkeypatch, tmp_path, one=3, two=1) == FAILED


def test_every_target_of_the_run_is_in_the_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(monkeypatch, tmp_path, one=1, two=0)
    summary = capsys.readouterr().out.split("== summary\n")[1].splitlines()
    assert [line.split(",")[0] for line in summary] == ["make one: RED (tests: exit 1)", "make two: green"]


def test_clients_and_models_are_tested_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each waits for the file that the other writes."""
    wait = (
        "import pathlib, sys, time; own, other = map(pathlib.Path, sys.argv[1:]); own.touch(); print(own.name)\n"
        "while not other.exists(): time.sleep(0.01)"
    )

    def make_waiting(own: str, other: str, more: str = "") -> Callable[[Target], None]:
        paths = (str(tmp_path / own), str(tmp_path / other))

        def run(target: Target) -> None:
            target.run_step("tests", sys.executable, "-c", wait + more, *paths)

        return run

    monkeypatch.setattr(targets, "install_all", lambda: None)
    monkeypatch.setattr(targets, "report_driven", lambda record, tested: [])
    monkeypatch.setitem(targets.TARGETS, "test-peers", make_waiting("of-peers", "of-model"))
    monkeypatch.setitem(targets.TARGETS, "test-model", make_waiting("of-model", "of-peers", "\nraise SystemExit(4)"))
    monkeypatch.setenv("RIGHTSEAT_DRIVEN", "")
    assert targets.run_targets(["test-peers", "test-model"], tmp_path / "driven.jsonl") == FAILED
    printed = capfd.readouterr().out
    assert printed.index("of-peers") < printed.index("== make test-model") < printed.index("of-model")
    verdicts = [line.split(",")[0] for line in printed.split("== summary\n")[1].splitlines()]
    assert verdicts == ["make test-peers: green", "make test-model: RED (tests: exit 4)"]


def test_what_runs_beside_the_peers_runs_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(targets, "install_all", lambda: None)
    for name in ("mutations", "test-peers", "test-model", "docs"):
        monkeypatch.setitem(targets.TARGETS, name, lambda target: target.print(f"ran {target.name}"))
    monkeypatch.setattr(targets, "report_driven", lambda record, tested: [])
    assert targets.run_targets(["mutations", "test-peers", "test-model", "docs"], tmp_path / "driven.jsonl") == 0
    printed = capsys.readouterr().out
    order = [line.removeprefix("ran ") for line in printed.splitlines() if line.startswith("ran ")]
    assert order == ["test-peers", "test-model", "mutations", "docs"]


def test_an_unknown_target_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert targets.main(["tset"]) == 2
    assert "test-peers" in capsys.readouterr().err


def test_fewer_driven_than_expected_is_red_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record, expected = tmp_path / "driven.jsonl", tmp_path / "expected.toml"
    lines = [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}, {"name": "c", "version": 3}]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    expected.write_text('names = ["a", "b"]', encoding="utf-8")
    monkeypatch.setattr(targets, "EXPECTED", expected)
    monkeypatch.setenv("CI", "true")
    assert targets.report_driven(record, tested=True) == ["b"]
    monkeypatch.delenv("CI")
    assert targets.report_driven(record, tested=True) == []
    printed = capsys.readouterr().out
    assert printed.count("driven: a 1 2, c 3") == 2
    assert printed.count("not driven though expected: b") == 2


@pytest.mark.demand("tests.test_test_peers_test")
@pytest.mark.parametrize("marks", list(itertools.product((False, True), repeat=4)))
def test_each_test_is_selected_by_one_target_or_is_a_drill(marks: tuple[bool, ...]) -> None:
    """A mark expression is a Python expression over the names of marks."""
    names = dict(zip(("peers", "long", "model", "drill"), marks, strict=True))
    chosen = [target for target, selected in MARK_EXPRESSIONS.items() if eval(selected, {}, names)]  # noqa: S307
    assert len(chosen) == (0 if names["drill"] else 1)


def test_make_eval_runs_the_drills() -> None:
    dry = subprocess.run(["make", "--dry-run", "eval"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "-m drill tests/faults" in dry


@pytest.mark.demand("tests.test_test_peers_test")
def test_the_makefile_and_the_program_have_the_same_targets() -> None:
    dry = subprocess.run(["make", "--dry-run", "test-all"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = next(line for line in dry.splitlines() if "targets.py" in line)
    assert line.split("targets.py ")[1].split() == list(targets.TARGETS)


def test_the_tests_are_compiled_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[tuple[str, ...]] = []
    for name in ("docs", "peers", "unit/doors", "unit/http"):
        (tmp_path / "tests" / name).mkdir(parents=True)
    monkeypatch.setattr(targets, "ROOT", tmp_path)
    monkeypatch.setattr(targets, "run_group", lambda command, output: commands.append(command))
    targets.compile_tests(Target("test"))
    assert len(commands) == 2
    assert all("--collect-only" in command for command in commands)
    compiled = [Path(word).name for command in commands for word in command if word.startswith(str(tmp_path))]
    assert sorted(compiled) == ["docs", "doors", "http"]
    assert "-- compile the tests: " in capsys.readouterr().out
    (tmp_path / "tests" / "__pycache__").mkdir()
    (tmp_path / "tests" / "__pycache__" / "conftest.cpython-311.pyc").touch()
    targets.compile_tests(Target("test"))
    assert len(commands) == 2


def test_the_two_parts_of_the_tests_are_about_equal() -> None:
    parts = targets.split_tests(ROOT / "tests")
    sizes = [sum(file.stat().st_size for folder in part for file in folder.rglob("*.py")) for part in parts]
    assert min(sizes) > 0.8 * max(sizes)
