from pathlib import Path

import pytest

from checks import demands

TESTS = """
class TestBox:
    async def test_method(self): ...

def test_plain(): ...

def helper(): ...
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def found(root: Path, toml: str) -> list[str]:
    path = root / "line.toml"
    path.write_text(toml, encoding="utf-8")
    return list(demands.problems(path, root))


@pytest.mark.parametrize(
    "test_id", ["test_plain", "test_plain[a::b-1]", "TestBox::test_method", "TestBox::test_method[x]"]
)
def test_living_test(root: Path, test_id: str) -> None:
    assert found(root, f'[[demand]]\ntext = "a"\ntests = ["tests/test_x.py::{test_id}"]') == []


@pytest.mark.parametrize(
    "test_id",
    [
        "tests/test_x.py::test_gone",
        "tests/test_y.py::test_plain",
        "tests/test_x.py::TestBox::test_plain",
        "tests/test_x.py::test_method",
        "tests/test_x.py::helper",
        "tests/test_x.py",
    ],
)
def test_dead_test(root: Path, test_id: str) -> None:
    problems = found(root, f'[[demand]]\ntext = "a"\ntests = ["{test_id}"]')
    assert problems == [f"line.toml: demand 1: no such test: {test_id}"]


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('[[demand]]\ntext = "a"', "neither tests nor missing"),
        ('[[demand]]\ntext = "a"\ntests = []', "neither tests nor missing"),
        ('[[demand]]\nmissing = "b"', "no text"),
        ('[[demand]]\ntext = "a"\nmissing = " "', "missing must be a sentence"),
        ('[[demand]]\ntext = "a"\ntest = ["x"]\nmissing = "b"', "unknown key 'test'"),
        ('[[demand]]\ntext = "a"\ntests = "x"', "must be a list"),
        ('[[demands]]\ntext = "a"', "unknown key 'demands'"),
        ("[[demand", "line.toml:"),
    ],
)
def test_faulty_entry(root: Path, toml: str, fault: str) -> None:
    problems = found(root, toml)
    assert len(problems) == 1
    assert fault in problems[0]


def test_empty_file_and_missing_reason_are_fine(root: Path) -> None:
    assert found(root, "") == []
    assert found(root, '[[demand]]\ntext = "a"\nmissing = "not yet"') == []


def test_counts(root: Path) -> None:
    path = root / "line.toml"
    entries = ('tests = ["t"]', 'tests = ["t"]\nmissing = "m"', 'missing = "m"')
    path.write_text("".join(f'[[demand]]\ntext = "a"\n{one}\n' for one in entries), encoding="utf-8")
    assert demands.counts([path]) == "3 demands: 1 proven, 1 in part, 1 missing"
