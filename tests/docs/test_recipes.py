"""docs/recipes has a page for each front end whose requests are tested, and its lines are those of the tests."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_docs import ROOT, find_blocks
from tests.kit.cases import each_case
from tests.unit.doors.openai.test_recipes import RECIPES

pytestmark = pytest.mark.demand("openai.recipes")

FOLDER = ROOT / "docs" / "recipes"
PAGES = {page.stem: page for page in FOLDER.glob("*.md") if page.stem != "index"}
BASE_URL = re.compile(r"http://(?:127\.0\.0\.1|host\.docker\.internal):7777/v1(?:/|/chat/completions)?")


def read(name: str) -> str:
    return PAGES[name].read_text("utf-8")


def parse_blocks(page: Path) -> list[Any]:
    parsers: dict[str, Any] = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads, "python": ast.parse}
    return [parse(block) for kind, parse in parsers.items() for block in find_blocks(page, kind)]


def test_each_page_has_requests_and_each_file_of_requests_a_page() -> None:
    assert sorted(PAGES) == sorted(RECIPES)
    assert len(PAGES) == 10
    index = (FOLDER / "index.md").read_text("utf-8")
    assert [name for name in PAGES if f"({name}.md)" not in index] == []


@each_case("name", sorted(PAGES))
def test_a_page_says_what_works_what_does_not_and_what_is_tested(name: str) -> None:
    text = read(name)
    assert [title for title in ("## Set it up", "## What works", "## Known limits") if title not in text] == []
    assert f"`tests/unit/doors/openai/recipes/{name}.json`" in text
    version = re.search(r"\d+\.\d+(\.\d+)?", str(RECIPES[name]["version"]))
    assert version
    assert version[0].removesuffix(".0") in text


@each_case("name", sorted(PAGES))
def test_the_lines_of_a_page_can_be_read_by_the_program(name: str) -> None:
    parse_blocks(PAGES[name])
    urls = re.findall(r"http://[\w.]+:7777[^\s`\"',)]*", read(name))
    assert urls
    assert [url for url in urls if not BASE_URL.fullmatch(url)] == []


@each_case("name", sorted(PAGES))
def test_a_page_names_the_settings_that_its_requests_need(name: str) -> None:
    configurations = [tomllib.loads(block) for block in find_blocks(PAGES[name], "toml")]
    named: dict[str, Any] = {}
    for configuration in configurations:
        named |= configuration.get("server", {})
    assert named == RECIPES[name]["server"]


def test_the_requests_of_copilot_cli_have_the_settings_that_its_page_ignores() -> None:
    [configuration] = [tomllib.loads(block) for block in find_blocks(PAGES["copilot-cli"], "toml")]
    body = RECIPES["copilot-cli"]["requests"][0]["body"]
    ignored = configuration["models"]["default"]["ignored_settings"]
    assert [name for name in ignored if name not in body] == []


def test_the_program_of_the_chainlit_page_sends_what_was_recorded() -> None:
    [code] = find_blocks(PAGES["chainlit"], "python")
    create = next(
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("completions.create")
    )
    sent = {keyword.arg for keyword in create.keywords} - {"extra_headers"}
    assert sent == set(RECIPES["chainlit"]["requests"][0]["body"])
    assert "X-Thread-Id" in RECIPES["chainlit"]["requests"][0]["headers"]
