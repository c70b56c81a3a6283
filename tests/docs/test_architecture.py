"""ARCHITECTURE.md names only files, functions and rooms that exist, and all exceptions made for speed."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
PACKAGE = ROOT / "src" / "rightseat"
TEXT = PAGE.read_text(encoding="utf-8")
# A line with this mark names what the next commits add.
UNFINISHED = "<!-- TODO-"
FAST = re.compile(r"type\(\w+\) is (?:not )?TextDelta|\b(?:DirectWriter|PushStream|\w+FastPath)\b")


def chapter(title: str) -> str:
    return TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a chapter's table, without its head."""
    lines = [line for line in chapter(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def finished(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if UNFINISHED not in line)


def quoted(text: str) -> list[str]:
    """Everything in backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def paths(text: str) -> list[str]:
    """Every path: in backticks with a slash or as a Python file, and as a Python file in a picture."""
    named = [span.partition(":")[0] for span in quoted(text)]
    spans = [span for span in named if re.fullmatch(r"[\w.][\w./-]*(?:/[\w./-]*|\.py|\.md)", span)]
    pictures = "\n".join(line for line in text.splitlines() if line.startswith("    "))
    return [*spans, *re.findall(r"[\w/]+/\w+\.py", pictures)]


def functions(text: str) -> list[tuple[str, str]]:
    """Every `file.py: name`."""
    return [(match[1], match[2]) for span in quoted(text) if (match := re.fullmatch(r"([\w./]+\.py): ([\w.]+)", span))]


@cache
def definitions(file: Path) -> frozenset[str]:
    """Names that a module defines: functions, classes, `Class.method` and constants."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        for target in [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", []):
            names.add(ast.unparse(target))
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
    return frozenset(names)


def layers() -> list[str]:
    """The import contract's rooms, top first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [contract] = [contract for contract in contracts if contract["type"] == "layers"]
    return [name.strip() for layer in contract["layers"] for name in layer.split("|")]


@pytest.mark.demand("engine.architecture_md_most_120")
def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) <= 150


def test_every_path_exists() -> None:
    named = paths(finished(TEXT))
    assert len(named) > 100
    assert [path for path in named if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_every_function_exists() -> None:
    named = functions(finished(TEXT))
    assert len(named) > 60
    assert [(file, name) for file, name in named if name not in definitions(PACKAGE / file)] == []


def test_the_rooms_are_those_of_the_import_contract() -> None:
    rooms = [quoted(row[0])[0] for row in rows("Rooms")]
    assert [room.rstrip("/").removesuffix(".py") for room in rooms] == layers()
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {room.rstrip("/") for room in rooms if room.endswith("/")} == folders


def test_the_glossary_has_fifteen_words_of_the_code() -> None:
    words = [row[0] for row in rows("Glossary")]
    assert len(set(words)) == len(words) == 15
    assert [row[0] for row in rows("Glossary") if not paths(row[1])] == []


def test_every_task_has_a_place() -> None:
    assert len(rows("Where do I …")) >= 10
    assert [row[0] for row in rows("Where do I …") if not quoted(row[1])] == []


def test_every_exception_made_for_speed_is_listed() -> None:
    """A file is listed by its path, or by a folder that it is in."""
    named = paths(chapter("Exceptions made for speed"))
    used = [
        file.relative_to(PACKAGE).as_posix()
        for file in sorted(PACKAGE.rglob("*.py"))
        if FAST.search(file.read_text(encoding="utf-8"))
    ]
    listed = [
        file for file in used if any(file == path or (path[-1] == "/" and file.startswith(path)) for path in named)
    ]
    assert used == listed


def test_every_folder_says_what_is_inside() -> None:
    """Nobody should have to open ten files: the docstring of a folder names each of its modules and folders."""
    missing = []
    for init in sorted(PACKAGE.rglob("__init__.py")):
        folder = init.parent
        if folder == PACKAGE or "demo" in folder.parts:
            continue
        names = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
        names |= {path.parent.name for path in folder.glob("*/__init__.py")}
        docstring = ast.get_docstring(ast.parse(init.read_text())) or ""
        missing += [f"{folder.name}: {name}" for name in names if not re.search(rf"\b{name}\b", docstring)]
    assert sorted(missing) == []
