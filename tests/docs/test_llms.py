"""llms.txt has the form of llmstxt.org, and leads to every page."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_docs import PAGES, ROOT

TEXT = (ROOT / "llms.txt").read_text(encoding="utf-8")
# A page per error would bury the others: docs/errors.md leads to those.
ERROR_PAGES = ROOT / "docs" / "errors"
LISTED_PAGES = [page for page in PAGES if not page.is_relative_to(ERROR_PAGES)]
LINK = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\)(?:: (.+))?$", re.MULTILINE)


@pytest.mark.demand("doctor.llms_txt_llmstxt_org")
def test_a_title_then_a_summary_then_sections_of_links() -> None:
    lines = TEXT.splitlines()
    assert lines[0] == "# rightseat"
    assert [line for line in lines if line.startswith("# ")] == ["# rightseat"]
    assert next(line for line in lines[1:] if line).startswith("> ")
    sections = re.split(r"^## .+$", TEXT, flags=re.MULTILINE)[1:]
    assert sections
    for section in sections:
        entries = [line for line in section.splitlines() if line.strip()]
        assert entries
        assert [line for line in entries if not LINK.fullmatch(line)] == []


@pytest.mark.demand("doctor.llms_txt_llmstxt_org")
def test_its_links_lead_somewhere() -> None:
    assert [path for _, path, _ in LINK.findall(TEXT) if not (ROOT / path).is_file()] == []


@pytest.mark.demand("doctor.llms_txt_llmstxt_org")
def test_every_page_is_in_it_and_says_what_it_is() -> None:
    told = {path: note for _, path, note in LINK.findall(TEXT)}
    pages = {page.relative_to(ROOT).as_posix() for page in LISTED_PAGES} - {"README.md", "docs/index.md"}
    assert pages - told.keys() == set()
    assert all(told.values())


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in LISTED_PAGES if page.is_relative_to(ROOT / "docs")}
    assert {page for page in pages - {"index.md"} if f"({page})" not in index} == set()


def test_every_errors_page_is_in_the_page_of_errors() -> None:
    overview = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    pages = {page.name for page in ERROR_PAGES.glob("*.md")}
    assert len(pages) > 40
    assert {name for name in pages if f"(errors/{name})" not in overview} == set()
