"""mkdocs.yml names every page of docs/, and its hooks make links work on the site; `make docs` builds it."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from checks import docs_site
from checks.docs_site import DOCS, PLAYGROUND, PROJECT, ROOT
from tests.kit.cases import each_case

SETTINGS: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
NAMED_PAGES = list(docs_site.list_pages(docs_site.expand_nav(SETTINGS["nav"])))


def render(uri: str, text: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
    return docs_site.on_page_markdown(text, page, None, None)


@pytest.mark.demand("house.docs_site")
def test_the_navigation_names_every_page_once_and_nothing_else() -> None:
    pages = sorted(page.relative_to(ROOT / DOCS).as_posix() for page in (ROOT / DOCS).rglob("*.md"))
    assert sorted(name for name in NAMED_PAGES if not name.startswith(PROJECT)) == pages


def test_the_project_pages_of_the_navigation_are_files_of_the_repository() -> None:
    named = [name for name in NAMED_PAGES if name.startswith(PROJECT)]
    assert f"{PROJECT}CHANGELOG.md" in named
    assert [name for name in named if not (ROOT / docs_site.to_repository(name)).is_file()] == []


@pytest.mark.demand("house.docs_site")
def test_warnings_are_errors_and_no_font_is_loaded() -> None:
    assert SETTINGS["strict"] is True
    assert SETTINGS["theme"]["font"] is False


@each_case(
    ("uri", "text", "rewritten"),
    [
        ("index.md", "[a](../ARCHITECTURE.md#rooms)", "[a](project/ARCHITECTURE.md#rooms)"),
        ("index.md", "[a](../llms.txt)", "[a](llms.txt)"),
        ("reference/cli.md", "[a](../config.md)", "[a](../config.md)"),
        ("project/README.md", "![a](docs/img/chart.png)", "![a](../img/chart.png)"),
        ("project/examples/openbb/README.md", "[a](../../docs/openbb.md)", "[a](../../../openbb.md)"),
        ("index.md", "[a](nowhere.md) [b](http://127.0.0.1/x.md)", "[a](nowhere.md) [b](http://127.0.0.1/x.md)"),
        ("errors.md", "<!-- Written. -->\n\n# Errors", "# Errors"),
    ],
)
def test_links_are_those_of_the_site(uri: str, text: str, rewritten: str) -> None:
    assert render(uri, text) == rewritten


def test_files_that_pages_link_to_are_on_the_site() -> None:
    outside = docs_site.find_outside(docs_site.to_repository(name) for name in NAMED_PAGES)
    assert {"ARCHITECTURE.md", "llms.txt", "examples/openbb/README.md"} <= set(outside)
    assert not [path for path in outside if path.startswith(DOCS)]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [("Who may call", "who-may-call"), ("local, FILE.gguf", "local-filegguf"), ("写流程", "写流程")],
)
def test_anchors_are_those_of_the_repository(heading: str, anchor: str) -> None:
    assert docs_site.slugify(heading, "-") == anchor


def test_the_colours_are_the_playgrounds() -> None:
    colours = docs_site.read_colours((PLAYGROUND / "tokens.css").read_text(encoding="utf-8"))
    light, dark = (set(re.findall(r"^  (--[\w-]+):", part, re.MULTILINE)) for part in colours.split("slate"))
    used = set(re.findall(r"var\((--[\w-]+)\)", (ROOT / DOCS / "site.css").read_text(encoding="utf-8")))
    assert used
    assert used <= light
    assert used <= dark


@pytest.mark.parametrize(
    "loaded", ['<script src="https://cdn.test/a.js">', "<link rel=stylesheet href=//fonts.test/a.css>"]
)
def test_a_page_that_loads_from_another_host_is_a_warning(loaded: str, caplog: pytest.LogCaptureFixture) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    docs_site.on_post_page('<a href="https://x.test/">', page, None)
    assert caplog.text == ""
    docs_site.on_post_page(loaded, page, None)
    assert "from another host" in caplog.text


def test_a_chinese_page_says_its_language() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="flows.zh.md"))
    assert docs_site.on_post_page('<html lang="en">', page, None) == '<html lang="zh">'
