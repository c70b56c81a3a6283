import json
import sys
from pathlib import Path

import pytest

from checks import phases


def test_green_phase(capfd: pytest.CaptureFixture[str]) -> None:
    phase = phases.Phase("unit", 60)
    assert phase.step("say", sys.executable, "-c", "print('closing line')") == 0
    assert phase.close().endswith("of 60 s, green")
    assert "closing line" in capfd.readouterr().out


def test_failed_step_is_red() -> None:
    phase = phases.Phase("unit", 60)
    assert phase.step("tests", sys.executable, "-c", "raise SystemExit(2)") == 2
    assert phase.close().endswith("RED (tests: exit 2)")


def test_no_tests_at_all_is_red() -> None:
    phase = phases.Phase("unit", 60)
    phase.step("tests", sys.executable, "-c", "raise SystemExit(5)")
    assert phase.faults == ["tests: exit 5"]


def test_failed_install_is_told_from_a_failed_test() -> None:
    phase = phases.Phase("unit", 60)
    phase.step("install peers", sys.executable, "-c", "raise SystemExit(3)")
    phase.step("tests", sys.executable, "-c", "raise SystemExit(3)")
    assert phase.faults == ["install peers: could not install", "tests: exit 3"]


def test_over_budget_is_red() -> None:
    phase = phases.Phase("unit", 60)
    phase.started -= 61
    assert phase.close().endswith("RED (over budget)")


def test_hung_step_is_ended() -> None:
    phase = phases.Phase("unit", 60)
    phase.started -= 119.5
    assert phase.step("hang", sys.executable, "-c", "import time; time.sleep(50)") == 124


def test_fewer_driven_than_expected_is_named(tmp_path: Path) -> None:
    record, expected = tmp_path / "driven.jsonl", tmp_path / "expected.toml"
    lines = [{"name": "a", "version": "1"}, {"name": "a", "version": "2"}, {"name": "c", "version": 3}]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    expected.write_text('names = ["a", "b"]', encoding="utf-8")
    found = phases.driven(record)
    assert found == {"a": {"1", "2"}, "c": {"3"}}
    assert phases.undriven(found, expected) == ["b"]


def test_two_steps_at_the_same_time(capfd: pytest.CaptureFixture[str]) -> None:
    phase = phases.Phase("unit", 60)
    say = "import sys; print(sys.argv[1]); sys.exit(int(sys.argv[2]))"
    phase.beside(
        ("check", sys.executable, "-c", say, "one", "1"), ("tests", sys.executable, "-c", say, "two", "0")
    )
    assert phase.faults == ["check: exit 1"]
    said = capfd.readouterr().out
    # Each in one piece, and the other's words last.
    assert said.index("two") < said.index("one")
