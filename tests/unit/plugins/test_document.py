"""Files of strangers: read within limits, as plain values, with the line of every key."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.plugin import Problem
from rightseat.plugins.plugin_file import MAX_BYTES, PluginDocument, UnreadableFile, read_document
from rightseat.plugins.yaml_reader import MAX_DEPTH, MAX_NODES


def read_text(folder: Path, text: str | bytes, name: str = "a.yaml") -> PluginDocument:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(folder, name)


def get_refusal(folder: Path, text: str | bytes, name: str = "a.yaml") -> Problem:
    with pytest.raises(UnreadableFile) as caught:
        read_text(folder, text, name)
    assert caught.value.problem.fix
    return caught.value.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("on", "on"),
        ("yes", "yes"),
        ("2024-10-09", "2024-10-09"),
        ("2024-10-09 22:00:00", "2024-10-09 22:00:00"),
        ("1:20", "1:20"),
        ("010", "010"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("12", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("3.5", 3.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("18446744073709551616", 18446744073709551616.0),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
    ],
)
def test_words_mean_what_yaml_1_2_says(tmp_path: Path, text: str, value: Any) -> None:
    found = read_text(tmp_path, f"a: {text}\n").value["a"]
    assert (found, type(found)) == (value, type(value))


def test_keys_are_text(tmp_path: Path) -> None:
    assert read_text(tmp_path, "200: a\ntrue: b\n~: c\n").value == {"200": "a", "true": "b", "~": "c"}


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    lines = read_text(tmp_path, "a:\n  b:\n\n    - x\n    - c: 1\n      d: 2\ne: {f: 1}\n").line_index
    assert lines.find_line(("a",)) == 1
    assert lines.find_line(("a", "b")) == 2
    assert lines.find_line(("a", "b", 0)) == 4
    assert lines.find_line(("a", "b", 1, "d")) == 6
    assert lines.find_line(("e", "f")) == 7
    assert lines.find_line(("a", "b", 1, "nothing", "below")) == 5


def test_json_has_lines_too(tmp_path: Path) -> None:
    document = read_text(tmp_path, '{\n\t"a": {\n\t\t"b": [1,\n2]\n}}', "a.json")
    assert document.value == {"a": {"b": [1, 2]}}
    assert [document.line_index.find_line(path) for path in (("a",), ("a", "b"), ("a", "b", 1))] == [2, 3, 4]


@pytest.mark.demand("plugins.guide_own_sample_d")
def test_an_escape_of_a_pattern_in_double_quotes_is_mended(tmp_path: Path) -> None:
    text = 'a: "[\\d].[\\d]"\nb: "tab\\t \\\\ \\" \\w\\."\nc: "fine\\n"  # \\d\n'
    document = read_text(tmp_path, text)
    assert document.value == {"a": r"[\d].[\d]", "b": 'tab\t \\ " \\w\\.', "c": "fine\n"}
    assert [(one.line, one.gravity) for one in document.problems] == [(1, "warning"), (2, "warning")]
    assert "single quotes" in document.problems[0].fix


def test_many_patterns_are_mended_at_once(tmp_path: Path) -> None:
    rows = [f'k{n}: {{pattern: "\\d{n}\\\\ {"x" * 500}"}}  # "\\d"\n' for n in range(2000)]
    document = read_text(tmp_path, "".join(rows))
    assert document.value["k1999"]["pattern"].startswith(r"\d1999\ x")
    assert [one.line for one in document.problems] == list(range(1, 51))


def test_mending_has_an_end(tmp_path: Path) -> None:
    text = "".join(f'k{n}: "\\d {"x" * 100_000}"\n' for n in range(60))
    assert "escape" in get_refusal(tmp_path, text).what


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    rows = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    rows += [f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]" for p, c in zip("abcdefgh", "bcdefghi", strict=True)]
    problem = get_refusal(tmp_path, "\n".join(rows))
    assert f"{MAX_NODES:,}" in problem.what
    assert 5 <= problem.line <= 9


def test_merge_keys_count_like_aliases(tmp_path: Path) -> None:
    assert read_text(tmp_path, "a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\n").value["b"] == {"x": 1, "y": 2}
    wide = ", ".join(f"k{n}: 1" for n in range(1000))
    rows = [f"a: &a {{{wide}}}", *(f"b{n}: {{<<: *a}}" for n in range(400))]
    assert f"{MAX_NODES:,}" in get_refusal(tmp_path, "\n".join(rows)).what


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    assert "contains it" in get_refusal(tmp_path, "a: &a [*a]\n").what


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
def test_aliases_that_nest_deeper_and_deeper_are_refused(tmp_path: Path) -> None:
    rows = ["k0: &k0 [x]", *(f"k{n}: &k{n} [*k{n - 1}]" for n in range(1, 300))]
    assert f"{MAX_DEPTH} levels" in get_refusal(tmp_path, "\n".join(rows)).what


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 150 + "]" * 150])
def test_what_is_too_deep_is_refused(tmp_path: Path, name: str, text: str) -> None:
    assert f"{MAX_DEPTH} levels" in get_refusal(tmp_path, text, name).what


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
def test_fifty_megabytes_are_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "a.yaml").open("wb") as file:
        file.truncate(50 << 20)
    with pytest.raises(UnreadableFile, match=f"It has 50 MB; at most {MAX_BYTES >> 20} MB are read"):
        read_document(tmp_path, "a.yaml")


def test_a_few_megabytes_are_fine(tmp_path: Path) -> None:
    value = {f"k{n}": {"type": "string", "description": "x" * 80} for n in range(30_000)}
    assert read_text(tmp_path, json.dumps(value), "a.json").value == value


def test_json_with_too_many_values_is_refused(tmp_path: Path) -> None:
    assert f"{MAX_NODES:,}" in get_refusal(tmp_path, json.dumps([0] * (MAX_NODES + 1)), "a.json").what


def test_a_key_that_stands_twice_is_told(tmp_path: Path) -> None:
    document = read_text(tmp_path, "a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert document.value == {"a": {"b": 3, "c": 2}}
    [problem] = document.problems
    assert (problem.key, problem.line, problem.gravity) == ("a.b", 4, "warning")
    assert "line 2" in problem.what


def test_a_key_that_stands_twice_in_json_is_told(tmp_path: Path) -> None:
    document = read_text(tmp_path, '{"a": {"b": 1,\n"b": 2}}', "a.json")
    assert document.value == {"a": {"b": 2}}
    assert [(one.key, one.line) for one in document.problems] == [("a.b", 2)]


def test_a_text_that_a_comma_has_cut_in_two_is_told(tmp_path: Path) -> None:
    document = read_text(tmp_path, 'a: {b: One sentence, in English, c: "x, y", d: 1}\ne:\n')
    assert document.value["a"] == {"b": "One sentence", "in English": None, "c": "x, y", "d": 1}
    [problem] = document.problems
    assert (problem.key, problem.line, problem.gravity) == ("a.in English", 1, "warning")
    assert "quotes" in problem.fix


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
def test_tags_build_nothing(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    document = read_text(tmp_path, f'a: !!python/object/apply:os.system ["touch {canary}"]\nb: !Other x\n')
    assert document.value == {"a": [f"touch {canary}"], "b": "x"}
    assert ["passed over" in one.what for one in document.problems] == [True, True]
    assert not canary.exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_with_or_without_a_mark(tmp_path: Path, encoding: str) -> None:
    assert read_text(tmp_path, "a: 主机".encode(encoding)).value == {"a": "主机"}


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_other_encodings_are_told(tmp_path: Path, name: str) -> None:
    problem = get_refusal(tmp_path, 'x: 1\n{"a": "主机"}'.encode("gbk"), name)
    assert problem.line == 2
    assert "UTF-8" in problem.what
    assert "GBK" in problem.fix
    assert "GBK" not in get_refusal(tmp_path, b"a: \xff\xff\xff", name).fix


@pytest.mark.parametrize(
    ("text", "line"), [("a: b: c\n", 1), ("a: 1\nb: [1, 2\n", 3), ("a:\n\t- b\n", 2), ("? [a]\n: b\n", 1)]
)
def test_what_is_no_yaml_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert get_refusal(tmp_path, text).line == line


def test_control_characters_are_refused(tmp_path: Path) -> None:
    assert "character" in get_refusal(tmp_path, "a: \x01").what


def test_characters_of_a_wrong_encoding_are_told(tmp_path: Path) -> None:
    document = read_text(tmp_path, "a: 1\nb: recipientâ\x80\x99s\n")
    assert document.value == {"a": 1, "b": "recipientâ\ufffd\ufffds"}
    assert [(one.line, one.gravity) for one in document.problems] == [(2, "warning")]


def test_blank_lines_may_have_tabs(tmp_path: Path) -> None:
    assert read_text(tmp_path, "a: |-\n  \t\n  text\nb:\n  - 1\n").value == {"a": "\ntext", "b": [1]}


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    assert "half a character" in get_refusal(tmp_path, '{"a": "\\ud800"}', "a.json").what
    assert read_text(tmp_path, '{"a": "\\ud83d\\ude00"}', "a.json").value == {"a": "😀"}


def test_numbers_that_are_too_large_stay_text(tmp_path: Path) -> None:
    found = read_text(tmp_path, '{"a": 1e999, "b": NaN, "c": 123456789012345678901}', "a.json").value
    assert found == {"a": "1e999", "b": "NaN", "c": 123456789012345678901.0}


def test_nearly_json_is_read_and_told(tmp_path: Path) -> None:
    document = read_text(tmp_path, '{\n"a": 1,\n}', "a.json")
    assert document.value == {"a": 1}
    [problem] = document.problems
    assert (problem.line, problem.gravity) == (3, "warning")
    assert get_refusal(tmp_path, '{\n"a": 1\n"b": 2}', "a.json").line == 3


def test_only_the_first_of_several_documents(tmp_path: Path) -> None:
    document = read_text(tmp_path, "a: 1\n---\nb: 2\n")
    assert document.value == {"a": 1}
    assert [one.line for one in document.problems] == [2]


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: canary")
    inner = tmp_path / "plugin"
    inner.mkdir()
    (inner / "link.yaml").symlink_to(secret)
    (inner / "up").symlink_to(tmp_path)
    for name in ("link.yaml", "../secret.yaml", "up/secret.yaml", str(secret), "x/../../secret.yaml"):
        with pytest.raises(UnreadableFile, match="outside the plugin's folder"):
            read_document(inner, name)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    for name in ("pipe.yaml", "folder.yaml", "loop.yaml", "none.yaml", "a\0b"):
        with pytest.raises(UnreadableFile):
            read_document(tmp_path, name)
