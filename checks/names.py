"""Names of the package: classes defined twice, functions named by a participle, import cycles, the root listing."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from checks.files import ROOT

PACKAGE = ROOT / "src" / "rightseat"
MAX_ROOT_NAMES = 25
MAX_PARTICIPLES = 60
# One word that says what was done to a thing, and not what the function does.
PARTICIPLE = re.compile(
    r"_*(?:[a-z]+(?:ed|ing|wn|ght)|told|said|kept|held|made|given|found|taken|written|chosen|spoken|bound|sent|left|lost|"
    r"met|put|cut|set|split|spread|built|spent|meant|heard|begun|done|gone|run_out|hidden|forgotten|broken|frozen)"
)
# Words of Python and of the field that only look like one.
IDIOMS = frozenset(
    {"closing", "string", "padding", "encoding", "indexing", "feed", "embed", "set", "split", "put", "need"}
)


def read_trees(folder: Path) -> dict[str, ast.Module]:
    """Syntax trees of the modules below `folder`, by dotted name."""
    trees = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def find_repeated_classes(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Modules of each class name that is defined more than once."""
    modules: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(module)
    return {name: places for name, places in modules.items() if len(places) > 1}


def find_participles(trees: dict[str, ast.Module]) -> list[str]:
    """`module:function` of each function, method or property that is named by a bare participle."""
    return [
        f"{module}:{node.name}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and PARTICIPLE.fullmatch(node.name)
        and node.name.lstrip("_") not in IDIOMS
    ]


def list_imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Modules of the package that each module imports when it is loaded."""
    imports: dict[str, set[str]] = {}
    for module, tree in trees.items():
        targets = {name for node in iterate_top_level(tree.body) for name in imported_names(node)}
        imports[module] = {closest_module(name, trees) for name in targets} - {module, ""}
    return imports


def iterate_top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded, TYPE_CHECKING blocks left out."""
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from iterate_top_level([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from iterate_top_level([*node.body, *node.orelse, *node.finalbody])
        else:
            yield node


def imported_names(node: ast.stmt) -> list[str]:
    """Dotted names that an import statement loads; a module's attribute counts as one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def closest_module(name: str, trees: dict[str, ast.Module]) -> str:
    """The module that a dotted name lies in, or an empty text for another package's."""
    while name and name not in trees:
        name = name.rpartition(".")[0]
    return name


def find_cycles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in imports.get(module, ()):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            group = []
            while module not in group:
                group.append(stack.pop())
            if len(group) > 1:
                cycles.append(sorted(group))

    for module in imports:
        if module not in index:
            visit(module)
    return cycles


def find_problems(folder: Path) -> tuple[list[str], str]:
    """Sentences about wrong names, and a line of figures."""
    trees = read_trees(folder)
    root_names = [path.name for path in folder.iterdir() if path.name != "__pycache__"]
    repeated, participles = find_repeated_classes(trees), find_participles(trees)
    cycles = find_cycles(list_imports(trees))
    problems = [f"class {name} is defined in {', '.join(places)}" for name, places in repeated.items()]
    problems += [f"modules import each other: {', '.join(group)}" for group in cycles]
    if len(root_names) > MAX_ROOT_NAMES:
        problems.append(f"{len(root_names)} names in {folder.name}/, at most {MAX_ROOT_NAMES}")
    if len(participles) >= MAX_PARTICIPLES:
        problems.append(f"{len(participles)} functions named by a participle: {', '.join(participles)}")
    figures = (
        f"{len(trees)} modules, {len(root_names)} root names, {len(repeated)} repeated classes, "
        f"{len(participles)} participles, {len(cycles)} cycles"
    )
    return problems, figures


def main() -> int:
    problems, figures = find_problems(PACKAGE)
    print("\n".join(problems or [figures]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
