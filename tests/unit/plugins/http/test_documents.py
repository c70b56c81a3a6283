"""Whole documents, read from folders: every operation is called, and what arrives fits the document."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin, read_plugins
from rightseat.plugins.plugin import Operation, Plugin
from rightseat.types.messages import FileMessagePart, Message, TextMessagePart
from rightseat.types.schema import get_validator
from tests.unit.plugins.http.plugin_values import call_tool
from tests.unit.plugins.http.recording_api import RecordedRequest, RecordingApi, make_json_response, make_raw_response
from tests.unit.plugins.http.samples import make_sample

pytestmark = pytest.mark.io

REAL_PLUGINS = Path(__file__).resolve().parents[5] / "shared" / "plugins"
ATTACHED = (Message("user", (TextMessagePart("here"), FileMessagePart("data.bin", "application/x-data", "AAEC"))),)
PETS = """
openapi: 3.0.0
info: {title: Pets, version: "1"}
servers: [{url: "https://pets.example/{v}", variables: {v: {default: v2}}}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List all pets
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 100}}
        - {name: tags, in: query, style: form, explode: false, schema: {type: array, items: {type: string}}}
        - {name: filter, in: query, style: deepObject, schema: {properties: {age: {type: integer}}}}
      responses:
        "200":
          description: A page of pets
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}
        default: {description: Trouble}
    post:
      operationId: createPet
      summary: Add a pet
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
      responses: {"201": {description: Added}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: integer, format: int64}}]
    get: {operationId: showPet, summary: Show a pet, responses: {"200": {description: The pet}}}
    put:
      summary: Change a pet with a form
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [name], properties: {name: {type: string}, now: {type: string}}}
      responses: {"200": {description: Changed}}
    patch:
      summary: Rename a pet
      requestBody: {content: {text/plain: {schema: {type: string}}}}
      responses: {"204": {description: Renamed}}
    delete:
      summary: Remove a pet
      parameters: [{name: api_key, in: header, schema: {type: string}}]
      responses: {"204": {description: Removed}}
    head: {summary: Ask for a pet, responses: {"200": {description: There}}}
  /pets/{petId}/photo:
    post:
      summary: Upload a photo
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              properties: {note: {type: string}, file: {type: string, format: binary}}
              required: [file]
      responses: {"200": {description: Uploaded}}
    put:
      summary: Send a photo as it is
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      requestBody: {required: true, content: {image/png: {schema: {type: string, format: binary}}}}
      responses:
        "200": {description: The photo, content: {image/png: {schema: {type: string, format: binary}}}}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        id: {type: integer}
        name: {type: string, example: Rex}
        parent: {$ref: "#/components/schemas/Pet"}
