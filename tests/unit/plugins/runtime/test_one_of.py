"""A oneOf whose branches overlap, over real HTTP: what is sent, what `plugins check` says, what a flow fails with."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rightseat.cli import app
from rightseat.config.load import load_config
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import serve_runtime
from tests.unit.plugins.runtime.api_plugins import serve_json_api
from tests.unit.plugins.runtime.live_plugin import PluginClient

pytestmark = pytest.mark.io
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
BY_ID = {"type": "object", "properties": {"id": INTEGER}}
BY_NAME = {"type": "object", "properties": {"name": STRING}}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "age": INTEGER}, "required": ["kind"]}
CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "age": INTEGER}, "required": ["kind"]}
CLOSED = {"type": "object", "properties": {"id": INTEGER}, "required": ["id"], "additionalProperties": False}
OPEN = {"type": "object", "properties": {"name": STRING}, "required": ["name"]}


def write_plugin(home: Path, url: str, schema: Any, values: Any, schemas: Any = None) -> Path:
    """A plugin with one operation and one flow that calls it with these values."""
    body = {"type": "object", "required": ["target"], "properties": {"target": schema, "count": INTEGER}}
    operation = {
        "description": "Sends a target.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "ok"}},
    }
    document = {
        "openapi": "3.0.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": url}],
        "paths": {"/targets": {"post": operation}},
        "components": {"schemas": schemas or {}},
    }
    step = {"name": "send", "call_type": "api", "params": {"endpoint": "POST /targets", "values": values}}
    start = {"name": "start", "call_type": "none", "next": "send"}
    flow = {"name": "aim", "description": "Aims.", "steps": [start, step]}
    folder = home / "plugins" / "p"
    (folder / "flows").mkdir(parents=True)
    (folder / "plugin.json").write_text('{"name": "P", "description": "Targets."}', "utf-8")
    (folder / "openapi.yaml").write_text(json.dumps(document, indent=1), "utf-8")
    (folder / "flows" / "aim.yaml").write_text(json.dumps(flow), "utf-8")
    calls = [{"name": "p_post_targets", "arguments": values}]
    turns = [{"when": {"user": "^aim"}, "calls": calls}, {"when": {}, "say": "Done."}]
    (home / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")
    text = (
        f'[models.m]\nspec = "scripted:{home / "turns.json"}"\n[[plugins]]\npath = "plugins"\nallow = ["127.0.0.1"]\n'
    )
    (home / "rightseat.toml").write_text(text, "utf-8")
    return folder


async def send_values(home: Path, schema: Any, values: Any, **more: Any) -> tuple[list[Any], list[str]]:
    """What arrives at the API from the flow and from a model's call, and what each of the two is told of a failure."""
    failures = []
    async with serve_json_api() as api:
        write_plugin(home, api.url, schema, values, **more)
        runtime = build_runtime(load_config(home / "rightseat.toml", env={}), env={})
        async with serve_runtime(runtime) as server:
            for agent in ("p.aim", "default"):
                client = PluginClient(server.url, agent)
                seen = await client.send_message("aim")
                failures.append(client.failure or "".join(seen.results.values()))
    return [json.loads(body) for body in api.bodies], failures


