"""3.0, 3.1 and 2.0 say the same in their own words."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Operation, Plugin
from tests.unit.plugins.folders import find_problem, load_plugin, make_api_document, write_plugin

SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Hosts", "version": "1"},
    "host": "api.example.com:8443",
    "basePath": "/v1/",
    "schemes": ["https", "http", "ws"],
    "consumes": ["application/json"],
    "produces": ["application/json"],
    "paths": {
        "/hosts": {
            "get": {
                "operationId": "listHosts",
                "summary": "Lists hosts",
                "parameters": [
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}},
                    {
                        "name": "tags",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "multi",
                    },
                    {"name": "a", "in": "query", "type": "array", "items": {}, "collectionFormat": "pipes"},
                    {"$ref": "#/parameters/Limit"},
                ],
                "responses": {
                    "200": {
                        "description": "Hosts",
                        "schema": {"type": "array", "items": {"$ref": "#/definitions/Host"}},
                    }
                },
            },
            "post": {
                "summary": "Adds a host",
                "parameters": [
                    {"name": "host", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Host"}}
                ],
                "responses": {"201": {"description": "It"}},
            },
        },
        "/upload": {
            "post": {
                "summary": "Uploads a file",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "file", "in": "formData", "type": "file", "required": True, "description": "The file"},
                    {"name": "note", "in": "formData", "type": "string"},
                ],
                "responses": {"204": {"description": ""}},
            },
            "put": {
                "summary": "Sends a form",
                "parameters": [{"name": "n", "in": "formData", "type": "integer", "required": True}],
                "responses": {"204": {"description": ""}},
            },
        },
    },
    "parameters": {"Limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 100, "required": True}},
    "definitions": {
        "Host": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "note": {"type": "string", "x-nullable": True}},
        }
    },
    "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
}


@pytest.fixture
def swagger_operations(tmp_path: Path) -> dict[str, Operation]:
    found = load_plugin(tmp_path, SWAGGER)
    assert [one for one in found.problems if one.gravity != "style"] == []
    return {one.id: one for one in found.operations}


@pytest.mark.demand("plugins.openapi_3_0_3")
def test_version_2_has_every_operation(swagger_operations: dict[str, Operation]) -> None:
    assert list(swagger_operations) == ["GET /hosts", "POST /hosts", "POST /upload", "PUT /upload"]
    for operation in swagger_operations.values():
        urls = [server.url for server in operation.servers]
        assert urls == ["https://api.example.com:8443/v1", "http://api.example.com:8443/v1"]


@pytest.mark.demand("plugins.openapi_3_0_3")
def test_parameters_of_version_2(swagger_operations: dict[str, Operation]) -> None:
    operation = swagger_operations["GET /hosts"]
    assert operation.name == "listHosts"
    written = {one.name: (one.style, one.explode) for one in operation.parameters}
    assert written == {
        "ids": ("form", False),
        "tags": ("form", True),
        "a": ("pipeDelimited", False),
        "limit": ("form", False),
    }
    assert operation.arguments["properties"]["limit"] == {"type": "integer", "maximum": 100}
    assert operation.arguments["required"] == ["limit"]
    assert operation.responses[0].media == "application/json"
    assert operation.responses[0].schema is not None
    assert operation.responses[0].schema["type"] == "array"


@pytest.mark.demand("plugins.openapi_3_0_3")
def test_bodies_of_version_2(swagger_operations: dict[str, Operation]) -> None:
    post, upload, form = (swagger_operations[name] for name in ("POST /hosts", "POST /upload", "PUT /upload"))
    assert post.body is not None
    assert (post.body.media, post.arguments["required"]) == ("application/json", ["name"])
    assert post.arguments["properties"]["note"] == {"type": ["string", "null"]}
    assert upload.body is not None
    assert upload.body.media == "multipart/form-data"
    assert upload.arguments["properties"]["file"] == {"type": "string", "format": "binary", "description": "The file"}
    assert upload.arguments["required"] == ["file"]
    assert form.body is not None
    assert form.body.media == "application/x-www-form-urlencoded"


def test_version_2_without_a_host(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, {key: value for key, value in SWAGGER.items() if key != "host"})
    assert find_problem(found, "names no host").key == "host"


@pytest.mark.demand("plugins.openapi_3_0_3")
@pytest.mark.parametrize("version", ["3.0.0", "3.0.3", "3.1.0", "3.1", 3.0, 3.1, "3.2.0"])
def test_versions_3(tmp_path: Path, version: Any) -> None:
    found = load_plugin(tmp_path, make_api_document(openapi=version))
    assert (len(found.operations), found.problems) == (1, ())


@pytest.mark.parametrize("version", ["4.0", "1.2", "", None])
def test_other_versions_are_told_and_tried(tmp_path: Path, version: Any) -> None:
    found = load_plugin(tmp_path, make_api_document(openapi=version))
    assert len(found.operations) == 1
    assert [one.key for one in found.problems] == ["openapi"]


@pytest.mark.demand("plugins.openapi_3_0_3")
def test_a_schema_in_the_words_of_3_1(tmp_path: Path) -> None:
    schema = {
        "type": ["object", "null"],
        "properties": {
            "a": {"type": ["string", "null"], "examples": ["x"]},
            "b": {"const": 1},
            "c": {"exclusiveMinimum": 0, "type": "number"},
            "d": {"$ref": "#/components/schemas/D", "description": "beside"},
        },
    }
    body = {"content": {"application/json": {"schema": schema}}}
    components = {"schemas": {"D": {"type": "string"}}}
    document = make_api_document({"requestBody": body}, method="post", openapi="3.1.0", components=components)
    [operation] = load_plugin(tmp_path, document).operations
    assert operation.arguments["properties"]["body"] == {
        "type": ["object", "null"],
        "properties": {
            "a": {"type": ["string", "null"], "examples": ["x"]},
            "b": {"const": 1},
            "c": {"exclusiveMinimum": 0, "type": "number"},
            "d": {"type": "string", "description": "beside"},
        },
    }


@pytest.mark.parametrize("text", ["", "[]", "just words", "7", "null", "a: 1"])
def test_what_is_no_api_document_is_told(tmp_path: Path, text: str) -> None:
    found: Plugin = read_plugin(write_plugin(tmp_path, text))
    assert found.operations == ()
    assert any(one.gravity == "error" and one.file == "openapi.yaml" for one in found.problems)
