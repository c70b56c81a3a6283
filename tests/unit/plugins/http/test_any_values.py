"""Whatever a model sends: a request below the server's own address, or a plain refusal. Nothing else."""

from typing import Any
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from rightseat.errors import CallerError
from rightseat.http.fetch.fetch import check_headers
from rightseat.plugins.http.arguments import OperationArguments
from rightseat.plugins.http.request import build_request
from rightseat.plugins.plugin import Encoding, Operation, RequestBody
from rightseat.types.schema import get_validator
from tests.unit.plugins.http.plugin_values import make_operation, make_parameter

SERVER = "https://api.example/v1"
TEXTS = st.text(max_size=12) | st.sampled_from(["..", "../x", "%2e%2e", "a\r\nb", "//e", "?x=1", "#", "&a=b"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PLACES: list[tuple[Any, str]] = [
    ("query", "form"),
    ("query", "spaceDelimited"),
    ("query", "pipeDelimited"),
    ("query", "deepObject"),
    ("header", "simple"),
    ("cookie", "form"),
    ("path", "simple"),
    ("path", "label"),
    ("path", "matrix"),
]
MEDIAS = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/xml",
    "text/plain",
    "image/png",
    "*/*",
]


@given(VALUES, st.sampled_from(PLACES), st.booleans(), st.booleans(), st.sampled_from(["", "application/json"]))
def test_any_value_anywhere(value: Any, place: tuple[Any, str], explode: bool, reserved: bool, media: str) -> None:
    where, style = place
    one = make_parameter("p", where, style=style, explode=explode, reserved=reserved, media=media)
    asked = make_operation("GET", "/a/{p}/z" if where == "path" else "/a/z", one)
    try:
        made = build_request(asked, {"p": value}, {}, limit=1000)
        url = made.build_url(SERVER)
        check_headers(made.headers)
        check_headers({"Cookie": "; ".join(made.cookies)})
    except CallerError:
        return
    found = urlsplit(url)
    assert (found.scheme, found.netloc, found.fragment) == ("https", "api.example", "")
    steps = found.path.split("/")
    assert [*steps[:3], steps[-1]] == ["", "v1", "a", "z"]
    assert len(steps) == (5 if where == "path" else 4)
    assert url.isascii()
    if where != "query":
        assert found.query == ""


@given(VALUES, VALUES, st.sampled_from(MEDIAS), st.booleans())
def test_any_value_in_any_body(value: Any, other: Any, media: str, whole: bool) -> None:
    body = RequestBody(
        media=media,
        schema={},
        required=True,
        fields={} if whole else {"a": "a", "b": "b"},
        encodings={"b": Encoding(style="deepObject")},
    )
    asked = make_operation("POST", "/x", body=body)
    arguments = {"body": value} if whole else {"a": value, "b": other}
    made = build_request(asked, arguments, {}, limit=1000)
    check_headers(made.headers)
    if "multipart" not in media or whole:
        return
    boundary = made.headers["Content-Type"].partition("boundary=")[2].encode()
    assert made.body is not None
    assert made.body.endswith(b"--" + boundary + b"--\r\n")


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "default": "d"},
        "b": {"$ref": "#/$defs/Tree"},
        "c": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "d": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["a", "b"],
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 1}, "t": {"$ref": "#/$defs/Tree"}},
            "required": ["n", "x"],
        }
    },
}
SHAPED = st.fixed_dictionaries({}, optional=dict.fromkeys(("a", "b", "c", "d", "n", "z"), VALUES))


@given(SHAPED)
def test_what_passes_the_check_is_whole_or_can_be_asked_for(given_values: dict[str, Any]) -> None:
    arguments = OperationArguments(
        Operation(id="x", name="x", method="GET", path="/", description="", arguments=SCHEMA)
    )
    before = repr(given_values)
    problem = arguments.check(given_values)
    assert repr(given_values) == before
    settled = arguments.normalize(given_values)
    assert repr(arguments.normalize(settled)) == repr(settled)
    if problem is None:
        missing = arguments.find_missing(settled)
        assert missing is not None
        assert (get_validator(SCHEMA).find_problem(settled) is None) == (missing == [])
        assert get_validator(arguments.build_form(missing)).find_problem({}) is None or missing
