"""No two places in the models and agents share more than eight lines of code.

Compared are stripped lines without blanks, comments, docstrings, imports and signatures.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from checks.files import ROOT, list_python_files

FOLDERS = ("src/rightseat/models", "src/rightseat/agents")
SHARED_LINES = 8


class Line(NamedTuple):
    number: int
    text: str


class Duplicate(NamedTuple):
    """A run of `length` equal lines, at two places."""

    first: tuple[str, int]
    second: tuple[str, int]
    length: int

    def __str__(self) -> str:
        return "{}:{} and {}:{} share {} lines".format(*self.first, *self.second, self.length)


def code_lines(source: str) -> list[Line]:
    """Return the lines of a file that are compared."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        left_out.update(uncompared_lines(node))
    lines = (Line(number, text.strip()) for number, text in enumerate(source.splitlines(), 1))
    return [line for line in lines if line.text and line.text[0] != "#" and line.number not in left_out]


def uncompared_lines(node: ast.AST) -> range:
    """Return the line numbers of an import, a signature or a docstring; of other nodes none."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return range(node.lineno, max(node.body[0].lineno, node.lineno + 1))
        case _:
            return range(0)


def find_duplicates(files: Mapping[str, Sequence[Line]], shared: int = SHARED_LINES) -> Iterator[Duplicate]:
    """Yield each longest run of more than `shared` lines that two places have in common."""
    places: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, lines in files.items():
        for start in range(len(lines) - shared):
            places[tuple(line.text for line in lines[start : start + shared + 1])].append((name, start))
    for found in places.values():
        for index, first in enumerate(found):
            for second in found[index + 1 :]:
                if length := measure_run(files, first, second):
                    yield Duplicate(locate(files, first), locate(files, second), length)


def measure_run(files: Mapping[str, Sequence[Line]], first: tuple[str, int], second: tuple[str, int]) -> int:
    """Return the length of the run that starts at both places; 0 if it starts earlier or overlaps itself."""
    (name, start), (other, begin) = first, second
    here, there = files[name], files[other]
    if start and begin and here[start - 1].text == there[begin - 1].text:
        return 0
    length = 0
    while start + length < len(here) and begin + length < len(there):
        if here[start + length].text != there[begin + length].text:
            break
        length += 1
    return 0 if name == other and begin < start + length else length


def locate(files: Mapping[str, Sequence[Line]], place: tuple[str, int]) -> tuple[str, int]:
    name, start = place
    return name, files[name][start].number


def read_lines(root: Path) -> dict[str, list[Line]]:
    names = {path.relative_to(root).as_posix(): path for path in list_python_files(root)}
    return {name: code_lines(path.read_text("utf-8")) for name, path in names.items() if name.startswith(FOLDERS)}


def main() -> int:
    files = read_lines(ROOT)
    found = [str(one) for one in find_duplicates(files)]
    print("\n".join([*found, f"{len(files)} files, {len(found)} runs of more than {SHARED_LINES} equal lines"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
