"""Data stays data: no code makes code or objects of what a model, a client or a store says (rows 3, 5 and 22)."""

import ast
from pathlib import Path

from rightseat.tools.text_calls.reader import unquote_arguments
from tests.kit.cases import each_case

SOURCE = Path(__file__).parents[2] / "src" / "rightseat"
CALLS = {"eval", "exec", "compile", "__import__", "literal_eval", "safe_eval"}
# Values of a plugin's file, read from its syntax tree: a tree of literals has no calls.
LITERALS = {
    "plugins/python/describe.py": ["literal_eval()"],
    # What the model writes, in the confined child that is made for it.
    "tools/builtin/code_interpreter.py": ["compile()", "compile()"],
}
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "langchain_core.load", "langchain.load"}


def find_evaluations(source: str) -> list[str]:
    """Find calls that evaluate a text and imports of modules that make objects of bytes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                found.append(f"{name}()")
            case ast.Call(func=ast.Attribute(attr="literal_eval")):
                found.append("literal_eval()")
            case ast.Import(names=names):
                found += [f"import {alias.name}" for alias in names if alias.name in MODULES]
            case ast.ImportFrom(module=module) if module in MODULES:
                found.append(f"from {module}")
    return found


def test_nothing_is_evaluated() -> None:
    files = list(SOURCE.rglob("*.py"))
    assert len(files) > 300
    evaluations = {file.relative_to(SOURCE).as_posix(): find_evaluations(file.read_text("utf-8")) for file in files}
    assert {name: lines for name, lines in evaluations.items() if lines} == LITERALS


@each_case(
    "source",
    [
        "eval(text)",
        "import ast\nast.literal_eval(text)",
        "from pickle import loads",
        "import marshal",
        "from langchain_core.load import load",
        "def f():\n    exec(compile(text, '', 'exec'))",
    ],
)
def test_an_evaluation_is_found(source: str) -> None:
    assert find_evaluations(source)


def test_an_expression_of_a_model_stays_text() -> None:
    text = '"a" + __import__("os").name'
    assert unquote_arguments(text) == text
