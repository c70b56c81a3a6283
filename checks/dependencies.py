"""Every distribution that src/ imports is declared in pyproject.toml, and every declared one is used."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from checks.files import ROOT

# Declared, and used although nothing under src/ imports it.
UNIMPORTED = {
    "pywhispercpp": "models/whisper/recognise.py loads it by name, in a child process",
    "pypdfium2": "documents/pdf.py loads it by name, in a child process",
    "uvloop": "uvicorn takes it for its event loop where it is installed",
    "xllamacpp": "models/llamacpp/child.py loads it by name, in a child process",
}
# Code below src/ that is only loaded where an extra is installed: it may import what the extra declares.
FAMILIES = {
    "rightseat/mcp/": "mcp",
    "rightseat/models/langchain/": "langchain",
    "rightseat/plugins/sql/drivers/duckdb.py": "duckdb",
    "rightseat/plugins/sql/drivers/mysql.py": "mysql",
    "rightseat/plugins/sql/drivers/postgres.py": "postgres",
    "rightseat/live/postgres.py": "cluster",
    "rightseat/live/valkey_server.py": "cluster",
    "rightseat/stores/postgres/": "cluster",
}
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^]]*)\])?")
MISSING = {"ImportError", "ModuleNotFoundError"}


class Import(NamedTuple):
    module: str
    """Its dotted name: what `from a import b` imports is `a.b`."""
    file: str
    """Below src/."""
    line: int
    certain: bool
    """Whether its file always imports it: in no function, and with nobody to catch an ImportError."""


class Declarations(NamedTuple):
    """Names of distributions, as `canonical` writes them."""

    main: frozenset[str]
    extras: Mapping[str, frozenset[str]]
    """Extra → what it names itself."""
    resolved_extras: Mapping[str, frozenset[str]]
    """Extra → what it names, and what the extras of this project that it names do."""

    @property
    def all(self) -> frozenset[str]:
        return self.main.union(*self.extras.values())


def find_problems(
    root: Path, *, families: Mapping[str, str] = FAMILIES, unimported: Mapping[str, str] = UNIMPORTED
) -> Iterator[str]:
    """One sentence for each difference between what `root`/pyproject.toml declares and `root`/src imports."""
    declared = read_declared(root)
    used: dict[str, list[Import]] = {}
    for one in read_imports(root / "src"):
        names = find_distributions(one.module)
        if not names:
            module = one.module.partition(".")[0]
            yield f"no installed distribution provides {module}, imported by {format_place(one)}"
        # Where several have the same module, one that is declared will do.
        for name in names & declared.all or names:
            used.setdefault(name, []).append(one)
    for name, uses in sorted(used.items()):
        yield from find_undeclared(name, uses, declared, families)
    yield from find_unused(declared, used, families, unimported)
    yield from find_stale(root, declared, used, families, unimported)


def find_undeclared(
    name: str, uses: list[Import], declared: Declarations, families: Mapping[str, str]
) -> Iterator[str]:
    if name not in declared.all:
        yield f"{name} is not declared, but imported by {format_places(uses)}: add it to pyproject.toml"
        return
    outside = [
        one
        for one in uses
        if one.certain
        and name not in declared.main | declared.resolved_extras.get(get_extra(one, families), frozenset())
    ]
    if outside:
        yield (
            f"{name} is declared in an extra only, but always imported by {format_places(outside)}: "
            "move it to [project.dependencies], or import it in the function that needs it"
        )


def find_unused(
    declared: Declarations, used: Mapping[str, list[Import]], families: Mapping[str, str], unimported: Mapping[str, str]
) -> Iterator[str]:
    advice = "imports it: delete it, or add to UNIMPORTED in checks/dependencies.py what uses it"
    for name in sorted(declared.main - used.keys() - unimported.keys()):
        yield f"{name} is declared in [project.dependencies], but nothing under src/ {advice}"
    for extra, names in declared.extras.items():
        folders = [folder for folder, of in families.items() if of == extra] or [""]
        for name in sorted(names - unimported.keys()):
            if not any(one.file.startswith(tuple(folders)) for one in used.get(name, ())):
                where = " or ".join(f"src/{folder}" for folder in folders)
                yield f"{name} is declared in the extra {extra}, but nothing under {where} {advice}"


def find_stale(
    root: Path,
    declared: Declarations,
    used: Mapping[str, list[Import]],
    families: Mapping[str, str],
    unimported: Mapping[str, str],
) -> Iterator[str]:
    for name in unimported:
        if name not in declared.all:
            yield f"{name} is listed in UNIMPORTED, but not declared: delete it there"
        elif name in used:
            yield f"{name} is listed in UNIMPORTED, but imported by {format_places(used[name])}: delete it there"
    for folder, extra in families.items():
        if not (root / "src" / folder).exists():
            yield f"FAMILIES names src/{folder}, which does not exist"
        if extra not in declared.extras:
            yield f"FAMILIES names the extra {extra}, which does not exist"


def get_extra(one: Import, families: Mapping[str, str]) -> str:
    """The extra that the file of an import needs, or nothing."""
    return next((extra for folder, extra in families.items() if one.file.startswith(folder)), "")


def format_place(one: Import) -> str:
    return f"src/{one.file}:{one.line}"


def format_places(uses: list[Import]) -> str:
    files = len({one.file for one in uses}) - 1
    more = f" and {files} other files" if files > 1 else " and another file" if files else ""
    return format_place(min(uses, key=format_place)) + more


def read_declared(root: Path) -> Declarations:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = canonicalize_name(project["name"])
    main = {name for name, _ in parse_requirements(project["dependencies"])}
    extras: dict[str, frozenset[str]] = {}
    included: dict[str, set[str]] = {}
    for extra, lines in project.get("optional-dependencies", {}).items():
        named = list(parse_requirements(lines))
        extras[extra] = frozenset(name for name, _ in named if name != own)
        included[extra] = {one for name, inner in named if name == own for one in inner}
    whole = {extra: frozenset().union(*(extras[one] for one in resolve_extras(extra, included))) for extra in extras}
    return Declarations(frozenset(main), extras, whole)


def resolve_extras(extra: str, included: Mapping[str, set[str]]) -> set[str]:
    """The extra itself and all that it includes, however far."""
    extras: set[str] = set()
    waiting = [extra]
    while waiting:
        one = waiting.pop()
        if one not in extras:
            extras.add(one)
            waiting += included.get(one, ())
    return extras


def parse_requirements(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The name in each line, and the extras in its brackets."""
    for line in lines:
        match = REQUIREMENT.match(line)
        if match is None:
            raise ValueError(f"pyproject.toml: {line!r} names no distribution")
        yield canonicalize_name(match["name"]), [one.strip() for one in (match["extras"] or "").split(",") if one]


def canonicalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_imports(source: Path) -> Iterator[Import]:
    """Every import of a module that is neither Python's own nor one of `source`."""
    own = {path.stem for path in source.iterdir()}
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=file)
        for module, line, certain in find_imports(tree):
            if module.partition(".")[0] not in own | sys.stdlib_module_names:
                yield Import(module, file, line, certain)


def find_imports(node: ast.AST, certain: bool = True) -> Iterator[tuple[str, int, bool]]:
    """Module, line and whether it is certain, for each import; those for types alone are left out."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, node.lineno, certain) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((f"{node.module}.{alias.name}", node.lineno, certain) for alias in node.names)
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        children = node.orelse
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or catches_import_error(node):
        certain = False
    for child in children:
        # No expression holds an import.
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from find_imports(child, certain)


def catches_import_error(node: ast.AST) -> bool:
    """Whether it is a `try` that goes on where a module is missing."""
    if not isinstance(node, ast.Try):
        return False
    caught = (ast.walk(handler.type) for handler in node.handlers if handler.type)
    return any(isinstance(name, ast.Name) and name.id in MISSING for names in caught for name in names)


@cache
def map_modules() -> dict[str, set[str]]:
    """Top-level module → the installed distributions that have it."""
    return {name: {canonicalize_name(one) for one in those} for name, those in packages_distributions().items()}


def find_distributions(module: str) -> set[str]:
    """The installed distributions that a module is from: one, unless several share the whole of its name."""
    parts = module.split(".")
    distributions = map_modules().get(parts[0], set())
    for size in range(len(parts), 1, -1) if len(distributions) > 1 else ():
        if having := {name for name in distributions if "/".join(parts[:size]) in list_modules(name)}:
            return having
    return distributions


@cache
def list_modules(name: str) -> frozenset[str]:
    """The modules and packages of a distribution as paths without a suffix."""
    files = [PurePosixPath(file.as_posix()) for file in distribution(name).files or ()]
    modules = {str(file.with_suffix("")) for file in files if file.suffix in {".py", ".so", ".pyd"}}
    return frozenset(modules | {str(folder) for file in files for folder in file.parents})


def main() -> int:
    differences = list(find_problems(ROOT))
    count = len(read_declared(ROOT).all)
    print("\n".join(differences or [f"{count} distributions declared, each used, and no other imported"]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
