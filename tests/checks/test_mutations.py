"""`make mutations` itself: red for a guard that no test holds, for a lost one, and for tests that fail for nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from checks import guards, mutations
from checks.guards import Guard, GuardTableError, read_rows
from checks.mutations import TreeCopy, check_guards

ROOT = Path(__file__).parents[2]
GUARD = "if len(text) > 9:"
CODE = f"""
def take(text: str) -> str:
    {GUARD}
        raise ValueError("too long")
    return text
"""
TESTS = """
import sys
from pathlib import Path

import pytest
import rightseat
from rightseat import take


@pytest.fixture
def long_text():
    if take("short") != "short":
        raise RuntimeError
    return "x" * 10


def test_guarded(long_text):
    with pytest.raises(ValueError):
        take(long_text)


def test_loose():
    assert take("short") == "short"


def test_of_the_copy():
    assert Path(rightseat.__file__).parents[2] == Path(__file__).parents[1]
    test_guarded("x" * 10)


def test_broken():
    assert False


def test_skipped():
    pytest.skip("not here")
"""
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["."]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one guard."""
    home = tmp_path / "project"
    files = {
        "src/rightseat/__init__.py": CODE,
        "tests/test_guard.py": TESTS,
        "pyproject.toml": SETTINGS,
        "checks/__init__.py": "",
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "checks" / "outcomes.py", home / "checks")
    subprocess.run(["git", "init", "-q"], cwd=home, check=True)
    return home


def make_guard(name: str, test: str, text: str = GUARD, replacement: str = "if False:") -> Guard:
    return Guard(7, name, "src/rightseat/__init__.py", text, replacement, (f"tests/test_guard.py::{test}",))


# What is said of each, by the name of the guard.
PROBLEMS = {
    "loose": (make_guard("loose", "test_loose"), "every test passes without it: tests/test_guard.py::test_loose"),
    "lost": (make_guard("lost", "test_guarded", "if len(text) > 8:"), "no longer has its text"),
    "twice": (make_guard("twice", "test_guarded", "text"), "has its text 3 times"),
    "gone": (Guard(7, "gone", "src/gone.py", "x", "y", ("tests/test_guard.py",)), "no longer exists"),
    "unknown": (make_guard("unknown", "test_guarded", GUARD, "if length > 9:"), "no valid Python"),
    # The module cannot be imported, so that nothing is collected.
    "import": (make_guard("import", "test_guarded", "def take", "1 / 0\n\n\ndef take"), "no test failed while it ran"),
    # A fixture fails, so that no test runs.
    "fixture": (make_guard("fixture", "test_guarded", "    return text", '    return ""'), "exit code is 1"),
    "unnamed": (make_guard("unnamed", "test_of_another_name"), "exit code is 4"),
    "broken": (make_guard("broken", "test_broken"), "test_broken fails with the guard too"),
}


@pytest.mark.io
@pytest.mark.slow
@pytest.mark.demand("security.guards_tested")
def test_each_outcome_of_a_removed_guard(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = [
        make_guard("held", "test_guarded"),
        make_guard("copied", "test_of_the_copy"),
        make_guard("skipped", "test_skipped"),
    ]
    problems = check_guards([*good, *(guard for guard, _ in PROBLEMS.values())], project, workers=2)
    said = {problem.partition(": ")[0].removeprefix("row 7, "): problem for problem in problems}
    assert said.keys() == PROBLEMS.keys()
    assert len(problems) == len(PROBLEMS)
    for name, (_, words) in PROBLEMS.items():
        assert words in said[name]
    printed = capfd.readouterr().out
    assert "12/12" in printed
    # The broken one fails without its guard, and is found when it fails with it.
    assert printed.count("ok  row 7") == 3
    assert printed.count("--  row 7") == 1
    assert printed.count("RED row 7") == len(PROBLEMS) - 1
    assert (project / "src/rightseat/__init__.py").read_text(encoding="utf-8") == CODE


@pytest.mark.io
def test_a_copy_whose_python_runs_other_code_is_refused(project: Path, tmp_path: Path) -> None:
    (project / "src/rightseat/__init__.py").unlink()
    with pytest.raises(RuntimeError, match="imports other code"):
        TreeCopy(tmp_path / "copy", project)


@pytest.mark.demand("security.guards_tested")
def test_every_guard_is_in_its_file_and_has_tests() -> None:
    """Without running anything: a guard that was moved is found at once."""
    rows = read_rows()
    assert len(rows) >= 42
    for guard in (guard for row in rows for guard in row.guards):
        source = (ROOT / guard.file).read_text(encoding="utf-8")
        assert guard.remove_from(source) != source, guard.name
        for test in guard.tests:
            file, _, name = test.partition("::")
            assert (ROOT / file).is_file(), test
            assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8"), test


ROW = '[[rows]]\nnumber = 1\nattack = "a"\npromise = "p"\n'


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("rows = [", "guards.toml: "),
        (ROW, "row 1: write its guards"),
        (ROW + 'because = "b"\n' + ROW + 'because = "b"\n', "numbered from 1"),
        (ROW + 'why = "b"\n', "row 1: unknown key 'why'"),
        (ROW.replace("promise", "because"), "row 1: promise is missing"),
        (ROW + '[[rows.guards]]\nname = "n"\n', "row 1, n: file is missing"),
        (
            ROW + '[[rows.guards]]\nname = "n"\nfile = "f"\ntext = "t"\nreplacement = ""\ntests = []\n',
            "row 1, n: text and tests must not be empty",
        ),
    ],
)
def test_a_wrong_table_is_said(table: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "guards.toml"
    file.write_text(table, encoding="utf-8")
    with pytest.raises(GuardTableError, match=words.replace("'", ".")):
        read_rows(file)
    assert mutations.main(["--table", str(file), "--list"]) == 2
    assert words in capsys.readouterr().err


def test_guards_are_listed_and_one_row_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutations.main(["--list", "--row", "13"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("row 13 ") == len(read_rows(guards.TABLE)[12].guards) == printed.count("row ")
    assert mutations.main(["--row", "999"]) == 2
    assert "there are rows 1 to" in capsys.readouterr().err
