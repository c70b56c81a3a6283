"""What the pages say about formats, calls, thoughts and errors is what the program does."""

import ast
import re
from pathlib import Path

import pytest
from msgspec import Struct

from rightseat import errors
from rightseat.doors.openai.write import FILTERED_CODES
from rightseat.http.upstream import STATUSES
from rightseat.models._vendor.reasoning import VENDORS
from rightseat.models._vendor.thinking import EFFORTS, THINKING_FIELDS
from rightseat.models.anthropic.options import AnthropicOptions
from rightseat.models.google.options import GoogleOptions
from rightseat.models.langchain.options import LangChainOptions
from rightseat.models.llamacpp.formats import FORMATS, GENERIC, NATIVE
from rightseat.models.llamacpp.formats.answer_grammar import MAX_CALLS
from rightseat.models.llamacpp.options import EMBEDDED_DEFAULTS, LocalOptions
from rightseat.models.llamacpp.thinking import BUDGETS
from rightseat.tools.text_calls.thinking import THINKING_TAGS

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "rightseat").rglob("*.py"))


def read_page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def read_table(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading or a line of text, without its head."""
    after = page.partition(heading)[2]
    assert after, heading
    rows = re.search(r"(?:^\|.*\n)+", after if not heading.startswith("|") else f"{heading}{after}", re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[0].splitlines()]
    return [[cell.strip("| ") for cell in row] for row in cells[2:]]


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_table_of_formats_has_each_format_once() -> None:
    names = [row[0].strip("`") for row in read_table(read_page("formats.md"), "The log names the format")]
    assert sorted(names) == sorted(kind.name for kind in (*FORMATS, NATIVE, GENERIC))


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_most_calls_of_an_answer() -> None:
    assert f"An answer has at most {MAX_CALLS} calls." in read_page("formats.md")


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_embedded_models_own_defaults() -> None:
    section = read_page("reference/config.md").partition("## `models.NAME` with `local`")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` (\|.*)$", section, re.MULTILINE))
    assert f"Without it, {EMBEDDED_DEFAULTS['max_tokens']} for the embedded model" in rows["max_tokens"]
    assert f"{EMBEDDED_DEFAULTS['temperature']} for the embedded model" in rows["temperature"]
    assert f"`{EMBEDDED_DEFAULTS['choice']}` for the embedded model" in rows["choice"]
    assert f"`{EMBEDDED_DEFAULTS['tool_format']}` for the embedded model with its adapter" in rows["tool_format"]
    assert f"else {LocalOptions().max_tokens}" in rows["max_tokens"]
    assert EMBEDDED_DEFAULTS.keys() == {"max_tokens", "temperature", "choice", "tool_format"}
    assert f"format | `{EMBEDDED_DEFAULTS['tool_format']}`" in read_page("embedded-model.md")


@pytest.mark.demand("house.docs_and_program_agree")
@pytest.mark.parametrize(
    ("heading", "kind"),
    [("## Anthropic", AnthropicOptions), ("## Google", GoogleOptions), ("## LangChain", LangChainOptions)],
)
def test_the_options_of_each_vendor(heading: str, kind: type[Struct]) -> None:
    section = read_page("models.md").partition(f"\n{heading}\n")[2]
    rows = read_table(section, "| option |")
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row[0])} == set(kind.__struct_fields__)


THINKING = read_page("models.md").partition("## Thinking models")[2].partition("\n## ")[0]


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_fields_about_thinking() -> None:
    rows = read_table(THINKING, "names the")
    named = {field for row in rows for field in re.findall(r"`(\w+)`", row[0])}
    assert named == THINKING_FIELDS - {"thinking_budget"}
    assert [effort.strip(" `") for effort in rows[0][1].split(",")] == list(EFFORTS)
    for effort, tokens in BUDGETS.items():
        assert re.search(rf"`{effort}` (?:is a budget of|one of) {tokens}", THINKING)


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_vendors_that_want_thoughts_back() -> None:
    rows = {row[0].strip("`"): row for row in read_table(THINKING, "No other server gets any.")}
    assert list(rows) == list(VENDORS)
    for vendor, (hosts, pattern, rules) in VENDORS.items():
        _, found_by, gets = rows[vendor]
        assert [host for host in re.findall(r"`([\w.-]+)`", found_by) if host in hosts] == list(hosts)
        assert ("models" in found_by) == bool(pattern)
        assert ("reasoning_details" in gets) == rules.details
        assert ("extra_content" in gets) == rules.signatures
        assert ("of all answers" in gets, "of answers with calls" in gets) == (
            rules.text == "turns",
            rules.text == "calls",
        )


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_tags_of_thoughts() -> None:
    for open_tag, _ in THINKING_TAGS:
        assert f"`{open_tag}`" in THINKING


def find_codes(source: str) -> list[str]:
    """The classes of a module that name an error code of their own."""
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return [
        node.name
        for node in classes
        for line in node.body
        if isinstance(line, ast.Assign)
        and isinstance(line.targets[0], ast.Name)
        and line.targets[0].id == "code"
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    ]


@pytest.mark.demand("house.docs_and_program_agree")
def test_every_error_code_is_in_the_tree_of_errors() -> None:
    """The pages of docs/errors are written from that tree."""
    elsewhere = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if path.name != "errors.py" or path.parent.name != "rightseat"
        for name in find_codes(path.read_text("utf-8"))
    }
    assert elsewhere == set()


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_codes_of_a_models_server() -> None:
    codes = {kind.code for kind, _ in STATUSES.values()}
    codes |= {kind.code for kind in (errors.UpstreamRefused, errors.UpstreamTimeout, errors.Incomplete)}
    codes |= {kind.code for kind in (errors.UpstreamGarbled, errors.ContextTooLong, errors.ContentRefused)}
    listed = {
        code
        for row in read_table(read_page("errors.md"), "the same for all vendors:")
        for code in re.findall(r"\[(\w+)\]", row[1])
    }
    assert codes <= listed
    in_models = {
        code
        for row in read_table(read_page("models.md"), "the codes that clients get:")
        for code in re.findall(r"`(\w+)`", row[1])
    }
    assert codes <= in_models


@pytest.mark.demand("house.docs_and_program_agree")
def test_the_codes_that_the_openai_door_calls_content_filter() -> None:
    sentence = read_page("errors.md").partition("They are ")[2].partition(".\n")[0]
    assert re.findall(r"\[(\w+)\]", sentence) == list(FILTERED_CODES)
