"""Operations: names, descriptions, parameters, bodies, answers, servers."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.openapi.describe import name_from_path
from rightseat.plugins.plugin import Encoding, Operation
from tests.unit.plugins.folders import MANIFEST, find_problem, load_operation, load_plugin, make_api_document

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def load_with_parameter(where: Path, parameter: dict[str, Any], path: str = "/hosts") -> Operation:
    return load_operation(where, make_api_document({"parameters": [parameter]}, path=path))


def make_document_with_body(content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return make_api_document({"requestBody": {"content": content, **more}}, method="post")


@pytest.mark.demand("plugins.operation_becomes_tool_all")
def test_every_method(tmp_path: Path) -> None:
    item = {method: {"description": "Does it.", "responses": {}} for method in METHODS}
    found = load_plugin(tmp_path, {**make_api_document(), "paths": {"/a": item, "/b": {"GET": item["get"]}}})
    assert {operation.id for operation in found.operations} == {*(f"{m.upper()} /a" for m in METHODS), "GET /b"}


@pytest.mark.demand("plugins.names_stable_model_friendly")
@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/hosts", "get_hosts"),
        ("get", "/hosts/{id}", "get_hosts_by_id"),
        ("delete", "/hosts/{host-id}/disks/{n}", "delete_hosts_by_host_id_disks_by_n"),
        ("get", "/", "get"),
        ("post", "/v1/a.b:run", "post_v1_a_b_run"),
    ],
)
def test_names_by_method_and_path(method: str, path: str, name: str) -> None:
    assert name_from_path(method, path) == name


@pytest.mark.demand("plugins.names_stable_model_friendly")
def test_names_are_for_models_and_stable(tmp_path: Path) -> None:
    given = {
        "/a": "listHosts",
        "/b": "list hosts.v2",
        "/c": "查询主机",
        "/主机": "",
        "/d": "listHosts",
        "/e": "x" * 100,
        "/f": "x" * 99 + "y",
    }
    item = {"description": "Does it.", "responses": {}}
    paths = {path: {"get": {**item, "operationId": name}} for path, name in given.items()}
    names = [operation.name for operation in load_plugin(tmp_path, {**make_api_document(), "paths": paths}).operations]
    again = load_plugin(
        tmp_path, {**make_api_document(), "paths": dict(reversed(paths.items()))}, name="other"
    ).operations
    assert names[:3] == ["listHosts", "list_hosts_v2", "get_c"]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 48 and name.isascii() and name.replace("_", "a").isalnum() for name in names)
    # Whatever the order, what has a name of its own keeps it.
    kept = {one.path: one.name for one in again}
    assert [kept[path] for path in ("/b", "/c", "/主机", "/e", "/f")] == [names[n] for n in (1, 2, 3, 5, 6)]


def test_a_query_in_the_path_is_sent_with_each_call(tmp_path: Path) -> None:
    found = load_operation(tmp_path, make_api_document(path="/hosts?kind=a&beta=true#Action=List"))
    assert (found.id, found.path) == ("GET /hosts?kind=a&beta=true#Action=List", "/hosts")
    assert [(one.name, one.place, one.schema["default"]) for one in found.parameters] == [
        ("kind", "query", "a"),
        ("beta", "query", "true"),
    ]


@pytest.mark.demand("plugins.descriptions_operation_body_response")
def test_what_the_model_reads(tmp_path: Path) -> None:
    host = {"type": "object", "properties": {"id": {"type": "string", "description": "Its id"}, "ip": {}}}
    answer = {
        "type": "object",
        "properties": {"hosts": {"type": "array", "description": "All", "items": host}, "total": {"type": "integer"}},
    }
    responses = {
        "404": {"description": "None"},
        "200": {"description": "What was\n found", "content": {"application/json": {"schema": answer}}},
    }
    found = load_operation(
        tmp_path, make_api_document({"description": "Lists hosts.\nBy name.", "responses": responses})
    )
    assert found.description == (
        "Lists hosts.\nBy name.\nReturns: What was found: hosts[] (All), hosts[].id (Its id), hosts[].ip, total"
    )
    assert [one.status for one in found.responses] == ["404", "200"]


def test_descriptions_are_cut(tmp_path: Path) -> None:
    answer = {"type": "object", "properties": {f"field_{n}": {"description": "y" * 200} for n in range(200)}}
    responses = {"200": {"description": "z" * 900, "content": {"application/json": {"schema": answer}}}}
    found = load_operation(tmp_path, make_api_document({"description": "x" * 5000, "responses": responses}))
    assert len(found.description) < 1500


def test_a_summary_stands_in_for_a_description(tmp_path: Path) -> None:
    document = make_api_document({"description": "", "summary": "Lists them.", "deprecated": True})
    assert load_operation(tmp_path, document).description.startswith("Lists them.\nDeprecated.")


@pytest.mark.demand("plugins.operation_becomes_tool_all")
@pytest.mark.parametrize(
    ("given", "style", "explode"),
    [
        ({"in": "query"}, "form", True),
        ({"in": "cookie"}, "form", True),
        ({"in": "header"}, "simple", False),
        ({"in": "query", "explode": False}, "form", False),
        ({"in": "query", "style": "deepObject"}, "deepObject", False),
        ({"in": "query", "style": "pipeDelimited", "explode": True}, "pipeDelimited", True),
        ({"in": "header", "style": "form"}, "simple", False),
        ({"in": "query", "style": "nonsense"}, "form", True),
    ],
)
def test_styles_by_place(tmp_path: Path, given: dict[str, Any], style: str, explode: bool) -> None:
    [found] = load_with_parameter(tmp_path, {"name": "a", "schema": {"type": "array", "items": {}}, **given}).parameters
    assert (found.style, found.explode, found.required) == (style, explode, False)


@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
def test_path_parameters_are_always_required(tmp_path: Path, style: str) -> None:
    found = load_with_parameter(
        tmp_path, {"name": "id", "in": "path", "schema": {"type": "string"}, "style": style}, "/hosts/{id}"
    )
    [parameter] = found.parameters
    assert (parameter.style, parameter.explode, parameter.required) == (style, False, True)
    assert found.arguments["required"] == ["id"]


def test_optional_parameters_stay(tmp_path: Path) -> None:
    given = [{"name": "a", "in": "query"}, {"name": "b", "in": "query", "required": "true"}]
    found = load_operation(tmp_path, make_api_document({"parameters": given}))
    assert list(found.arguments["properties"]) == ["a", "b"]
    assert found.arguments["required"] == ["b"]


def test_a_parameter_with_content_or_without_a_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    found = load_with_parameter(
        tmp_path / "a", {"name": "filter", "in": "query", "content": {"application/json": {"schema": schema}}}
    )
    assert found.parameters[0].media == "application/json"
    assert found.arguments["properties"]["filter"] == schema
    bare = load_with_parameter(
        tmp_path / "b", {"name": "n", "in": "query", "type": "integer", "maximum": 5, "example": 3}
    )
    assert bare.arguments["properties"]["n"] == {"type": "integer", "maximum": 5, "examples": [3]}


def test_the_words_of_a_parameter_are_those_of_its_value(tmp_path: Path) -> None:
    schema = {"type": "string", "description": "inner", "default": "x"}
    found = load_with_parameter(
        tmp_path, {"name": "a", "in": "query", "description": "outer", "example": "e", "schema": schema}
    )
    assert found.arguments["properties"]["a"] == {
        "type": "string",
        "description": "outer",
        "default": "x",
        "examples": ["e"],
    }


def test_parameters_of_the_path_hold_for_its_methods(tmp_path: Path) -> None:
    document = make_api_document(
        {"parameters": [{"name": "b", "in": "query", "schema": {"type": "integer"}}]}, path="/a/{id}"
    )
    document["paths"]["/a/{id}"]["parameters"] = [
        {"$ref": "#/components/parameters/Id"},
        {"name": "b", "in": "query", "schema": {"type": "string"}},
    ]
    document["components"] = {"parameters": {"Id": {"name": "id", "in": "path", "schema": {"type": "integer"}}}}
    found = load_operation(tmp_path, document)
    assert found.arguments["properties"] == {"id": {"type": "integer"}, "b": {"type": "integer"}}


def test_a_path_and_its_parameters_agree(tmp_path: Path) -> None:
    given = [{"name": "other", "in": "path", "schema": {"type": "string"}}]
    found = load_plugin(tmp_path, make_api_document({"parameters": given}, path="/hosts/{id}"))
    assert [one.name for one in found.operations[0].parameters] == ["id"]
    assert find_problem(found, "has no {other}").gravity == "warning"
    assert find_problem(found, "{id} of the path is not described").line == 1


@pytest.mark.parametrize("given", [{"in": "query"}, {"name": "a", "in": "somewhere"}, {"name": "a"}, "a", 7])
def test_parameters_that_cannot_be_used_are_told(tmp_path: Path, given: Any) -> None:
    found = load_plugin(tmp_path, make_api_document({"parameters": [given, {"name": "b", "in": "query"}]}))
    [told] = [one for one in found.problems if one.gravity == "error"]
    assert told.key == "paths./hosts.get.parameters[0]"
    assert list(found.operations[0].arguments["properties"]) == ["b"]


def test_a_name_in_two_places_has_two_keys(tmp_path: Path) -> None:
    given = [{"name": "id", "in": place} for place in ("path", "query", "header")]
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    operation = {"parameters": given, "requestBody": {"content": {"application/json": {"schema": schema}}}}
    found = load_operation(tmp_path, make_api_document(operation, path="/a/{id}", method="post"))
    assert list(found.arguments["properties"]) == ["path_id", "query_id", "header_id", "body_id", "name"]
    assert found.body is not None
    assert found.body.fields == {"id": "body_id", "name": "name"}
    assert [(one.name, one.argument) for one in found.parameters] == [
        ("id", "path_id"),
        ("id", "query_id"),
        ("id", "header_id"),
    ]


def test_keys_have_no_odd_characters(tmp_path: Path) -> None:
    given = [{"name": name, "in": "query"} for name in ("filter[name]", "$top", "X Y", "主机名", "a.b-c")]
    found = load_operation(tmp_path, make_api_document({"parameters": given}))
    assert list(found.arguments["properties"]) == ["filter_name", "top", "X_Y", "主机名", "a.b-c"]


def test_unknown_arguments_are_refused(tmp_path: Path) -> None:
    assert load_operation(tmp_path, make_api_document()).arguments["additionalProperties"] is False


@pytest.mark.demand("plugins.without_strict_tolerant_guide")
@pytest.mark.parametrize(
    ("content", "media"),
    [
        (["text/plain", "application/json"], "application/json"),
        (["multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["application/octet-stream", "text/plain"], "text/plain"),
        (["application/octet-stream", "multipart/form-data"], "multipart/form-data"),
        (["application/vnd.api+json; charset=utf-8", "text/html"], "application/vnd.api+json"),
        (["*/*"], "application/json"),
        (["x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
    ],
)
def test_which_body_is_sent(tmp_path: Path, content: list[str], media: str) -> None:
    found = load_operation(
        tmp_path, make_document_with_body({name: {"schema": {"type": "string"}} for name in content})
    ).body
    assert found is not None
    assert found.media == media


def test_a_body_that_is_no_object_is_one_argument(tmp_path: Path) -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    found = load_operation(
        tmp_path,
        make_document_with_body({"application/json": {"schema": schema}}, description="The ids", required=True),
    )
    assert found.arguments["properties"] == {"body": {**schema, "description": "The ids"}}
    assert found.arguments["required"] == ["body"]
    assert found.body is not None
    assert (found.body.fields, found.body.argument) == ({}, "body")


@pytest.mark.demand("plugins.json_form_multipart_files")
def test_text_and_binary_bodies(tmp_path: Path) -> None:
    text = load_operation(tmp_path / "a", make_document_with_body({"text/csv": {}}))
    assert text.arguments["properties"]["body"] == {"type": "string"}
    binary = load_operation(tmp_path / "b", make_document_with_body({"image/png": {}}))
    assert binary.arguments["properties"]["body"] == {"type": "string", "format": "binary"}


@pytest.mark.demand("plugins.json_form_multipart_files")
def test_files_in_a_form(tmp_path: Path) -> None:
    properties = {
        "report": {"type": "string", "format": "binary"},
        "photo": {"type": "string", "contentMediaType": "image/png"},
        "more": {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}},
        "title": {"type": "string"},
    }
    encoding = {"report": {"contentType": "text/csv, text/plain", "headers": {"X-A": {"schema": {"default": "b"}}}}}
    media = {"schema": {"type": "object", "properties": properties, "required": ["report"]}, "encoding": encoding}
    found = load_operation(tmp_path, make_document_with_body({"multipart/form-data": media}))
    shown = found.arguments["properties"]
    assert [shown[name].get("format") for name in ("report", "photo", "title")] == ["binary", "binary", None]
    assert shown["more"]["items"] == {"type": "string", "format": "binary"}
    assert found.body is not None
    assert found.body.encodings == {"report": Encoding(media="text/csv", headers={"X-A": "b"})}


@pytest.mark.parametrize(("required", "names"), [(None, ["a"]), (True, ["a"]), (False, None)])
def test_what_is_required_of_a_body(tmp_path: Path, required: bool | None, names: list[str] | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    more = {} if required is None else {"required": required}
    found = load_operation(tmp_path, make_document_with_body({"application/json": {"schema": schema}}, **more))
    assert found.arguments.get("required") == names


def test_sloppy_bodies(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    bare = load_plugin(tmp_path / "a", make_api_document({"requestBody": {"schema": schema}}, method="post"))
    assert list(bare.operations[0].arguments["properties"]) == ["a"]
    assert find_problem(bare, "JSON is sent").gravity == "warning"
    empty = load_plugin(tmp_path / "b", make_api_document({"requestBody": {"content": {}}}, method="post"))
    assert empty.operations[0].body is None
    assert find_problem(empty, "nothing of what is sent").gravity == "warning"
    wrong = load_plugin(tmp_path / "c", make_api_document({"requestBody": [1]}, method="post"))
    assert wrong.operations[0].body is None


@pytest.mark.demand("plugins.schema_item_list_dangerous")
def test_answers_of_every_kind(tmp_path: Path) -> None:
    content = {"text/csv": {}, "application/json": {"schema": {"type": "array", "items": {"type": "string"}}}}
    responses = {
        200: {"description": "Good", "content": content},
        "2xx": {"$ref": "#/components/responses/Empty"},
        "204": {"description": "Nothing"},
        "default": {"description": "Error", "content": {"application/json": {"schema": {}}}},
        "422": None,
        "x-note": {"description": "none"},
    }
    found = load_operation(
        tmp_path, make_api_document({"responses": responses}, components={"responses": {"Empty": {"description": "E"}}})
    )
    assert [(one.status, one.description, one.media, one.schema) for one in found.responses] == [
        ("200", "Good", "application/json", {"type": "array", "items": {"type": "string"}}),
        ("2XX", "E", "", None),
        ("204", "Nothing", "", None),
        ("default", "Error", "application/json", None),
    ]


def test_nothing_but_a_path_is_an_operation(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, {"paths": {"/hosts": {"get": {}}}})
    [operation] = found.operations
    assert (operation.description, operation.responses, operation.body) == ("GET /hosts", (), None)


def test_parameters_that_carry_a_credential_are_not_shown(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [
        {"name": "authorization", "in": "header", "required": True},
        {"name": "X-Tenant", "in": "header", "required": True},
        {"name": "api_key", "in": "query"},
        {"name": "session", "in": "cookie"},
        {"name": "Accept", "in": "header"},
        {"name": "name", "in": "query"},
    ]
    components = {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}}
    auth = [{"type": "header", "args": {"x-tenant": "env:T"}}, {"type": "cookie", "args": {"session": "env:S"}}]
    found = load_operation(
        tmp_path, make_api_document({"parameters": given}, components=components), {**MANIFEST, "auth": auth}
    )
    assert list(found.arguments["properties"]) == ["name"]
    assert "required" not in found.arguments
    assert found.secured == ("authorization", "X-Tenant", "api_key", "session")
    assert [one.name for one in found.parameters] == [one["name"] for one in given if one["name"] != "Accept"]


def test_a_credential_that_nobody_gives_is_told(tmp_path: Path) -> None:
    components = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    found = load_plugin(tmp_path, make_api_document(components=components, security=[{"key": []}]))
    assert "auth" in find_problem(found, "asks for a credential (key)").fix
