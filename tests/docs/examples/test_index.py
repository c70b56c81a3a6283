"""examples/README.md has a row for each example; each has a short README of its own that names a real model."""

import re
from pathlib import Path

import pytest

from tests.kit.cases import each_case

EXAMPLES = Path(__file__).parents[3] / "examples"
TEXT = (EXAMPLES / "README.md").read_text("utf-8")
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir())
READMES = [folder / "README.md" for folder in FOLDERS if folder.name != "first-hour"]
pytestmark = pytest.mark.demand("release.examples")


def test_each_example_has_a_row() -> None:
    rows = re.findall(r"^\| \[([\w-]+)\]\(", TEXT, re.MULTILINE)
    assert sorted(rows) == [folder.name for folder in FOLDERS]
    assert len(READMES) == 5


@each_case("page", [EXAMPLES / "README.md", *READMES])
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


@each_case("page", READMES)
def test_a_readme_is_short_and_names_a_real_model(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(text.splitlines()) <= 30
    assert "openai:gpt-5-mini" in text
    assert re.search(r"without a key|small model|embedded model|No model", text)
