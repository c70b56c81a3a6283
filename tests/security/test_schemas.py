"""Schemas of 2 KB whose references double at each level: refused with a sentence wherever a schema is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import CallerError
from rightseat.types.schema import get_validator
from tests.kit.command import run_command
from tests.security.conftest import ALICE, Deployment

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

LEVELS = 40
REFUSAL = "has references that multiply to more than"


def make_doubling_schema(keyword: str = "allOf", levels: int = LEVELS, prefix: str = "#/$defs/") -> dict[str, Any]:
    """Make a schema in which each definition names the next one twice."""
    definitions: dict[str, Any] = {f"d{levels}": {"type": "object"}}
    for level in range(levels):
        reference = {"$ref": f"{prefix}d{level + 1}"}
        definitions[f"d{level}"] = {keyword: [reference, reference]}
    return {"type": "object", "$ref": f"{prefix}d0", "$defs": definitions}


def make_requests(schema: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Make a request for each place of a body that takes a schema."""
    message = {"id": "1", "role": "user", "content": "hello"}
    function = {"name": "f", "description": "f", "parameters": schema}
    strict = {"name": "n", "schema": schema}
    run_input = {"threadId": "t", "runId": "r", "messages": [message], "tools": [function], "context": [], "state": {}}
    chat = "/v1/chat/completions"
    return {
        "a chat tool": (chat, {"messages": [message], "tools": [{"type": "function", "function": function}]}),
        "a legacy function": (chat, {"messages": [message], "functions": [function]}),
        "a response format": (
            chat,
            {"messages": [message], "response_format": {"type": "json_schema", "json_schema": strict}},
        ),
        "an AG-UI tool": ("/agui/default", {**run_input, "forwardedProps": {}}),
    }


PLACES = tuple(make_requests({}))


@pytest.mark.demand("security.schema_cost")
@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
@pytest.mark.parametrize("place", PLACES)
async def test_a_doubling_schema_is_refused(deployment: Deployment, place: str, keyword: str) -> None:
    target, body = make_requests(make_doubling_schema(keyword))[place]
    head, answer = await deployment.send_request(
        "POST", target, {"X-Api-Key": ALICE, "Content-Type": "application/json"}, json.dumps(body).encode()
    )
    assert head.status in (400, 422), answer
    assert REFUSAL in answer.decode()


@pytest.mark.demand("security.schema_cost")
async def test_a_doubling_schema_of_a_workspace_tool_is_left_out(deployment: Deployment) -> None:
    tool = {
        "server_id": "s",
        "name": "t",
        "url": "http://x",
        "description": "t",
        "input_schema": make_doubling_schema(),
    }
    body = {"messages": [{"role": "human", "content": "fault-ok"}], "tools": [tool], "timezone": "UTC"}
    head, answer = await deployment.send_request(
        "POST", "/v1/query", {"X-Api-Key": ALICE, "X-Trace-Id": "a"}, json.dumps(body).encode()
    )
    assert head.status == 200
    assert b"copilotMessage" in answer


@pytest.mark.demand("security.schema_cost")
async def test_a_doubling_schema_of_a_plugin_is_a_problem(tmp_path: Path) -> None:
    schema = make_doubling_schema(prefix="#/components/schemas/")
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/d0"}}}}
    operation = {"operationId": "f", "summary": "f", "requestBody": body, "responses": {"200": {"description": "ok"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/f": {"post": operation}},
        "components": {"schemas": schema["$defs"]},
    }
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "openapi.json").write_text(json.dumps(document))
    done = await run_command("plugins", "check", str(tmp_path / "shop"))
    assert REFUSAL in done.out + done.err


FLOW = """
name: f
description: Asks for values.
steps:
  - name: start
    call_type: ask
    params: {{question: Which?, schema: {schema}}}
"""


@pytest.mark.demand("security.schema_cost")
async def test_a_doubling_schema_of_a_flow_is_a_problem(tmp_path: Path) -> None:
    """JSON is YAML too. The problem names the place of the schema."""
    (tmp_path / "shop" / "flows").mkdir(parents=True)
    flow = FLOW.format(schema=json.dumps(make_doubling_schema()))
    (tmp_path / "shop" / "flows" / "f.yaml").write_text(flow)
    done = await run_command("plugins", "check", str(tmp_path / "shop"))
    assert done.code == 1
    assert REFUSAL in done.out + done.err
    assert "params.schema" in done.out + done.err


# Recursive schemas double with the depth of the value: validating shares the work, listing the reasons would not.
NODE = {"$ref": "#/$defs/node"}
RECURSIVE: dict[str, dict[str, Any]] = {
    "allOf": {"type": "object", "properties": {"a": {"allOf": [NODE, NODE]}}},
    "oneOf": {"type": "object", "properties": {"a": {"oneOf": [NODE, NODE]}}},
    "branches": {"anyOf": [{"properties": {"a": NODE}, "required": ["b"]}, {"properties": {"a": NODE, "b": False}}]},
    "patterns": {"type": "object", "properties": {"a": NODE}, "patternProperties": {"a": NODE, "^a": NODE}},
    "unevaluated": {
        "anyOf": [{"properties": {"a": NODE}}, {"properties": {"a": NODE}}],
        "unevaluatedProperties": False,
    },
}


@pytest.mark.demand("security.schema_cost")
@pytest.mark.parametrize("name", RECURSIVE)
@pytest.mark.parametrize("leaf", [{"c": 1}, 1])
async def test_a_deep_value_of_a_recursive_schema_is_judged(name: str, leaf: Any) -> None:
    value = leaf
    for _ in range(60):
        value = {"a": value}
    validator = get_validator({**NODE, "$defs": {"node": RECURSIVE[name]}})
    problem = validator.find_problem(value)
    if problem is not None:
        assert "too deeply nested to say where" in problem
    assert validator.find_missing(value) in (None, [])


@pytest.mark.demand("security.schema_cost")
async def test_reasons_are_not_listed_where_they_double() -> None:
    """Not deeper, so that the list is long and not endless where nothing bounds it."""
    value: Any = 1
    for _ in range(15):
        value = {"a": value}
    problem = get_validator({**NODE, "$defs": {"node": RECURSIVE["allOf"]}}).find_problem(value)
    assert problem is not None
    assert "too deeply nested to say where" in problem


@pytest.mark.demand("security.schema_cost")
@pytest.mark.parametrize(
    "schema",
    [
        make_doubling_schema(prefix="http://x.example/root#/$defs/") | {"$id": "http://x.example/root"},
        make_doubling_schema(levels=13),
        {"$defs": {"a": {"anyOf": [NODE] * 9}, "node": {"allOf": [{"$ref": "#/$defs/a"}] * 9}}, **NODE},
    ],
    ids=["absolute references", "just too many", "endless"],
)
async def test_other_spellings_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(CallerError, match=REFUSAL):
        get_validator(schema)


@pytest.mark.parametrize("levels", [1, 11])
async def test_a_schema_within_the_limit_is_taken(levels: int) -> None:
    validator = get_validator(make_doubling_schema(levels=levels))
    assert validator.find_problem({}) is None
    assert validator.find_problem(3) is not None
