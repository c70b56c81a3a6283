"""examples/README.md has a row for each example; each has a short README of its own that names a real model."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.lines import list_lines
from tests.kit.cases import each_case
from tests.kit.server import find_executable
from tests.kit.timeouts import HANG_TIMEOUT

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


@pytest.mark.io
def test_the_line_for_a_clone_makes_the_command_known_in_every_folder(tmp_path: Path) -> None:
    [line] = list_lines([EXAMPLES / "README.md"])
    command = tmp_path / ".venv" / "bin" / "rightseat"
    command.parent.mkdir(parents=True)
    command.symlink_to(find_executable())
    (tmp_path / "examples").mkdir()
    script = f"{line.text}\ncd examples && command -v rightseat && rightseat --version"
    bash = ["bash", "-ec", script]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(bash, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(command)


def test_the_index_names_the_example_that_needs_a_key() -> None:
    keyed = [page for page in EXAMPLES.glob("*/*/rightseat.toml") if '"openai:' in page.read_text("utf-8")]
    assert [page.parent.relative_to(EXAMPLES).as_posix() for page in keyed] == ["openbb/plain"]
    assert "only `openbb/plain` needs a vendor's key" in TEXT