"""


def write_plugin(path: Path, document: str) -> Plugin:
    path.mkdir()
    (path / "plugin.json").write_text('{"id":"pets","name":"Pets","description":"All about pets."}')
    (path / "openapi.yaml").write_text(document)
    return read_plugin(path)


async def call_all_operations(plugin: Plugin, api: RecordingApi) -> int:
    """Every operation, against a server that answers in the shape of the document."""
    gate = PluginPolicy(allow=("127.0.0.1",), server=f"{api.url}/base", confirm="never", retries=0)
    # Who signs in is not asked here.
    found = make_operation_tools(replace(plugin, auth=tuple(one for one in plugin.auth if one.kind != "oidc")), gate)
    try:
        for operation, tool in zip(plugin.operations, found, strict=True):
            arguments = make_sample(tool.parameters, tool.parameters)
            api.replies = [make_sample_response(operation)]
            before = len(api.requests)
            result = await call_tool(tool, arguments, messages=ATTACHED)
            assert not result.result.failed, (operation.id, arguments, result.last)
            [got] = api.requests[before:]
            check_request(operation, arguments, got)
    finally:
        for tool in found:
            assert tool.close is not None
            await tool.close()
    return len(found)


def make_sample_response(operation: Operation) -> Any:
    good = next((one for one in operation.responses if one.status.startswith("2")), None)
    if good is None or good.schema is None or "json" not in good.media:
        return make_raw_response(b"\x00\x01", "application/octet-stream")
    return make_json_response(make_sample(good.schema, good.schema))


def check_request(operation: Operation, arguments: dict[str, Any], received: RecordedRequest) -> None:
    assert received.method == operation.method.upper()
    template = operation.path.partition("?")[0]
    pattern = "[^/]+".join(map(re.escape, re.split(r"\{[^{}]+\}", template)))
    assert re.fullmatch("/base" + pattern, received.raw_target.partition("?")[0]), (operation.id, received.raw_target)
    names = {name for name, _ in received.query}
    for one in operation.parameters:
        if one.required and one.place == "query" and isinstance(arguments[one.argument], str | int | float):
            assert one.name in names, (operation.id, one.name)
        if one.required and one.place == "header" and one.argument not in operation.secured:
            assert one.name.lower() in received.headers, (operation.id, one.name)
    body = operation.body
    if body is None or not body.required:
        return
    assert received.headers["content-type"].startswith(body.media.partition(";")[0])
    if "json" in body.media:
        assert get_validator(body.schema).find_problem(json.loads(received.body)) is None, (operation.id, received.body)
    elif body.media.startswith("multipart/"):
        for name in body.schema.get("required") or ():
            assert f'name="{name}"'.encode() in received.body


@pytest.mark.demand("plugins.petstore_like_document_500")
async def test_every_operation_of_a_document_like_petstore(api: RecordingApi, tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "pets", PETS)
    assert [one for one in plugin.problems if one.gravity == "error"] == []
    assert await call_all_operations(plugin, api) == 9


@pytest.mark.demand("plugins.petstore_like_document_500")
async def test_the_arguments_arrive_as_the_document_says(api: RecordingApi, tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "pets", PETS)
    found = {
        tool.name: tool for tool in make_operation_tools(plugin, PluginPolicy(allow=("127.0.0.1",), server=api.url))
    }
    await call_tool(found["pets_listPets"], {"limit": 5, "tags": ["a", "b c"], "filter": {"age": 3}})
    assert api.last_request.raw_target == "/pets?limit=5&tags=a,b%20c&filter%5Bage%5D=3"
    upload = next(tool for tool in found.values() if "Upload" in tool.description)
    await call_tool(upload, {"petId": 7, "note": "n"}, messages=ATTACHED)
    assert api.last_request.raw_target == "/pets/7/photo"
    assert sorted(api.parsed_forms[0]) == [("file", "data.bin", "application/x-data", b"\0\1\2"), ("note", "n")]
    for tool in found.values():
        assert tool.close is not None
        await tool.close()


@pytest.mark.demand("plugins.petstore_like_document_500")
@pytest.mark.long
async def test_a_document_of_500_operations(api: RecordingApi, tmp_path: Path) -> None:
    paths = {
        f"/things{number}/{{id}}": {
            "get": {
                "description": f"Thing {number}",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "limit", "in": "query", "required": True, "schema": {"type": "integer"}},
                ],
                "responses": {"200": {"description": "It."}},
            },
            "post": {
                "description": f"Change thing {number}",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["a"],
                                "properties": {"a": {"type": "string", "pattern": "^h-[0-9]{3}$"}},
                            }
                        }
                    }
                },
                "responses": {"200": {"description": "Done."}},
            },
        }
        for number in range(250)
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Many", "version": "1"},
        "servers": [{"url": "https://many.example"}],
        "paths": paths,
    }
    plugin = write_plugin(tmp_path / "many", json.dumps(document))
    begun = time.process_time()
    names = {tool.name for tool in make_operation_tools(plugin, PluginPolicy())}
    assert time.process_time() - begun < 15
    assert len(names) == 500
    assert await call_all_operations(plugin, api) == 500


@pytest.mark.demand("plugins.real_plugins_present_all")
@pytest.mark.skipif(not REAL_PLUGINS.is_dir(), reason="no real plugins here")
async def test_every_operation_of_real_plugins(api: RecordingApi, capsys: pytest.CaptureFixture[str]) -> None:
    counts = {plugin.id: await call_all_operations(plugin, api) for plugin in read_plugins([REAL_PLUGINS])}
    with capsys.disabled():
        print(f"\nreal plugins: {sum(counts.values())} operations called: {counts}")
    assert counts["aops-apollo"] == 43
    assert counts["cmdb_ops"] == 3
    assert sum(counts.values()) == len(api.requests)
