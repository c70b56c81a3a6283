"""The promised names: the list is what the code has, and none goes away without a line in the changelog."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from checks import stable
from checks.files import ROOT
from tests.kit.cases import each_case

NAMES = ["command rightseat serve", "command rightseat serve --port", "key server.port", "python rightseat.Runtime"]
CHANGELOG = """# Changelog

## [Unreleased]

## [0.3.0]

### Added

- `Runtime` is here.

### Removed

- `[server] port`: a server has no port any more.

## [0.2.0]

### Removed

- `rightseat serve --port`
"""


@pytest.mark.demand("release.stable_names")
@pytest.mark.slow
def test_the_list_is_what_the_code_has() -> None:
    names = stable.list_names()
    assert stable.read_listing(stable.LISTING) == names, "run: make reference"
    for line in (
        "command rightseat serve --workers",
        "command rightseat store move",
        "entry-point-group rightseat.models",
        "environment RIGHTSEAT_MODEL",
        "error rate_limited",
        "event TextDelta.text",
        "flow-step choice",
        "key models.NAME(openai).base_url",
        "plugin-field auth token_url",
        "key server.port",
        "python rightseat.Runtime",
        "python rightseat.copilotkit.CopilotRuntime",
        "route POST /v1/chat/completions",
        "route GET /health",
    ):
        assert line in names
    assert not [line for line in names if line.startswith("route") and "/playground" in line]


@pytest.mark.demand("release.stable_names")
@each_case(
    ("gone", "unannounced"),
    [
        ("key server.port", []),
        # Only the newest section counts, and only what it says under Changed or Removed.
        ("command rightseat serve --port", ["command rightseat serve --port"]),
        ("python rightseat.Runtime", ["python rightseat.Runtime"]),
    ],
)
def test_a_name_that_is_gone_must_be_announced(gone: str, unannounced: list[str]) -> None:
    current = [name for name in NAMES if name != gone]
    assert stable.find_unannounced(NAMES, current, CHANGELOG) == unannounced


@each_case(
    ("line", "span", "announced"),
    [
        ("route GET /v1/models", "GET /v1/models", True),
        ("route GET /v1/models", "GET /v1/models/{model}", False),
        ("command rightseat serve --port", "--port", True),
        ("command rightseat serve --port", "--ports", False),
        ("event TextDelta.text", "TextDelta.text", True),
        ("key server.gather_ms", "[server] gather_ms", True),
        ("key server.ms", "[server] gather_ms", False),
        ("key store.url", "[live] url", False),
        ("key [[plugins]].path", "[[plugins]] path", True),
        ("key models.NAME(openai).base_url", "[models.NAME] base_url", True),
        ("command rightseat chat --model", "rightseat serve --model", False),
        ("command rightseat chat --model", "rightseat chat --model", True),
        ("command rightseat store move", "rightseat store move", True),
    ],
)
def test_a_line_names_the_whole_name(line: str, span: str, announced: bool) -> None:
    assert stable.is_announced(line, [span]) == announced


@pytest.mark.demand("release.stable_names")
def test_the_list_is_written_only_without_a_broken_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listing, changelog = tmp_path / "stable.txt", tmp_path / "CHANGELOG.md"
    monkeypatch.setattr(stable, "LISTING", listing)
    monkeypatch.setattr(stable, "CHANGELOG", changelog)
    monkeypatch.setattr(stable, "list_names", lambda: NAMES)
    changelog.write_text(CHANGELOG, encoding="utf-8")
    assert stable.main([]) == 1
    assert "make reference" in capsys.readouterr().out
    assert stable.main(["--write"]) == 0
    assert stable.main([]) == 0
    monkeypatch.setattr(stable, "list_names", lambda: NAMES[:3])
    for arguments in ([], ["--write"]):
        assert stable.main(arguments) == 1
        assert "python rightseat.Runtime" in capsys.readouterr().out
    assert stable.read_listing(listing) == NAMES
    changelog.write_text(CHANGELOG.replace("- `[server] port`", "- `Runtime`, `[server] port`"), encoding="utf-8")
    assert stable.main(["--write"]) == 0
    assert stable.read_listing(listing) == NAMES[:3]


@pytest.mark.demand("release.compatibility_page")
def test_the_page_names_what_the_list_has() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    groups = [line.split()[1] for line in stable.read_listing(stable.LISTING) if line.startswith("entry-point-group")]
    assert [
        group for group in groups if f"`{group.removeprefix('rightseat')}`" not in page.replace("`rightseat.", "`.")
    ] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if ":: 3." in name]
    assert f"Python {' and '.join(versions)}" in page
    for title in (
        "What is stable",
        "What may change at any time",
        "Versions and deprecations",
        "Upgrade and downgrade",
    ):
        assert f"\n## {title}\n" in page
