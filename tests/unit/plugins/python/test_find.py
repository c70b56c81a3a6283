"""lib/ is read, never run: what is found there, and what is wrong with it."""

from pathlib import Path

import pytest

from rightseat.plugins.plugin import PluginScript, Problem
from rightseat.plugins.python.find import find_scripts
from tests.unit.plugins.python.script_plugins import write_scripts

SDK = """
class Rank:
    name = "rank"
    description = "把漏洞按等级排序"
    spec: dict = {"type": "object", "properties": {"top": {"type": "integer"}}}

    def __init__(self, params):
        self.params = params

    async def call(self, fixed_params):
        return {"output": "x", "message": "y"}
"""


def find_only_script(folder: Path) -> PluginScript:
    found, problems = find_scripts(folder)
    assert problems == ()
    assert len(found) == 1
    return found[0]


def find_only_problem(folder: Path) -> Problem:
    _, problems = find_scripts(folder)
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.demand("plugins.python_tools_guide_sdk")
@pytest.mark.parametrize(
    "init",
    [
        "from .rank import Rank\nexported = [Rank]",
        "from .rank import Rank\n_exported = [Rank]",
        "from lib.rank import Rank as Other\nexported = (Other,)",
        "from rank import Rank\nexported: list = [Rank]",
        "from . import rank\nexported = [rank.Rank]",
        "import lib.rank\nfrom .rank import Rank\nfirst = [Rank]\n_exported = first + []",
        'from .rank import Rank\n__all__ = ["Rank"]',
    ],
)
def test_a_class_of_the_sdk_is_found_however_it_is_exported(tmp_path: Path, init: str) -> None:
    found = find_only_script(write_scripts(tmp_path, __init__=init, rank=SDK))
    assert (found.name, found.attribute, found.kind) == ("rank", "Rank", "class")
    assert found.file == tmp_path / "lib" / "rank.py"
    assert found.description == "把漏洞按等级排序"
    assert found.arguments["properties"] == {"top": {"type": "integer"}}


@pytest.mark.demand("plugins.python_tools_plain_tool")
def test_functions_with_the_decorator_are_found_in_any_file(tmp_path: Path) -> None:
    text = '''
    from rightseat import tool

    @tool
    def plain(a: int, b: str = "x", c: list[float] | None = None) -> str:
        """Does it.

        Args:
            a: How many.
        """

    @tool(name="other", description="Another one.", confirm=True)
    async def later(mode: "Literal['fast', 'slow']") -> None: ...

    def helper(x): ...
    '''
    found = {one.name: one for one in find_scripts(write_scripts(tmp_path, sub__slash__things=text))[0]}
    assert set(found) == {"plain", "other"}
    assert found["plain"].description == "Does it."
    assert found["plain"].exact
    assert found["plain"].arguments == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "How many."},
            "b": {"type": "string", "default": "x"},
            "c": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}], "default": None},
        },
        "required": ["a"],
    }
    assert found["other"].dangerous
    assert found["other"].arguments["properties"] == {"mode": {"enum": ["fast", "slow"]}}


def test_a_tool_says_which_effect_it_has(tmp_path: Path) -> None:
    text = '''
    @tool(effect="reads")
    def look():
        """Looks."""

    @tool
    def note():
        """Notes."""

    @tool(effect="dangerous")
    def wipe():
        """Wipes."""

    @tool(effect="reads", confirm=True)
    def peek():
        """Peeks where a person allows it."""
    '''
    init = "from .rank import Rank\nexported = [Rank]"
    rank = SDK.replace("    description", '    effect = "reads"\n    description')
    found, problems = find_scripts(write_scripts(tmp_path, __init__=init, rank=rank, a=text))
    assert problems == ()
    assert {one.name: (one.effect, one.dangerous) for one in found} == {
        "rank": ("reads", False),
        "look": ("reads", False),
        "note": ("writes", False),
        "wipe": ("dangerous", True),
        "peek": ("reads", True),
    }


