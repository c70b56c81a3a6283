from pathlib import Path

import pytest

from checks import caps
from checks.files import ROOT


def find_problems(root: Path, source: str, name: str = "src/rightseat/thing.py") -> list[str]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return list(caps.find_problems(path, root))


def make_function(lines: int) -> str:
    return "async def long() -> None:\n" + "    pass\n" * (lines - 1)


def make_try(caught: str, then: str = "pass") -> str:
    return f"def run() -> None:\n    try:\n        pass\n    except{caught}:\n        {then}\n"


@pytest.mark.demand("engine.check_ruff_mypy_strict")
def test_file_cap(tmp_path: Path) -> None:
    assert find_problems(tmp_path, "x = 1\n" * 600) == []
    assert find_problems(tmp_path, "x = 1\n" * 601) == ["src/rightseat/thing.py: 601 lines, the cap is 600"]


@pytest.mark.demand("engine.check_ruff_mypy_strict")
def test_function_cap(tmp_path: Path) -> None:
    assert find_problems(tmp_path, make_function(60)) == []
    assert "long has 61 lines" in find_problems(tmp_path, make_function(61))[0]


@pytest.mark.parametrize("caught", ["", " Exception", " (ValueError, Exception)", " builtins.BaseException as e"])
def test_broad_except_is_red_outside_the_boundaries(tmp_path: Path, caught: str) -> None:
    problems = find_problems(tmp_path, make_try(caught))
    assert len(problems) == 1
    assert "thing.py:4: broad except in rightseat.thing:run" in problems[0]


def test_narrow_except_and_boundary_are_fine(tmp_path: Path) -> None:
    assert find_problems(tmp_path, make_try(" ValueError")) == []
    assert (
        find_problems(tmp_path, make_try(" Exception").replace("run", "handle_line"), "src/rightseat/tools/child.py")
        == []
    )


def test_broad_except_in_a_method_is_named_by_its_class(tmp_path: Path) -> None:
    method = "class Box:\n" + "".join(f"    {line}\n" for line in make_try(" Exception").splitlines())
    assert "rightseat.thing:Box.run" in find_problems(tmp_path, method)[0]


def test_only_a_bare_raise_passes_the_error_on(tmp_path: Path) -> None:
    assert find_problems(tmp_path, make_try(" BaseException", "raise")) == []
    assert len(find_problems(tmp_path, make_try(" BaseException", "raise ValueError"))) == 1


def test_there_are_three_boundaries() -> None:
    assert len(caps.BOUNDARIES) == 3


def test_every_listed_boundary_is_held() -> None:
    assert list(caps.find_unused_boundaries((ROOT / "src").rglob("*.py"), ROOT)) == []


@pytest.mark.parametrize("listed", ["rightseat.thing:gone", "rightseat.gone:run", "rightseat.thing:calm"])
def test_a_listed_function_that_does_not_exist_or_catches_nothing_is_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    find_problems(tmp_path, make_try(" Exception") + "def calm() -> None:\n    pass\n")
    files = [tmp_path / "src/rightseat/thing.py"]
    monkeypatch.setattr(caps, "BOUNDARIES", {"a run": ("rightseat.thing:run",)})
    assert list(caps.find_unused_boundaries(files, tmp_path)) == []
    monkeypatch.setattr(caps, "BOUNDARIES", {"a run": ("rightseat.thing:run", listed)})
    (problem,) = caps.find_unused_boundaries(files, tmp_path)
    assert listed in problem


@pytest.mark.parametrize(
    "waiver", ["noqa", "noqa: C901", "noqa: E501, PLR0915", "ruff: noqa", "type: ignore", "mypy: ignore-errors"]
)
def test_waiver_is_red(tmp_path: Path, waiver: str) -> None:
    assert len(find_problems(tmp_path, f"x = 1  # {waiver}\n")) == 1


@pytest.mark.parametrize("waiver", ["noqa: BLE001", "type: ignore[arg-type]", "about noqaish things"])
def test_named_waiver_is_left_to_its_tool(tmp_path: Path, waiver: str) -> None:
    assert find_problems(tmp_path, f"x = 1  # {waiver}\n") == []


def test_waiver_inside_a_string_is_no_waiver(tmp_path: Path) -> None:
    assert find_problems(tmp_path, 'x = "# noqa"\n') == []
