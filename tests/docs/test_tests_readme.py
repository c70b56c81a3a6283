"""tests/README.md names only paths, tests, marks and targets that exist, and all folders and marks that there are."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT

PAGE = ROOT / "tests" / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")
# Names in quotes, and words of the commands, that begin with a folder of the repository.
PATH = re.compile(r"(?<![\w./])((?:tests|checks|src|evals|bench)/[\w./-]*\w)(?:::(\w+))?")
FOLDERS_WITHOUT_TESTS = {"__pycache__"}
pytestmark = pytest.mark.demand("release.tests_readme")


@cache
def list_tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def list_section(title: str) -> str:
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert section, title
    return section


def list_first_cells(title: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", list_section(title), re.MULTILINE)


def test_every_path_and_test_exists() -> None:
    named = PATH.findall(TEXT)
    assert len(named) > 40
    assert [path for path, _ in named if not (ROOT / path).exists()] == []
    assert [f"{path}::{test}" for path, test in named if test and test not in list_tests(path)] == []


def test_every_folder_is_told() -> None:
    folders = {f"tests/{folder.name}" for folder in (ROOT / "tests").iterdir() if folder.is_dir()}
    assert set(list_first_cells("What is where")) == {
        name for name in folders if Path(name).name not in FOLDERS_WITHOUT_TESTS
    }


def test_every_mark_is_told() -> None:
    marks = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["markers"]
    assert list_first_cells("Marks") == [re.split(r"[:(]", mark)[0] for mark in marks]


def test_every_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)", TEXT))
    assert len(targets) > 8
    known = {name for line in re.findall(r"^([a-z -]+):", makefile, re.MULTILINE) for name in line.split()}
    assert targets - known == set()


def test_ten_tests_are_named() -> None:
    named = re.findall(r"^(\d+)\. `tests/[\w/]+\.py::\w+`: ", list_section("The ten to read first"), re.MULTILINE)
    assert [int(number) for number in named] == list(range(1, 11))


def test_each_contract_family_has_its_members_named() -> None:
    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests" / "contract").glob("*/members.py")}
    assert {file for file in files if f"`{file}`" not in TEXT} == set()


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
    assert "(tests/README.md)" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