@pytest.mark.parametrize("value", ['"read"', "None", "EFFECT"])
def test_an_unknown_effect_is_a_problem_with_its_place(tmp_path: Path, value: str) -> None:
    text = f'@tool\ndef a():\n    """One."""\n\n@tool(effect={value})\ndef f():\n    """Does."""'
    problem = find_only_problem(write_scripts(tmp_path, a=text))
    assert (problem.file, problem.key, problem.line, problem.gravity) == ("lib/a.py", "f", 6, "error")
    assert "effect" in problem.what
    assert "reads, writes or dangerous" in problem.fix


def test_a_function_may_be_exported_without_a_mark(tmp_path: Path) -> None:
    found = find_only_script(
        write_scripts(tmp_path, __init__='def hello(name: str):\n    """Greets."""\nexported = [hello]')
    )
    assert (found.name, found.kind, found.file.name) == ("hello", "function", "__init__.py")


def test_types_that_only_running_tells_are_marked(tmp_path: Path) -> None:
    found = find_only_script(
        write_scripts(tmp_path, a='from x import Thing, tool\n@tool\ndef f(a: Thing):\n    """Does."""')
    )
    assert not found.exact


def test_a_context_is_no_argument(tmp_path: Path) -> None:
    found = find_only_script(write_scripts(tmp_path, a='@tool\ndef f(a: int, ctx: ToolContext):\n    """Does."""'))
    assert list(found.arguments["properties"]) == ["a"]
    assert found.arguments["required"] == ["a"]


@pytest.mark.demand("plugins.check_never_imports_runs")
def test_nothing_is_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    text = f"""
    open({str(canary)!r}, "w")

    def mark(f=open({str(canary)!r}, "w")):
        return f

    @tool(name=open({str(canary)!r}, "w").name)
    @mark
    def f(a: open({str(canary)!r}, "w") = open({str(canary)!r}, "w")):
        '''Does.'''

    exported = [f]
    """
    found, _ = find_scripts(write_scripts(tmp_path, __init__=text))
    assert [one.name for one in found] == ["f"]
    assert not canary.exists()


def test_a_folder_without_lib_has_no_tools(tmp_path: Path) -> None:
    assert find_scripts(tmp_path) == ((), ())


def test_what_is_broken_is_said_with_its_line_and_the_rest_is_found(tmp_path: Path) -> None:
    folder = write_scripts(tmp_path, bad="def (:\n", good='@tool\ndef f():\n    """Does."""')
    found, problems = find_scripts(folder)
    assert [one.name for one in found] == ["f"]
    assert [(one.file, one.line, one.gravity) for one in problems] == [("lib/bad.py", 1, "error")]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"__init__": "exported = make()"}, "cannot be read without running"),
        ({"__init__": "exported = [Nowhere]"}, "'Nowhere' is not defined"),
        ({"__init__": "class A: ...\nexported = [A]"}, "without `call`"),
        ({"a": "@tool\ndef f(): ..."}, "no description"),
        ({"a": "x = 1"}, "It has no tools"),
        ({"a": '@tool\ndef f():\n    "x"', "b": '@tool\ndef f():\n    "x"'}, "another tool called 'f'"),
        ({"a": "x = '" + "a" * (1 << 20) + "'"}, "larger than 1 MB"),
        ({"a": "x = " + "(" * 500 + ")" * 500}, "not Python"),
        ({"a": "\0"}, "null bytes"),
    ],
)
def test_problems(tmp_path: Path, files: dict[str, str], said: str) -> None:
    assert said in str(find_only_problem(write_scripts(tmp_path, **files)))


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.py"
    outside.write_text('@tool\ndef stolen():\n    """x"""', "utf-8")
    folder = write_scripts(tmp_path / "plugin", a='@tool\ndef f():\n    """x"""')
    (folder / "lib" / "link.py").symlink_to(outside)
    found, problems = find_scripts(folder)
    assert [one.name for one in found] == ["f"]
    assert "leads out" in problems[0].what


def test_imports_in_a_circle_end(tmp_path: Path) -> None:
    folder = write_scripts(
        tmp_path,
        __init__="from .a import Thing\nexported = [Thing]",
        a="from .b import Thing",
        b="from .a import Thing",
    )
    assert "'Thing' is not defined" in find_only_problem(folder).what
