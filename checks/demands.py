"""Every demand in tests/demands.toml is proven by a test that is marked with it, or says what is missing."""

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from checks.files import ROOT

KEYS = {"text", "missing"}


@dataclass(frozen=True)
class Mark:
    """One id in one `@pytest.mark.demand(…)`, and where it stands."""

    demand: str
    place: str


def read_demands(path: Path) -> dict[str, object]:
    """Demands of a file by `area.name`; raises TOMLDecodeError."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        f"{area}.{name}": demand
        for area, demands in document.items()
        for name, demand in (demands.items() if isinstance(demands, dict) else [("", demands)])
    }


def find_marks(folder: Path) -> Iterator[Mark]:
    """Marks on test functions, and on whole files by `pytestmark`, of all files below `folder`."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.demand" not in text:
            continue
        name = path.relative_to(folder.parent).as_posix()
        for node in ast.walk(ast.parse(text, filename=str(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    place = f"{name}:{decorator.lineno}"
                    for demand in marked_demands(decorator):
                        yield Mark(demand, place if node.name.lower().startswith("test") else f"{place} (no test)")
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                for mark in node.value.elts if isinstance(node.value, ast.List) else [node.value]:
                    for demand in marked_demands(mark):
                        yield Mark(demand, f"{name}:{mark.lineno}")


def marked_demands(decorator: ast.expr) -> list[str]:
    """Ids in a decorator, if it is `pytest.mark.demand(…)`."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.demand":
        return []
    return [
        arg.value if isinstance(arg, ast.Constant) and isinstance(arg.value, str) else "" for arg in decorator.args
    ] or [""]


def find_problems(demands: Mapping[str, object], marks: list[Mark]) -> Iterator[str]:
    """Sentences about demands without a proof and marks without a demand."""
    places: dict[str, list[str]] = defaultdict(list)
    for mark in marks:
        places[mark.demand].append(mark.place)
        if mark.demand not in demands:
            yield f"{mark.place}: no demand {mark.demand!r} in tests/demands.toml"
        elif mark.place.endswith("(no test)"):
            yield f"{mark.place}: the mark stands on something that is not a test"
    for name, demand in demands.items():
        table = demand if isinstance(demand, dict) else {"text": demand}
        for key in sorted(table.keys() - KEYS):
            yield f"{name}: unknown key {key!r}"
        for key in sorted(table.keys() & KEYS):
            sentence = table[key]
            if not isinstance(sentence, str) or not sentence.strip():
                yield f"{name}: {key} must be a sentence"
        if "text" not in table:
            yield f"{name}: no text"
        if not places[name] and "missing" not in table:
            yield f"{name}: no test is marked with it, and nothing says what is missing"


def count_demands(demands: Mapping[str, object], marks: list[Mark]) -> str:
    """How many demands are proven, proven in part, and missing."""
    marked = {mark.demand for mark in marks}
    partial = {name for name, demand in demands.items() if isinstance(demand, dict) and "missing" in demand}
    proven = len((demands.keys() & marked) - partial)
    part = len(partial & marked)
    return f"{len(demands)} demands: {proven} proven, {part} in part, {len(demands) - proven - part} missing"


def main() -> int:
    try:
        demands = read_demands(ROOT / "tests" / "demands.toml")
    except tomllib.TOMLDecodeError as error:
        print(f"tests/demands.toml: {error}")
        return 1
    marks = list(find_marks(ROOT / "tests"))
    problems = list(find_problems(demands, marks))
    print("\n".join(problems or [count_demands(demands, marks)]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
