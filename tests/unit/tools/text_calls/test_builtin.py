"""Tools that models know by name: an odd schema for one of them is understood, at every door."""

from typing import Any

import pytest

from rightseat.errors import CallerError
from rightseat.http.endpoint import make_tool_spec
from rightseat.tools.text_calls.builtin import builtin_schema, is_builtin, takes_any_text, with_builtin_schema
from rightseat.types.model import ToolSpec
from rightseat.types.schema import get_validator

# As the seed has it.
ODD: dict[str, Any] = {"type": "object", "properties": {"code": {"type": "query"}}, "required": ["query"]}


def make_tool(name: str, **more: Any) -> ToolSpec:
    return ToolSpec(name, "", more)


@pytest.mark.demand("llamacpp.llama_3_1_both")
@pytest.mark.parametrize("name", ["brave_search", "wolfram_alpha"])
def test_an_odd_schema_is_replaced_by_what_its_name_means(name: str) -> None:
    spec = make_tool_spec(name, "Searches.", ODD, "tools[0]")
    assert spec == ToolSpec(name, "Searches.", builtin_schema(name) or {})
    assert is_builtin(spec)
    assert takes_any_text(spec)
    assert get_validator(spec.parameters).find_problem({"query": "x"}) is None


@pytest.mark.parametrize("name", ["ipython", "python", "code_interpreter"])
def test_the_interpreter_takes_code(name: str) -> None:
    spec = make_tool_spec(name, None, {"type": "nonsense"}, "tools[0]")
    assert spec.parameters["required"] == ["code"]
    assert is_builtin(spec)


def test_any_other_tool_with_such_a_schema_is_refused() -> None:
    with pytest.raises(CallerError, match=r"tools\[0\]\.parameters") as caught:
        make_tool_spec("search", "Searches.", ODD, "tools[0]")
    assert caught.value.param == "tools[0].parameters"
    assert not is_builtin(make_tool("search", **(builtin_schema("ipython") or {})))


def test_a_good_schema_is_the_clients_own() -> None:
    own = make_tool("brave_search", type="object", properties={"query": {"type": "string", "maxLength": 9}})
    assert with_builtin_schema(own) is own
    assert is_builtin(own)
    assert not takes_any_text(own)
    described = make_tool("ipython", properties={"code": {"type": "string", "description": "Python."}})
    assert is_builtin(described)
    assert takes_any_text(described)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"q": {"type": "string"}}},
        {"properties": {"q": {"type": "string"}, "query": {"type": "string"}}, "required": ["q"]},
        {"properties": {"query": {"type": "integer"}}},
        {},
    ],
    ids=str,
)
def test_a_tool_that_takes_something_else_only_has_the_name(schema: dict[str, Any]) -> None:
    assert not is_builtin(make_tool("brave_search", **schema))
