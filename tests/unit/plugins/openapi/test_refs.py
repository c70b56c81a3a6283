"""`$ref`s: here, in another file of the folder, in circles, and to where they must not lead."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.load import read_plugin
from tests.unit.plugins.folders import find_problem, load_plugin, make_api_document, write_plugin


def make_body_reference(ref: str) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": {"$ref": ref}}}}}


def list_argument_keys(where: Path, ref: str, files: dict[str, str], **more: Any) -> list[str]:
    [operation] = load_plugin(
        where, make_api_document(make_body_reference(ref), method="post", **more), files=files
    ).operations
    return list(operation.arguments["properties"])


HOST = "{type: object, properties: {id: {type: string}, owner: {$ref: 'people.json#/Person'}}}"
FILES = {
    "parts/host.yaml": HOST,
    "parts/all.yaml": "Host: {$ref: host.yaml}\nlist:\n  - {type: object, properties: {x: {type: string}}}\n",
    "parts/people.json": json.dumps({"Person": {"type": "object", "properties": {"name": {"type": "string"}}}}),
}


@pytest.mark.demand("plugins.local_file_ref_s")
@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("parts/host.yaml", ["id", "owner"]),
        ("./parts/host.yaml#", ["id", "owner"]),
        ("parts/all.yaml#/Host", ["id", "owner"]),
        ("parts/../parts/all.yaml#/Host", ["id", "owner"]),
        ("parts/all.yaml#/list/0", ["x"]),
        ("parts%2Fhost.yaml", ["id", "owner"]),
        ("parts/people.json#/Person", ["name"]),
    ],
)
def test_files_of_the_folder(tmp_path: Path, ref: str, found: list[str]) -> None:
    assert list_argument_keys(tmp_path, ref, FILES) == found


@pytest.mark.demand("plugins.local_file_ref_s")
def test_paths_and_operations_in_other_files(tmp_path: Path) -> None:
    document = {**make_api_document(), "paths": {"/hosts": {"$ref": "paths.yaml#/hosts"}}}
    text = "hosts:\n  parameters: [{$ref: '#/n'}]\n  get: {description: Lists hosts.}\nn: {name: n, in: query}\n"
    [operation] = load_plugin(tmp_path, document, files={"paths.yaml": text}).operations
    assert (operation.id, list(operation.arguments["properties"])) == ("GET /hosts", ["n"])


@pytest.mark.demand("plugins.local_file_ref_s")
def test_escaped_pointers(tmp_path: Path) -> None:
    schemas = {"a/b": {"type": "object", "properties": {"x": {}}}, "c~d e": {"type": "object", "properties": {"y": {}}}}
    more = {"components": {"schemas": schemas}}
    assert list_argument_keys(tmp_path / "a", "#/components/schemas/a~1b", {}, **more) == ["x"]
    assert list_argument_keys(tmp_path / "b", "#/components/schemas/c~0d%20e", {}, **more) == ["y"]


@pytest.mark.parametrize("ref", ["#/definitions/Host", "#/components/Host", "#Host"])
def test_a_reference_to_the_wrong_place_is_mended(tmp_path: Path, ref: str) -> None:
    components = {"schemas": {"Host": {"type": "object", "properties": {"id": {}}}}}
    found = load_plugin(tmp_path, make_api_document(make_body_reference(ref), method="post", components=components))
    assert list(found.operations[0].arguments["properties"]) == ["id"]
    told = find_problem(found, "leads nowhere")
    assert (told.gravity, told.fix) == ("warning", "Write it as '#/components/schemas/Host'.")


@pytest.mark.demand("plugins.ref_loops_kept_legally")
@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("#/components/schemas/None", "leads nowhere"),
        ("http://127.0.0.1:9/host.yaml", "another server"),
        ("https://example.com/host.yaml#/Host", "another server"),
        ("//example.com/host.yaml", "another server"),
        ("file:///etc/passwd", "another server"),
        ("none.yaml", "No such file"),
        ("../secret.yaml", "outside the plugin's folder"),
        ("parts/../../secret.yaml#/password", "outside the plugin's folder"),
        ("..%2Fsecret.yaml", "outside the plugin's folder"),
        ("..\\secret.yaml", "outside the plugin's folder"),
        ("/etc/passwd", "outside the plugin's folder"),
        ("link.yaml#/password", "outside the plugin's folder"),
        ("linked/secret.yaml", "outside the plugin's folder"),
        ("lib", "It is not a file"),
        ("", "is no text"),
    ],
)
def test_references_that_lead_nowhere_or_out_are_told(tmp_path: Path, ref: str, words: str) -> None:
    (tmp_path / "secret.yaml").write_text("password: {type: object, properties: {canary: {type: string}}}")
    made = write_plugin(
        tmp_path, make_api_document(make_body_reference(ref), method="post"), files={"lib/x.py": "", **FILES}
    )
    (made / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (made / "linked").symlink_to(tmp_path)
    found = read_plugin(made)
    told = find_problem(found, words)
    assert (told.gravity, told.line) == ("error", 1)
    assert told.key.endswith("schema.$ref")
    assert "canary" not in str(found.operations)


@pytest.mark.demand("plugins.ref_loops_kept_legally")
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/components/schemas/B"},
        {"allOf": [{"$ref": "#/components/schemas/A"}, {"type": "object"}]},
        {"anyOf": [{"type": "string"}, {"not": {"$ref": "#/components/schemas/A"}}]},
    ],
)
def test_a_schema_of_nothing_but_itself_is_any_value(tmp_path: Path, schema: dict[str, Any]) -> None:
    inner = {"type": "object", "properties": {"v": {"$ref": "#/components/schemas/A"}}}
    operation = {"requestBody": {"content": {"application/json": {"schema": inner}}}}
    schemas = {"A": schema, "B": {"$ref": "#/components/schemas/A"}}
    found = load_plugin(tmp_path, make_api_document(operation, method="post", components={"schemas": schemas}))
    assert found.operations[0].arguments["properties"] == {"v": {}}
    told = [one for one in found.problems if "made of itself" in one.what]
    assert {one.gravity for one in told} == {"error"}


def test_references_in_a_circle_of_nothing(tmp_path: Path) -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    found = load_plugin(
        tmp_path,
        make_api_document(
            make_body_reference("#/components/schemas/A"), method="post", components={"schemas": schemas}
        ),
    )
    assert len(found.operations) <= 1
    parameters = {"P": {"$ref": "#/components/parameters/P"}}
    operation = {"parameters": [{"$ref": "#/components/parameters/P"}]}
    other = load_plugin(tmp_path, make_api_document(operation, components={"parameters": parameters}), name="other")
    assert find_problem(other, "circle").gravity == "error"
    assert [one.parameters for one in other.operations] == [()]


def test_files_that_lead_to_each_other(tmp_path: Path) -> None:
    one = "type: object\nproperties: {b: {$ref: b.yaml}}\n"
    two = "type: object\nproperties: {a: {$ref: a.yaml}}\n"
    assert list_argument_keys(tmp_path, "a.yaml", {"a.yaml": one, "b.yaml": two}) == ["b"]


def test_a_document_that_leads_to_itself_by_name(tmp_path: Path) -> None:
    components = {"schemas": {"Host": {"type": "object", "properties": {"id": {}}}}}
    assert list_argument_keys(tmp_path, "openapi.yaml#/components/schemas/Host", {}, components=components) == ["id"]


@pytest.mark.demand("plugins.rightseat_plugins_check_dir")
def test_problems_name_the_file_they_are_in(tmp_path: Path) -> None:
    found = load_plugin(
        tmp_path,
        make_api_document(make_body_reference("parts/bad.yaml"), method="post"),
        files={"parts/bad.yaml": "type: object\nproperties:\n  a:\n    type: nonsense\n"},
    )
    told = find_problem(found, "no type 'nonsense'")
    assert (told.file, told.line, told.key) == ("parts/bad.yaml", 4, "properties.a.type")


def test_not_more_files_than_a_person_writes(tmp_path: Path) -> None:
    files = {f"f{n}.yaml": f"{{$ref: f{n + 1}.yaml}}" for n in range(150)}
    found = load_plugin(tmp_path, make_api_document(make_body_reference("f0.yaml"), method="post"), files=files)
    assert len(found.files) < 120
    assert any(one.gravity == "error" for one in found.problems)
