"""Hooks of MkDocs for mkdocs.yml: the documentation site has every file that its pages link to.

A page of docs/ links to ARCHITECTURE.md or to an example as the repository has it. On the site such a file is
a page or a download below project/, and the links between the files are rewritten. Colours and icon are the
playground's. No page loads anything from another host.
"""

import logging
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# MkDocs counts what is logged below its own name: strict, a warning is an error.
LOG = logging.getLogger("mkdocs.hooks.docs_site")
DOCS = "docs/"
PROJECT = "project/"
LLMS = "llms.txt"
COLOURS = "colours.css"
ICON = "icon.svg"
PLAYGROUND = ROOT / "src" / "rightseat" / "server" / "playground" / "page"
LINK = re.compile(r"(?<=\]\()(?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?(?=\))")
LOADED_URL = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\s\"'>]+)")
NOTE_PATTERN = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)
COLOUR_BLOCK = re.compile(r'^:root(?P<dark>\[data-theme="dark"\])? \{\n(?P<lines>.*?)^\}', re.MULTILINE | re.DOTALL)


def to_site(path: str) -> str:
    """Return the source path on the site of a file of the repository."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return path if path == LLMS else PROJECT + path


def to_repository(uri: str) -> str:
    """Return the path in the repository of a source path on the site."""
    if uri.startswith(PROJECT):
        return uri.removeprefix(PROJECT)
    return uri if uri == LLMS else DOCS + uri


def find_links(path: str, text: str) -> Iterator[str]:
    """Return the files of the repository that `text`, the content of `path`, links to."""
    for link in LINK.finditer(text):
        target = resolve_link(path, link["path"])
        if (ROOT / target).is_file():
            yield target


def resolve_link(path: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def find_outside(pages: Iterable[str]) -> list[str]:
    """Return the files outside docs/ that `pages` link to, and those that these link to in turn."""
    waiting, targets = list(pages), set()
    while waiting:
        path = waiting.pop()
        for target in find_links(path, (ROOT / path).read_text(encoding="utf-8")):
            if not target.startswith(DOCS) and target not in targets:
                targets.add(target)
                waiting += [target] if target.endswith((".md", LLMS)) else []
    return sorted(targets)


def rewrite_links(path: str, text: str, address: Callable[[str], str]) -> str:
    """Return `text`, the content of `path`, with each link to a file replaced by its `address`."""

    def replace(link: re.Match[str]) -> str:
        target = resolve_link(path, link["path"])
        if not (ROOT / target).is_file():
            return link[0]
        return address(to_site(target)) + (link["anchor"] or "")

    return LINK.sub(replace, text)


def read_colours(style: str) -> str:
    """Return the colours of the playground's style sheet for the two schemes of the theme."""
    tokens = {bool(block["dark"]): block["lines"] for block in COLOUR_BLOCK.finditer(style)}
    return f':root {{\n{tokens[False]}}}\n[data-md-color-scheme="slate"] {{\n{tokens[True]}}}\n'


def expand_nav(nav: Any) -> Any:
    """Return the navigation with each `folder/*.md` replaced by the pages in that folder."""
    if isinstance(nav, dict):
        return {title: expand_nav(below) for title, below in nav.items()}
    if not isinstance(nav, list):
        return nav
    folder = ROOT / DOCS
    expanded: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and "*" in entry:
            expanded += [page.relative_to(folder).as_posix() for page in sorted(folder.glob(entry))]
        else:
            expanded.append(expand_nav(entry))
    return expanded


def list_pages(nav: Any) -> Iterator[str]:
    """Return the pages that a navigation names, in its order."""
    if isinstance(nav, str):
        yield nav
    for below in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from list_pages(below)


def slugify(heading: str, separator: str) -> str:
    """Return the anchor of a heading as the host of the repository makes it, so that links work in both."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    config.nav = expand_nav(config.nav)
    config.mdx_configs["toc"]["slugify"] = slugify
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the files outside docs/ and the colours to the site."""
    from mkdocs.structure.files import File, InclusionLevel  # type: ignore[import-not-found]

    named = [to_repository(page) for page in list_pages(config.nav)]
    for path in sorted({*find_outside(named), *(name for name in named if not name.startswith(DOCS))}):
        if path != LLMS:
            level = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, to_site(path), abs_src_path=str(ROOT / path), inclusion=level))
    files.append(File.generated(config, ICON, abs_src_path=str(PLAYGROUND / ICON)))
    colours = read_colours((PLAYGROUND / "tokens.css").read_text(encoding="utf-8"))
    files.append(File.generated(config, COLOURS, content=colours))
    # No page is made of it: its links must be addresses already.
    llms = rewrite_links(LLMS, (ROOT / LLMS).read_text(encoding="utf-8"), lambda uri: get_address(files, uri))
    files.append(File.generated(config, LLMS, content=llms))
    return files


def get_address(files: Any, uri: str) -> str:
    return str(files.get_file_from_path(uri).url)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite the links, and drop the note at the head of a written page: MkDocs would not find its title."""
    uri = page.file.src_uri
    markdown = NOTE_PATTERN.sub("", markdown)
    folder = posixpath.dirname(uri) or "."
    return rewrite_links(to_repository(uri), markdown, lambda target: posixpath.relpath(target, folder))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Warn of a page that loads something from another host, and name the language of a Chinese page."""
    if foreign := LOADED_URL.search(output):
        LOG.warning("%s: the page loads %s from another host", page.file.src_uri, foreign[1])
    return output.replace('lang="en"', 'lang="zh"', 1) if ".zh." in page.file.src_uri else output
