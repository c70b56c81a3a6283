"""JSON Schema checks: problems in words, and schemas of strangers that must not hurt."""

import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import CallerError
from rightseat.types import schema
from rightseat.types.schema import (
    MAX_CACHED_VALIDATORS,
    MAX_SCHEMA_BYTES,
    MAX_SCHEMA_DEPTH,
    get_validator,
    nesting_depth,
)
from tests.kit.cases import each_case
from tests.kit.timeouts import HANG_TIMEOUT

FORM = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "minimum": 1},
        "b": {"type": "array", "items": {"type": "object", "required": ["c"]}},
    },
    "required": ["a"],
}


def make_nested_schema(levels: int) -> dict[str, Any]:
    """A schema of exactly so many levels."""
    found: dict[str, Any] = {}
    for _ in range(levels - 1):
        found = {"not": found}
    return found


@pytest.fixture
def schema_server() -> Iterator[tuple[str, list[str]]]:
    """A server that gives a schema to whoever asks, and who asked."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"true")

        def log_message(self, *args: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/s.json", paths
        server.shutdown()
        thread.join()


@each_case(
    ("value", "words"),
    [
        ({"a": 1}, None),
        ({"a": 1, "b": [{"c": 1}]}, None),
        ({}, 'value: "a" is a required property'),
        ({"a": "x"}, 'a: "x" is not of type "integer"'),
        ({"a": 0}, "a: 0 is less than the minimum of 1"),
        ({"a": 1, "b": [{"c": 1}, {}]}, 'b[1]: "c" is a required property'),
        ([], 'value: [] is not of type "object"'),
    ],
)
def test_a_problem_is_said_with_its_place(value: Any, words: str | None) -> None:
    assert get_validator(FORM).find_problem(value) == words


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("branches", "value", "words"),
    [
        (
            [{"type": "integer"}, {"type": "null"}],
            "x",
            'value: "x" is not of type "integer", and "x" is not of type "null"',
        ),
        ([{"type": "integer", "minimum": 1}, {"type": "null"}], 0, "value: 0 is less than the minimum of 1"),
        ([FORM, {"type": "null"}], {"a": "x"}, 'a: "x" is not of type "integer"'),
        ([FORM, {"anyOf": [FORM, {"type": "null"}]}], {}, 'value: "a" is a required property'),
        ([{"const": 1}, {"const": 2}], 3, "value: 1 was expected, and 2 was expected"),
        ([False, False], 3, "value: False schema does not allow 3"),
    ],
)
def test_of_branches_the_one_that_is_meant_is_explained(word: str, branches: Any, value: Any, words: str) -> None:
    assert get_validator({word: branches}).find_problem(value) == words


def test_many_branches_are_explained_briefly() -> None:
    nested: Any = {"type": "string", "pattern": "^a"}
    for _ in range(5):
        nested = {"anyOf": [nested, {"type": "string", "pattern": "^b"}, nested]}
    words = get_validator(nested).find_problem("c")
    assert words is not None
    assert len(words) <= 400


def test_at_most_three_problems_and_none_of_them_endless() -> None:
    rule = {"type": "array", "items": {"type": "string", "maxLength": 1}}
    words = get_validator(rule).find_problem(["x" * 10_000] * 9)
    assert words is not None
    assert words.count("; ") == 2
    assert len(words) < 700


def test_formats_are_a_note_and_no_rule() -> None:
    assert get_validator({"type": "string", "format": "date-time"}).find_problem("soon") is None


@pytest.mark.parametrize("bad", [{"type": "strin"}, {"properties": 3}, {"pattern": "("}, {"minimum": "1"}])
def test_a_schema_that_is_none_is_the_callers_fault(bad: dict[str, Any]) -> None:
    with pytest.raises(CallerError, match="Not a valid JSON Schema") as caught:
        get_validator(bad)
    assert len(caught.value.message) < 300
    assert "\n" not in caught.value.message


def test_size_is_capped() -> None:
    def sized(size: int) -> dict[str, Any]:
        return {"description": "x" * (size - len('{"description":""}'))}

    assert get_validator(sized(MAX_SCHEMA_BYTES)).find_problem(1) is None
    with pytest.raises(CallerError, match=f"{MAX_SCHEMA_BYTES + 1} bytes"):
        get_validator(sized(MAX_SCHEMA_BYTES + 1))


def test_depth_is_capped() -> None:
    assert nesting_depth(make_nested_schema(MAX_SCHEMA_DEPTH)) == MAX_SCHEMA_DEPTH
    get_validator(make_nested_schema(MAX_SCHEMA_DEPTH))
    for levels in (MAX_SCHEMA_DEPTH + 1, 5_000, 100_000):
        deep = make_nested_schema(levels)
        with pytest.raises(CallerError, match="deeper than 64"):
            get_validator(deep)
        while deep:  # taken apart by hand: freeing it in one go would go as deep
            deep = deep.pop("not")


def test_breadth_is_not_depth() -> None:
    assert nesting_depth({"enum": list(range(10_000))}) == 3


@pytest.mark.io
def test_remote_references_are_refused_without_a_fetch(schema_server: tuple[str, list[str]]) -> None:
    url, paths = schema_server
    for bad in ({"$ref": url}, {"properties": {"a": {"$ref": f"{url}#/x"}}}, {"$dynamicRef": url}):
        with pytest.raises(CallerError):
            get_validator(bad)
    assert get_validator({"$schema": url, "type": "string"}).find_problem(1) is not None
    assert paths == []


def test_file_references_are_refused_without_a_look(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"type": "integer"}', "utf-8")
    with pytest.raises(CallerError):
        get_validator({"$ref": (tmp_path / "s.json").as_uri()})


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(?=(a+)+$)(a|a)*b", r"^(a*)*\1$"])
def test_a_pattern_that_backtracks_does_not_hang(pattern: str) -> None:
    check = get_validator({"type": "string", "pattern": pattern})
    begun = time.process_time()
    assert check.find_problem("a" * 5_000 + "!") is not None
    assert time.process_time() - begun < HANG_TIMEOUT


def test_a_good_pattern_still_fits() -> None:
    assert get_validator({"pattern": "^(a+)+$"}).find_problem("aaa") is None


TREE: dict[str, Any] = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}


def test_a_recursive_schema_is_followed() -> None:
    assert get_validator(TREE).find_problem({"next": {"next": {}}}) is None
    words = get_validator(TREE).find_problem({"next": {"next": 3}})
    assert words == 'next.next: 3 is not of type "object"'


@pytest.mark.parametrize("loop", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_that_is_only_itself_ends(loop: dict[str, Any]) -> None:
    assert get_validator(loop).find_problem({"a": 1}) is None


def test_the_cache_is_bounded_and_drops_what_was_not_used() -> None:
    schema._compile.cache_clear()
    first, second = get_validator({"const": 0}), get_validator({"const": 1})
    for number in range(2, MAX_CACHED_VALIDATORS):
        get_validator({"const": number})
    assert get_validator({"const": 0}) is first
    get_validator({"const": "one more"})
    assert schema._compile.cache_info().currsize == MAX_CACHED_VALIDATORS
    assert get_validator({"const": 0}) is first
    assert get_validator({"const": 1}) is not second


def test_a_bad_schema_is_not_kept() -> None:
    schema._compile.cache_clear()
    with pytest.raises(CallerError):
        get_validator({"type": "strin"})
    assert schema._compile.cache_info().currsize == 0


def test_what_is_only_missing_is_told_apart_from_what_is_wrong() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x", "y"]}
    check = get_validator({"properties": {"a": inner, "b": {"type": "array", "items": inner}}, "required": ["a"]})
    assert check.find_missing({}) == [("a",)]
    assert check.find_missing({"a": {"x": 1}}) == [("a", "y")]
    assert check.find_missing({"a": {"x": 1, "y": 2}}) == []
    assert check.find_missing({"a": {"x": "no"}}) is None
    # In a list a path of keys does not say which.
    assert check.find_missing({"a": {"x": 1, "y": 2}, "b": [{}]}) is None
