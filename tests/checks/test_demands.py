from pathlib import Path

import pytest

from checks import demands
from checks.demands import Mark

TESTS = """
import pytest

class TestBox:
    @pytest.mark.demand("line.method")
    async def test_method(self): ...

@pytest.mark.io
@pytest.mark.demand("line.plain", "line.both")
def test_plain(): ...

@pytest.mark.demand("line.helper")
def helper(): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_x.py").write_text(TESTS, encoding="utf-8")
    return folder


def list_problems(toml: str, path: Path, *marked: str) -> list[str]:
    file = path / "demands.toml"
    file.write_text(toml, encoding="utf-8")
    return list(demands.find_problems(demands.read_demands(file), [Mark(name, "tests/test_x.py:1") for name in marked]))


@pytest.mark.demand("house.demands_as_markers")
def test_marks_are_found_on_functions_and_methods(folder: Path) -> None:
    marks = {mark.demand: mark.place for mark in demands.find_marks(folder)}
    assert marks.keys() == {"line.method", "line.plain", "line.both", "line.helper"}
    assert marks["line.plain"] == "tests/test_x.py:9"
    assert marks["line.helper"].endswith("(no test)")


MARK = 'pytest.mark.demand("line.file")'


@pytest.mark.parametrize("marks", [MARK, f"[pytest.mark.io, {MARK}]"])
def test_a_mark_of_a_whole_file_is_found(tmp_path: Path, marks: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_y.py").write_text(f"import pytest\npytestmark = {marks}\n", encoding="utf-8")
    assert [*demands.find_marks(tmp_path / "tests")] == [Mark("line.file", "tests/test_y.py:2")]


def test_a_marked_demand_is_proven(tmp_path: Path) -> None:
    assert list_problems('[line]\nplain = "A sentence."', tmp_path, "line.plain") == []


@pytest.mark.demand("engine.check_ruff_mypy_strict")
def test_a_mark_without_a_demand_is_red(tmp_path: Path) -> None:
    assert list_problems("", tmp_path, "line.gone") == [
        "tests/test_x.py:1: no demand 'line.gone' in tests/demands.toml"
    ]


def test_a_mark_on_a_helper_is_red(folder: Path) -> None:
    known = {"line.method": "a", "line.plain": "a", "line.both": "a", "line.helper": "a"}
    (problem,) = demands.find_problems(known, list(demands.find_marks(folder)))
    assert "not a test" in problem


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('[line]\nx = "a"', "no test is marked with it"),
        ('[line]\nx = { text = "a" }', "no test is marked with it"),
        ('[line]\nx = { missing = "b" }', "no text"),
        ('[line]\nx = { text = "a", missing = " " }', "missing must be a sentence"),
        ('[line]\nx = { text = "a", test = "x", missing = "b" }', "unknown key 'test'"),
    ],
)
def test_a_faulty_entry_is_red(tmp_path: Path, toml: str, fault: str) -> None:
    (problem,) = list_problems(toml, tmp_path)
    assert fault in problem


def test_a_demand_may_say_what_is_missing(tmp_path: Path) -> None:
    assert list_problems('[line]\nx = { text = "a", missing = "not yet" }', tmp_path) == []


def test_demands_are_counted() -> None:
    known = {"a.x": "a", "a.y": {"text": "a", "missing": "m"}, "a.z": {"text": "a", "missing": "m"}}
    marks = [Mark("a.x", ""), Mark("a.y", "")]
    assert demands.count_demands(known, marks) == "3 demands: 1 proven, 1 in part, 1 missing"
