"""Clients in the table of docs/openai.md are made as the programs in tests/peers make them, which are run."""

import ast
import re
from pathlib import Path

import pytest

from tests.kit.cases import each_case

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs" / "openai.md").read_text("utf-8").partition("## Tried clients\n")[2].partition("\n## ")[0]
CODE = re.findall(r"`((?:[\w.]+\(.*?\)))`(?=[ ,|])", SECTION)
PROGRAMS = [path for suffix in ("py", "mjs") for path in (ROOT / "tests" / "peers").glob(f"*/library*.{suffix}")]


def list_calls(code: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]


def list_arguments(call: ast.Call) -> set[str]:
    """The arguments as code, with the model's name as the programs have it."""
    texts = {*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)}
    return {"model" if text == "'default'" else text.replace("'default'", "model") for text in texts}


def has_call(program: Path, documented: ast.Call) -> bool:
    """Tell whether the program makes this call, with these arguments and perhaps more."""
    name, arguments = ast.unparse(documented.func), list_arguments(documented)
    calls = [call for call in list_calls(program.read_text("utf-8")) if ast.unparse(call.func) == name]
    return any(arguments <= list_arguments(call) for call in calls)


@pytest.mark.demand("openai.tried_clients_documented")
@each_case("code", [code for code in CODE if "{" not in code])
def test_a_python_client_is_made_so_by_a_program(code: str) -> None:
    documented = list_calls(code)[0]
    assert any(has_call(program, documented) for program in PROGRAMS if program.suffix == ".py")


@pytest.mark.demand("openai.tried_clients_documented")
def test_the_javascript_client_is_made_so_by_its_program() -> None:
    [code] = [code for code in CODE if "{" in code]
    [program] = [" ".join(path.read_text("utf-8").split()) for path in PROGRAMS if path.suffix == ".mjs"]
    assert code.removesuffix(" })") in program


def test_each_program_has_a_row() -> None:
    assert len(CODE) == 8
    assert len(PROGRAMS) == 8
