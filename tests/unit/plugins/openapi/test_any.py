"""Whatever stands in the files, reading them never raises, and what comes out can be used."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rightseat.plugins.load import read_plugin
from rightseat.types.schema import get_validator

KEYS = st.sampled_from(
    [
        "$ref",
        "type",
        "required",
        "properties",
        "items",
        "allOf",
        "oneOf",
        "anyOf",
        "enum",
        "const",
        "default",
        "pattern",
        "nullable",
        "example",
        "examples",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "multipleOf",
        "parameters",
        "schema",
        "content",
        "in",
        "name",
        "requestBody",
        "responses",
        "servers",
        "url",
        "variables",
        "security",
        "components",
        "schemas",
        "readOnly",
        "format",
        "style",
        "explode",
        "encoding",
        "consumes",
        "swagger",
        "host",
        "basePath",
        "description",
        "additionalProperties",
        "operationId",
        "get",
        "post",
        "dangerous",
        "paths",
        "info",
        "title",
        "openapi",
        "200",
        "A",
        "a",
        "{id}",
        "application/json",
        "multipart/form-data",
        "x-www-form-urlencoded",
        "auth",
        "args",
        "header",
        "oidc",
        "id",
        "automatic_flow",
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(
        [
            "string",
            "object",
            "array",
            "integer",
            "timestamp",
            "query",
            "path",
            "header",
            "body",
            "formData",
            "true",
            "#/components/schemas/A",
            "#/A",
            "other.yaml",
            "http://x/y",
            "https://{a}/",
            "[",
            "\\d+",
            "env:X",
        ]
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def read_any_plugin(folder: Path, manifest: Any, document: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (folder / "openapi.yaml").write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    found = read_plugin(folder, strict=True)
    for operation in found.operations:
        get_validator(operation.arguments)
        msgspec.json.encode([operation.responses, operation.parameters, operation.body])
    for problem in found.problems:
        assert problem.what
        assert problem.fix
        assert problem.file in (".", "plugin.json", "openapi.yaml") or problem.file.startswith("lib")


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
@QUIET
@given(OBJECTS, OBJECTS)
def test_any_objects(tmp_path: Path, manifest: Any, document: Any) -> None:
    read_any_plugin(tmp_path / "plugin", manifest, document)


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
@QUIET
@given(st.lists(VALUES, min_size=4, max_size=4))
def test_any_parts_of_a_document(tmp_path: Path, parts: list[Any]) -> None:
    parameters, schema, responses, servers = parts
    operation = {
        "parameters": [parameters, {"name": "p", "in": "query", "schema": schema}],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"content": {"application/json": {"schema": responses}}}, "default": responses},
        "servers": servers,
    }
    document = {"openapi": "3.0.0", "paths": {"/a/{id}": {"post": operation, "get": parameters}}}
    components = {"schemas": {"A": schema, "B": responses}}
    read_any_plugin(tmp_path / "plugin", {"name": "a", "auth": parameters}, {**document, "components": components})


@pytest.mark.demand("plugins.yaml_bombs_50_mb")
@QUIET
@given(st.binary(max_size=60), st.text(max_size=60))
def test_any_bytes(tmp_path: Path, data: bytes, text: str) -> None:
    folder = tmp_path / "plugin"
    folder.mkdir(exist_ok=True)
    for name, other in (("plugin.json", "openapi.yaml"), ("openapi.yaml", "plugin.json")):
        (folder / name).write_bytes(data)
        (folder / other).write_text(text, "utf-8", errors="replace")
        read_plugin(folder, strict=True)
