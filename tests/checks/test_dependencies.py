"""What src/ imports and what pyproject.toml declares are the same, and each difference is said in words."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from checks.dependencies import find_problems
from checks.files import ROOT

PROJECT = """
[project]
name = "pack"
dependencies = ["msgspec>=0.20"]
[project.optional-dependencies]
pages = ["pack[marks]", "Jinja2>=3"]
marks = ["markupsafe>=3"]
[tool.other]
"""
SOURCES = {
    "pack/__init__.py": "import json\nfrom msgspec import Struct\nfrom pack.pages import draw\n",
    "pack/pages/__init__.py": "import jinja2.sandbox\n",
    "pack/marks.py": "def mark():\n    from markupsafe import escape\n",
}
FAMILIES = {"pack/pages/": "pages"}


def find_problems_of(
    root: Path,
    project: str = PROJECT,
    unimported: Mapping[str, str] | None = None,
    families: Mapping[str, str] = FAMILIES,
    **sources: str,
) -> list[str]:
    """The problems of a small project, in which `sources` replace files of SOURCES by name."""
    (root / "pyproject.toml").write_text(project, encoding="utf-8")
    named = {f"pack/{name}.py": text for name, text in sources.items()}
    for name, text in (SOURCES | named).items():
        file = root / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return list(find_problems(root, families=families, unimported=unimported or {}))


def find_problems_if_replaced(root: Path, known: str, other: str) -> list[str]:
    """The problems of this project if `known` in its pyproject.toml were `other`."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert text.count(known) == 1
    (root / "pyproject.toml").write_text(text.replace(known, other), encoding="utf-8")
    (root / "src").symlink_to(ROOT / "src")
    return list(find_problems(root))


@pytest.mark.demand("tests.declared_dependencies_imported_ones")
@pytest.mark.long
def test_this_project_declares_what_it_imports() -> None:
    assert list(find_problems(ROOT)) == []


def test_declared_and_imported_is_fine(tmp_path: Path) -> None:
    assert find_problems_of(tmp_path) == []


@pytest.mark.long
def test_declared_here_and_never_imported_is_red(tmp_path: Path) -> None:
    (problem,) = find_problems_if_replaced(tmp_path, '    "uvicorn>=', '    "starlette>=1.0,<2",\n    "uvicorn>=')
    assert problem.startswith("starlette is declared in [project.dependencies], but nothing under src/")


@pytest.mark.long
def test_imported_here_and_not_declared_is_red(tmp_path: Path) -> None:
    (problem,) = find_problems_if_replaced(tmp_path, '    "yarl>=', '    # "yarl>=')
    assert problem.startswith("yarl is not declared, but imported by src/rightseat/")
    assert "other files" in problem


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import yaml", "pyyaml is not declared, but imported by src/pack/more.py:1"),
        ("def load():\n    import yaml", "pyyaml is not declared, but imported by src/pack/more.py:2"),
        ("from google import genai", "google-genai is not declared"),
        ("from opentelemetry.trace import Span", "opentelemetry-api is not declared"),
        ("import nobody_has_this", "no installed distribution provides nobody_has_this"),
        ("import jinja2", "jinja2 is declared in an extra only"),
        ("class Box:\n    import jinja2", "jinja2 is declared in an extra only"),
    ],
)
def test_what_is_imported_must_be_declared(tmp_path: Path, source: str, word: str) -> None:
    (problem,) = find_problems_of(tmp_path, more=source)
    assert word in problem


@pytest.mark.parametrize(
    "source",
    [
        "def draw():\n    import jinja2",
        "try:\n    import jinja2\nexcept ImportError:\n    jinja2 = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import yaml",
        "from pack import marks\nimport os.path",
    ],
)
def test_what_may_be_missing_and_what_only_types_need_is_fine(tmp_path: Path, source: str) -> None:
    assert find_problems_of(tmp_path, more=source) == []


def test_a_family_may_import_what_its_extra_declares_and_no_other(tmp_path: Path) -> None:
    families = {**FAMILIES, "pack/marks.py": "marks"}
    assert find_problems_of(tmp_path, families=families, marks="import markupsafe") == []
    # `pages` includes `marks`, but not the other way round.
    (problem,) = find_problems_of(tmp_path, families=families, marks="import markupsafe\nimport jinja2")
    assert "jinja2 is declared in an extra only" in problem


def test_an_extra_that_its_family_does_not_import_is_red(tmp_path: Path) -> None:
    (problem,) = find_problems_of(tmp_path, PROJECT.replace('"Jinja2>=3"', '"Jinja2>=3", "msgspec>=0.20"'))
    assert problem.startswith("msgspec is declared in the extra pages, but nothing under src/pack/pages/")


def test_what_is_used_without_an_import_is_listed_with_the_reason(tmp_path: Path) -> None:
    project = PROJECT.replace('"msgspec>=0.20"', '"msgspec>=0.20", "uvloop; sys_platform != \'win32\'"')
    (problem,) = find_problems_of(tmp_path, project)
    assert problem.startswith("uvloop is declared")
    assert find_problems_of(tmp_path, project, {"uvloop": "uvicorn takes it by name"}) == []


@pytest.mark.parametrize(
    ("unimported", "families", "word"),
    [
        ({"uvloop": "x"}, FAMILIES, "uvloop is listed in UNIMPORTED, but not declared"),
        ({"msgspec": "x"}, FAMILIES, "msgspec is listed in UNIMPORTED, but imported"),
        ({}, {**FAMILIES, "pack/gone/": "marks"}, "FAMILIES names src/pack/gone/, which does not exist"),
        ({}, {**FAMILIES, "pack/marks.py": "gone"}, "FAMILIES names the extra gone, which does not exist"),
    ],
)
def test_a_stale_line_of_the_tables_is_red(
    tmp_path: Path, unimported: dict[str, str], families: dict[str, str], word: str
) -> None:
    assert any(word in problem for problem in find_problems_of(tmp_path, unimported=unimported, families=families))
