"""Size caps without exemptions, and broad excepts only where an unknown error must be met."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from checks.files import ROOT, list_python_files

FILE_LINES = 600
FUNCTION_LINES = 60

# The three boundaries behind which the code is not ours, as "module:function" (shell patterns allowed).
# One boundary may be held in several processes or threads, but there is no fourth.
BOUNDARIES: dict[str, tuple[str, ...]] = {
    "a run": (
        "rightseat.runtime.runs:RunSupervisor.run",
        "rightseat.runtime.threads:ThreadRuns.record_run",  # its events in the log of a thread
        "rightseat.runtime.threads:ActiveRun.append_end",  # its end there
        "rightseat.http.reply:send_reply",  # its events on the wire
        "rightseat.server.app:App.__call__",  # a request before its reply begins
    ),
    "a tool call": (
        "rightseat.engine.tool_calls:ToolCallBatch.run_call",
        "rightseat.plugins.flows.run:stream_attempt",  # a step of a flow, called as a tool is
        "rightseat.tools.child:handle_line",  # its far side, in the child process
        "rightseat.tools.function:ToolThreadRunner.run.target",  # its far side, in a thread
        "rightseat.types.json_values:encode_json",  # its values, whose classes are the tool's own
    ),
    "the load of a plugin": ("rightseat.config.imports:_import_module",),
}

SIZE_RULES = re.compile(r"\b(C9|PLR09)\d*", re.IGNORECASE)
WAIVER = re.compile(r"#\s*(?:ruff:\s*|flake8:\s*)?noqa\b(?P<codes>\s*:\s*[A-Z0-9, ]+)?", re.IGNORECASE)
FILE_WAIVER = re.compile(r"#\s*(ruff|flake8|mypy):\s*(noqa|ignore|disable)", re.IGNORECASE)
BARE_TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore(?!\[)")

WAIVER_HINT = re.compile(r"noqa|type:\s*ignore|(ruff|flake8|mypy):", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_problems(path: Path, root: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    where = path.relative_to(root).as_posix()
    lines = len(source.splitlines())
    if lines > FILE_LINES:
        yield f"{where}: {lines} lines, the cap is {FILE_LINES}"
    tree = ast.parse(source, filename=where)
    for function in ast.walk(tree):
        if isinstance(function, Function):
            yield from check_length(function, where)
    # Most files catch nothing and waive nothing: they are not looked through for it.
    for line, owner in find_broad_excepts(tree) if "except" in source else ():
        place = f"{get_module_name(path, root)}:{owner}"
        if not any(fnmatchcase(place, allowed) for held in BOUNDARIES.values() for allowed in held):
            yield f"{where}:{line}: broad except in {place}, which is not one of the three boundaries"
    for line, comment in list_comments(source) if WAIVER_HINT.search(source) else ():
        yield from (f"{where}:{line}: {fault}" for fault in find_waivers(comment))


def find_unused_boundaries(files: Iterable[Path], root: Path) -> Iterator[str]:
    """One sentence for each place in BOUNDARIES that no function with a broad except in `files` matches."""
    listed = {place for places in BOUNDARIES.values() for place in places}
    modules = {place.partition(":")[0] for place in listed}
    caught: set[str] = set()
    for path in files:
        name = get_module_name(path, root)
        if any(fnmatchcase(name, module) for module in modules):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            caught |= {f"{name}:{owner}" for _, owner in find_broad_excepts(tree)}
    for place in sorted(listed):
        if not any(fnmatchcase(one, place) for one in caught):
            yield f"checks/caps.py: {place} is listed in BOUNDARIES, but no such function catches everything"


def check_length(function: Function, where: str) -> Iterator[str]:
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if length > FUNCTION_LINES:
        yield f"{where}:{function.lineno}: {function.name} has {length} lines, the cap is {FUNCTION_LINES}"


def find_broad_excepts(tree: ast.AST, owner: str = "<module>") -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type) and not is_reraising(node):
            yield node.lineno, owner
        if isinstance(node, Function | ast.ClassDef):
            inner = node.name if owner == "<module>" else f"{owner}.{node.name}"
            yield from find_broad_excepts(node, inner)
        else:
            yield from find_broad_excepts(node, owner)


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(is_broad(one) for one in caught.elts)
    name = caught.attr if isinstance(caught, ast.Attribute) else getattr(caught, "id", None)
    return caught is None or name in {"Exception", "BaseException"}


def is_reraising(handler: ast.ExceptHandler) -> bool:
    """Whether it only tidies up: a handler that ends in a bare `raise` hides nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def list_comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def find_waivers(comment: str) -> Iterator[str]:
    if FILE_WAIVER.search(comment):
        yield "a waiver for a whole file"
    elif waiver := WAIVER.search(comment):
        if not waiver["codes"]:
            yield "a waiver without the rule's code"
        elif SIZE_RULES.search(waiver["codes"]):
            yield "size and complexity rules have no waivers"
    if BARE_TYPE_IGNORE.search(comment):
        yield "type: ignore without an error code"


def get_module_name(path: Path, root: Path) -> str:
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[0] == "src":
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main(names: list[str]) -> int:
    """Check the named files, or all files and whether each boundary exists."""
    files = [ROOT / name for name in names] or list_python_files(ROOT)
    findings = [problem for path in files for problem in find_problems(path, ROOT)]
    findings += [] if names else find_unused_boundaries(files, ROOT)
    print("\n".join([*findings, f"{len(files)} files, {len(findings)} problems"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
