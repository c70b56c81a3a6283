"""The command lines of README and docs, run by a shell as they are pasted."""

import re
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from tests.docs.lines import (
    EXAMPLE_PAGES,
    EXAMPLES_NOT_RUN,
    EXAMPLES_RUN_BY,
    FIRST_PAGES,
    NOT_RUN,
    RUN_BY,
    WORKFLOW,
    find_patterns,
    list_lines,
    list_page_lines,
)
from tests.docs.shell import PastingShell, on_posix
from tests.docs.test_docs import PAGES, ROOT, find_blocks
from tests.docs.test_flows import write_inventory

LINES = list_lines()
EXAMPLE_LINES = list_lines(EXAMPLE_PAGES)
# What README and start.md may say though no test runs it.
NOT_RUN_AT_FIRST = {r"make test", r"pip install"}
# Variables that every shell has: what they hold is no secret.
PUBLIC_VARIABLES = {"HOME", "PATH", "USER", "SHELL", "PWD", "LANG", "LOGNAME", "TERM", "HOSTNAME"}


@pytest.mark.demand("first_hour.snippets_run")
def test_every_line_is_run_or_has_a_reason() -> None:
    assert len(LINES) > 60
    assert [(line.page, line.text, found) for line in LINES if len(found := find_patterns(line)) != 1] == []


@pytest.mark.demand("first_hour.snippets_run")
def test_the_tables_name_no_line_that_is_gone() -> None:
    used = {pattern for line in LINES for pattern in find_patterns(line)}
    assert {*RUN_BY, *NOT_RUN} - used == set()


@pytest.mark.demand("release.examples")
def test_every_line_of_an_example_is_run_or_has_a_reason() -> None:
    assert len({line.page for line in EXAMPLE_LINES}) == 6
    assert [(line.page, line.text, found) for line in EXAMPLE_LINES if len(found := find_patterns(line)) != 1] == []
    used = {pattern for line in EXAMPLE_LINES for pattern in find_patterns(line)}
    assert {*EXAMPLES_RUN_BY, *EXAMPLES_NOT_RUN} - used == set()


@pytest.mark.demand("release.examples", "first_hour.snippets_run")
def test_the_tests_that_the_tables_name_exist() -> None:
    named = {path for tests in (*RUN_BY.values(), *EXAMPLES_RUN_BY.values()) for path in tests.split(", ")}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.demand("release.first_pages_run")
def test_readme_and_start_have_no_line_that_could_be_run_and_is_not() -> None:
    lines = [line for line in LINES if line.page in FIRST_PAGES]
    assert {line.page for line in lines} == set(FIRST_PAGES)
    assert {pattern for line in lines for pattern in find_patterns(line) if pattern in NOT_RUN} <= NOT_RUN_AT_FIRST
    assert "- run: make test\n" in (ROOT / WORKFLOW).read_text("utf-8")


@pytest.mark.demand("first_hour.no_env_home")
def test_no_page_takes_a_variable_of_the_shell_for_a_secret() -> None:
    texts = [(page.name, text) for page in PAGES for text in find_blocks(page, "toml")]
    named = [(name, variable) for name, text in texts for variable in re.findall(r"env:(\w+)", text)]
    assert len(named) > 5
    assert [item for item in named if item[1] in PUBLIC_VARIABLES] == []


@pytest.fixture
def shell(tmp_path: Path) -> PastingShell:
    return PastingShell(tmp_path)


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
async def test_serve_and_doctor(shell: PastingShell) -> None:
    # The page says that a Workspace of one's own needs its origin there.
    (shell.folder / "rightseat.toml").write_text('[server]\ncors = ["https://workspace.example.com"]\n', "utf-8")
    [serve] = list_page_lines("docs/openbb.md", "rightseat serve")
    checks = [line for line in list_page_lines("docs/openbb.md", "rightseat doctor") if "--ask" not in line]
    # The others name a key of a server that asks for one: test_first_hour runs them.
    plain = [line for line in list_page_lines("docs/start.md", "rightseat doctor") if "--key" not in line]
    outputs = await shell.serve(serve, *plain, *checks)
    assert len(outputs) == 3
    assert all(output.endswith("Everything works.\n") for output in outputs), outputs


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize("page", ["docs/plugins.md", "docs/plugins.zh.md"])
async def test_plugins(shell: PastingShell, page: str) -> None:
    *before, serve = list_page_lines(page, "rightseat")
    for line in before:
        await shell.run(line)
    await shell.serve(serve)


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize(("page", "language"), [("docs/flows.md", "en"), ("docs/flows.zh.md", "zh")])
async def test_flows(shell: PastingShell, page: str, language: str) -> None:
    write_inventory(language, shell.folder)
    for line in list_page_lines(page, "rightseat"):
        if " run " not in line:
            await shell.run(line)
    assert (shell.folder / "report.svg").is_file()


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
async def test_store(shell: PastingShell) -> None:
    await shell.serve("rightseat serve")
    for line in list_page_lines("docs/operate.md", "rightseat store"):
        await shell.run(line)
    assert (shell.folder / "FILE").is_file()


@pytest.mark.demand("first_hour.snippets_run")
@pytest.mark.io
@pytest.mark.long
@on_posix
@pytest.mark.parametrize("line", list_page_lines("docs/scale.md", "rightseat serve --workers"))
async def test_workers(shell: PastingShell, line: str) -> None:
    await shell.serve(line)


def test_the_data_folder_of_the_command_line(tmp_path: Path) -> None:
    assert load_config(None, data=tmp_path / "own", env={}).store.path == str(tmp_path / "own")
