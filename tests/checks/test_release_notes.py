"""The notes of a release: only for the tag of its version, and only what CHANGELOG.md says of it."""

from pathlib import Path

import pytest

from checks import release_notes

CHANGELOG = """# Changelog

## [Unreleased]

- Later.

## [1.2.0] - 2026-11-17

### Added

- A thing.

## [1.1.0]

- Before.
"""
pytestmark = pytest.mark.demand("release.notes")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "rightseat").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n', encoding="utf-8")
    (tmp_path / "src" / "rightseat" / "__init__.py").write_text('"""A."""\n__version__ = "1.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def test_the_notes_are_the_section_of_the_version(project: Path) -> None:
    out = project / "out" / "notes.md"
    assert release_notes.main(["v1.2.0", "--out", str(out)], project) == 0
    assert out.read_text(encoding="utf-8") == "### Added\n\n- A thing.\n"


def test_another_tag_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main(["v1.3.0", "--out", str(project / "notes.md")], project) == 1
    assert "tag the commit as v1.2.0" in capsys.readouterr().err
    assert not (project / "notes.md").exists()


def test_two_versions_are_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src" / "rightseat" / "__init__.py").write_text('__version__ = "1.1.0"\n', encoding="utf-8")
    assert release_notes.main(["v1.2.0", "--out", str(project / "notes.md")], project) == 1
    assert "pyproject.toml says 1.2.0, rightseat.__version__ 1.1.0" in capsys.readouterr().err


def test_a_version_without_a_section_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n- All.\n", encoding="utf-8")
    assert release_notes.main(["v1.2.0", "--out", str(project / "notes.md")], project) == 1
    assert "no section [1.2.0]" in capsys.readouterr().err