def check_plugin(folder: Path) -> str:
    return CliRunner().invoke(app, ["plugins", "check", str(folder)]).output


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
@pytest.mark.parametrize(
    ("schema", "target"),
    [
        ({"oneOf": [INTEGER, {"type": "number"}]}, 3),
        ({"oneOf": [BY_ID, BY_NAME]}, {"id": 1, "name": "x"}),
        ({"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]}, {"id": 1}),
        ({"oneOf": [{**STRING, "format": "ipv4"}, {**STRING, "format": "ipv6"}]}, "10.0.0.1"),
        ({"oneOf": [{**STRING, "pattern": "^a"}, {**STRING, "pattern": "b$"}]}, "ab"),
        ({"type": "array", "items": {"oneOf": [BY_ID, BY_NAME]}}, [{"id": 1}, {}]),
        ({"type": "array", "items": {"oneOf": [{**STRING, "nullable": True}, {**INTEGER, "nullable": True}]}}, [None]),
        ({"oneOf": [BY_ID, BY_NAME], "anyOf": [BY_ID, STRING]}, {"id": 1}),
    ],
)
async def test_a_value_that_fits_two_branches_is_sent(tmp_path: Path, schema: Any, target: Any) -> None:
    schemas = {"A": BY_ID, "B": BY_NAME}
    sent, failures = await send_values(tmp_path, schema, {"target": target}, schemas=schemas)
    assert sent == [{"target": target}] * 2, failures
    output = check_plugin(tmp_path / "plugins" / "p")
    assert "A value may fit more than one of its branches; it is read as anyOf." in output
    assert "requestBody.content.application/json.schema.properties.target" in output or "components" in output
    assert "openapi.yaml:" in output


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
@pytest.mark.parametrize(
    ("schema", "target"),
    [
        ({"oneOf": [STRING, INTEGER]}, 3),
        ({"oneOf": [DOG, CAT]}, {"kind": "cat", "age": 3}),
        ({"oneOf": [CLOSED, OPEN]}, {"name": "x", "id": 3}),
        ({"oneOf": [{**INTEGER, "maximum": 9}, {**INTEGER, "minimum": 10}]}, 10),
    ],
)
async def test_branches_that_differ_stay_as_they_are(tmp_path: Path, schema: Any, target: Any) -> None:
    sent, failures = await send_values(tmp_path, schema, {"target": target})
    assert sent == [{"target": target}] * 2, failures
    assert "no problems" in check_plugin(tmp_path / "plugins" / "p")


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
@pytest.mark.parametrize(
    ("schema", "values", "why"),
    [
        (STRING, {"target": "x", "count": "many"}, 'count: "many" is not of type "integer"'),
        ({**STRING, "enum": ["a", "b"]}, {"target": "c"}, 'target: "c" is not one of "a" or "b"'),
        ({"oneOf": [INTEGER, {"type": "number"}]}, {"target": "x"}, 'target: "x" is not of type "integer", and "x" is'),
        ({"oneOf": [DOG, CAT]}, {"target": {"kind": "cat", "age": "x"}}, 'target.age: "x" is not of type "integer"'),
        ({"oneOf": [DOG, CAT]}, {"target": {"kind": "cow"}}, 'target.kind: "dog" was expected, and target.kind: "cat"'),
        ({"oneOf": [BY_ID, STRING]}, {"target": {"id": "x"}}, 'target.id: "x" is not of type "integer"'),
        ({"type": "array", "items": {"anyOf": [CLOSED, STRING]}}, {"target": [{}]}, 'target[0]: "id" is a required'),
        (STRING, {"target": "x", "bogus": 1}, "'bogus' was unexpected"),
    ],
)
async def test_a_failure_names_the_argument_and_the_reason(tmp_path: Path, schema: Any, values: Any, why: str) -> None:
    sent, (failure, result) = await send_values(tmp_path, schema, values)
    assert sent == []
    assert failure.startswith("The flow p/aim failed at step 'send': The arguments do not fit POST /targets: ")
    assert why in failure
    assert why in json.loads(result)["error"]["message"]


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
async def test_a_failure_of_the_models_arguments_names_them_too(tmp_path: Path) -> None:
    async with serve_json_api() as api:
        folder = write_plugin(tmp_path, api.url, INTEGER, {})
        document = json.loads((folder / "openapi.yaml").read_text("utf-8"))
        body = document["paths"]["/targets"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        # A person would be asked for a required one.
        del body["required"]
        (folder / "openapi.yaml").write_text(json.dumps(document), "utf-8")
        flow = (folder / "flows" / "aim.yaml").read_text("utf-8")
        (folder / "flows" / "aim.yaml").write_text(flow.replace(', "values": {}', ""), "utf-8")
        turns = {"turns": [{"when": {}, "say": '{"target": "many"}'}]}
        (tmp_path / "turns.json").write_text(json.dumps(turns), "utf-8")
        runtime = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
        async with serve_runtime(runtime) as server:
            client = PluginClient(server.url, "p.aim")
            await client.send_message("aim")
    assert api.requests == []
    assert "failed at step 'send'" in client.failure
    assert 'target: "many" is not of type "integer"' in client.failure
