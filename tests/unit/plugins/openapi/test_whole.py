"""Whole documents: a shop of pets of our own, five hundred operations, and the plugins that exist."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.load import read_plugin, read_plugins
from rightseat.plugins.plugin import Operation
from rightseat.types.schema import get_validator
from tests.unit.plugins.folders import load_plugin, write_plugin

REAL_PLUGINS = Path(__file__).parents[5] / "shared" / "plugins"

SHOP = """
openapi: 3.0.3
info: {title: Shop of pets, version: 1.0.0}
servers: [{url: "https://pets.example.com/api"}]
paths:
  /pets:
    parameters: [{$ref: "#/components/parameters/Tenant"}]
    get:
      operationId: findPets
      summary: Finds pets by state and tags
      parameters:
        - {name: state, in: query, schema: {type: array, items: {type: string, enum: [here, sold]}}}
        - {name: page, in: query, style: deepObject, schema: {$ref: "#/components/schemas/Page"}}
      responses:
        "200":
          description: Pets
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}
        default: {$ref: "#/components/responses/Error"}
    post:
      operationId: addPet
      summary: Adds a pet
      requestBody: {$ref: "#/components/requestBodies/Pet"}
      responses: {"201": {description: The pet}}
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: integer, format: int64, minimum: 1}}
    get: {summary: Shows a pet, responses: {"200": {description: The pet}}}
    delete: {summary: Gives a pet away, x-dangerous: true, responses: {"204": {description: Gone}}}
  /pets/{petId}/photo:
    post:
      summary: Keeps a photo of a pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {"200": {description: Where it is}}
components:
  parameters:
    Tenant: {name: X-Tenant, in: header, schema: {type: string}, required: true}
  requestBodies:
    Pet: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
  responses:
    Error: {description: What went wrong, content: {application/json: {schema: {type: object}}}}
  schemas:
    Page: {type: object, properties: {size: {type: integer, default: 20}, number: {type: integer}}}
    Animal:
      type: object
      required: [name]
      discriminator: {propertyName: kind}
      properties: {name: {type: string, minLength: 1}, kind: {type: string}}
    Pet:
      allOf:
        - {$ref: "#/components/schemas/Animal"}
        - type: object
          properties:
            id: {type: integer, readOnly: true}
            parents: {type: array, items: {$ref: "#/components/schemas/Pet"}, maxItems: 2}
"""


def find_faults(operation: Operation) -> list[str]:
    """What is wrong with an operation that is about to be a tool."""
    schema, faults = operation.arguments, []
    keys = {one.argument for one in operation.parameters} - set(operation.secured)
    if operation.body is not None:
        keys |= set(operation.body.fields.values()) or {operation.body.argument}
    if set(schema["properties"]) != keys:
        faults.append(f"{operation.id}: {keys} are not {set(schema['properties'])}")
    if not set(schema.get("required", ())) <= keys:
        faults.append(f"{operation.id}: what is required is not there")
    faults += [
        f"{operation.id}: {one.name} is not in the path"
        for one in operation.parameters
        if one.place == "path" and (f"{{{one.name}}}" not in operation.path or not one.required)
    ]
    if "#/components" in json.dumps(schema) or "#/definitions" in json.dumps(schema):
        faults.append(f"{operation.id}: a reference leads out")
    if not operation.description or not operation.name.isascii():
        faults.append(f"{operation.id}: {operation.name!r} says nothing")
    get_validator(schema)
    return faults


@pytest.mark.demand("plugins.petstore_like_document_500")
def test_a_shop_of_pets(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, SHOP)
    assert [one for one in found.problems if one.gravity != "style"] == []
    operations = {one.id: one for one in found.operations}
    assert list(operations) == [
        "GET /pets",
        "POST /pets",
        "GET /pets/{petId}",
        "DELETE /pets/{petId}",
        "POST /pets/{petId}/photo",
    ]
    assert [fault for one in operations.values() for fault in find_faults(one)] == []
    assert [one.dangerous for one in operations.values()] == [False, False, False, True, False]
    add = get_validator(operations["POST /pets"].arguments)
    assert add.find_problem({"X-Tenant": "a", "name": "Rex", "parents": [{"name": "Kim", "parents": []}]}) is None
    assert add.find_problem({"X-Tenant": "a", "name": ""})
    assert add.find_problem({"X-Tenant": "a", "name": "Rex", "id": 1}), "what is readOnly is not asked for"
    assert add.find_problem({"name": "Rex"}), "the header is required"
    find = operations["GET /pets"]
    assert find.arguments["properties"]["page"]["properties"]["size"]["default"] == 20


@pytest.mark.demand("plugins.petstore_like_document_500")
def test_five_hundred_operations(tmp_path: Path) -> None:
    paths: dict[str, Any] = {}
    for n in range(250):
        schema = {"$ref": f"#/components/schemas/S{n % 50}"}
        paths[f"/things{n}/{{id}}"] = {
            "get": {"description": f"Shows thing {n}.", "parameters": [{"name": "q", "in": "query"}]},
            "put": {
                "description": f"Writes thing {n}.",
                "requestBody": {"content": {"application/json": {"schema": schema}}},
            },
        }
    schemas = {
        f"S{n}": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"$ref": f"#/components/schemas/S{(n + 1) % 50}"}},
        }
        for n in range(50)
    }
    document = {"openapi": "3.1.0", "servers": [{"url": "https://x.example.com"}], "paths": paths}
    made = write_plugin(tmp_path, {**document, "components": {"schemas": schemas}})
    begun = time.process_time()
    found = read_plugin(made)
    assert time.process_time() - begun < 30
    assert len(found.operations) == 500
    assert len({one.name for one in found.operations}) == 500
    assert [fault for one in found.operations for fault in find_faults(one)] == []


@pytest.mark.demand("plugins.real_plugins_present_all")
@pytest.mark.skipif(not REAL_PLUGINS.is_dir(), reason="no plugins of others here")
def test_the_plugins_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    found = {one.id: one for one in read_plugins([REAL_PLUGINS], strict=True)}
    operations = [operation for one in found.values() for operation in one.operations]
    assert [fault for one in operations for fault in find_faults(one)] == []
    for home in REAL_PLUGINS.iterdir():
        if (home / "openapi.yaml").is_file():
            words = [line.strip() for line in (home / "openapi.yaml").read_text("utf-8").splitlines()]
            methods = sum(word in ("get:", "post:", "put:", "delete:", "patch:") for word in words)
            assert len(found[home.name].operations) == methods, home.name
    with capsys.disabled():
        print(f" [{len(found)} plugins, {len(operations)} operations read]", end="")
