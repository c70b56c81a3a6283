"""What the original loader got wrong when it read a plugin: each has a test, so that we do not."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.load import read_plugin, read_plugins
from rightseat.types.schema import get_validator
from tests.unit.plugins.folders import load_operation, load_plugin, make_api_document, write_plugin

SDK_TOOL = """
class Rank:
    name = "rank"
    description = "Sorts what the step before found."

    def __init__(self, params):
        self.params = params

    async def call(self, fixed_params):
        return {"output": "x", "message": "y"}
"""


def load_arguments(where: Path, operation: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The arguments of the one operation."""
    return load_operation(where, make_api_document(operation, **more)).arguments


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_the_id_of_the_file_was_ignored(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, make_api_document(), {"id": "Apollo", "name": "CVE", "description": "CVE巡检"})
    assert (found.id, found.alias) == ("hosts", "Apollo")


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_the_predefined_question_was_never_read(tmp_path: Path) -> None:
    manifest = {"name": "hosts", "description": "Looks up hosts.", "predefined_question": "Which hosts?"}
    assert load_plugin(tmp_path, make_api_document(), manifest).question == "Which hosts?"


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_a_readme_among_the_flows_broke_the_plugin(tmp_path: Path) -> None:
    files = {"flows/README.md": "# Flows: [", "flows/drafts/x.yaml": "[", "flows/one.yaml": "name: one"}
    found = load_plugin(tmp_path, make_api_document(), files=files)
    assert (len(found.operations), [flow.name for flow in found.flows]) == (1, ["one.yaml"])


@pytest.mark.demand("plugins.bug_original_loader_reading")
@pytest.mark.parametrize("word", ["exported", "_exported"])
def test_no_tool_of_lib_was_ever_found(tmp_path: Path, word: str) -> None:
    files = {"lib/__init__.py": f"from .rank import Rank\n{word} = [Rank]\n", "lib/rank.py": SDK_TOOL}
    assert [script.name for script in load_plugin(tmp_path, make_api_document(), files=files).scripts] == ["rank"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_optional_parameters_vanished(tmp_path: Path) -> None:
    given = {"parameters": [{"name": "name", "in": "query", "schema": {"type": "string"}}]}
    assert list(load_arguments(tmp_path, given)["properties"]) == ["name"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_parameters_of_the_path_vanished(tmp_path: Path) -> None:
    document = make_api_document(path="/hosts/{id}")
    document["paths"]["/hosts/{id}"]["parameters"] = [{"name": "id", "in": "path", "schema": {"type": "integer"}}]
    assert load_operation(tmp_path, document).arguments["properties"] == {"id": {"type": "integer"}}


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_only_the_200_was_kept(tmp_path: Path) -> None:
    responses = {"201": {"description": "Made"}, "404": {"description": "None"}}
    found = load_operation(tmp_path, make_api_document({"responses": responses}))
    assert [one.status for one in found.responses] == ["201", "404"]
    assert "Returns: Made" in found.description


@pytest.mark.demand("plugins.bug_original_loader_reading")
@pytest.mark.parametrize("key", ["responses", "info", "servers"])
def test_a_missing_key_cost_the_plugin(tmp_path: Path, key: str) -> None:
    document = make_api_document()
    document.pop(key, None)
    document["paths"]["/hosts"]["get"].pop(key, None)
    assert len(load_plugin(tmp_path, document).operations) == 1


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_only_the_first_server_was_used(tmp_path: Path) -> None:
    servers = [
        {"url": "https://a.example.com"},
        {"url": "https://{b}.example.com", "variables": {"b": {"default": "b"}}},
    ]
    found = load_operation(tmp_path, make_api_document(servers=servers))
    assert [one.url for one in found.servers] == ["https://a.example.com", "https://b.example.com"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_a_schema_that_holds_itself_was_cut_off(tmp_path: Path) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    arguments = load_arguments(tmp_path, {"requestBody": body}, method="post", components={"schemas": {"Node": node}})
    assert get_validator(arguments).find_problem({"next": {"next": {"next": {}}}}) is None
    assert get_validator(arguments).find_problem({"next": {"next": {"next": 5}}})


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_a_reference_to_a_file_cost_the_plugin(tmp_path: Path) -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "host.yaml"}}}}
    files = {"host.yaml": "{type: object, properties: {id: {type: string}}}"}
    found = load_operation(tmp_path, make_api_document({"requestBody": body}, method="post"), files=files)
    assert list(found.arguments["properties"]) == ["id"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_put_patch_and_delete_could_not_be_called(tmp_path: Path) -> None:
    item = {method: {"description": "Does it."} for method in ("put", "patch", "delete", "head")}
    found = load_plugin(tmp_path, {**make_api_document(), "paths": {"/hosts": item}})
    assert [one.method for one in found.operations] == ["PUT", "PATCH", "DELETE", "HEAD"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
@pytest.mark.parametrize("word", ["param", "params"])
def test_auth_by_param_was_silently_not_applied(tmp_path: Path, word: str) -> None:
    manifest = {"name": "hosts", "description": "Looks up hosts.", "auth": {"type": word, "args": {"key": "env:K"}}}
    assert [one.kind for one in load_plugin(tmp_path, make_api_document(), manifest).auth] == ["param"]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_the_guides_pattern_was_no_yaml(tmp_path: Path) -> None:
    text = (
        'openapi: 3.0.0\nservers: [{url: "https://api.example.com"}]\npaths:\n  /a:\n    get:\n'
        '      parameters: [{name: v, in: query, schema: {type: string, pattern: "[\\d].[\\d]"}}]\n'
    )
    assert get_validator(load_operation(tmp_path, text).arguments).find_problem({"v": "0.1"}) is None


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_dangerous_was_parsed_and_never_used(tmp_path: Path) -> None:
    assert load_operation(tmp_path, make_api_document({"dangerous": True})).dangerous


@pytest.mark.demand("plugins.arguments_honour_schema_exactly", "plugins.bug_original_loader_reading")
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "number"}, [1, 1.5, -2], ["1"]),
        ({"type": "string"}, ["a\nb", ""], [1]),
        ({"type": "integer"}, [12345678901, 0], ["", "+"]),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, [3], [2]),
        ({"type": "array"}, [[], [1, "a"]], ["a"]),
        ({"type": "boolean"}, [True], ["true"]),
        ({"enum": ["a", 1]}, ["a", 1], ["b"]),
        ({"type": "integer", "minimum": 1, "maximum": 5}, [1, 5], [0, 6]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "b"}]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1]], [["a", "b"]]),
    ],
)  # fmt: skip
def test_schemas_that_its_own_grammar_got_wrong(
    tmp_path: Path, schema: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"v": schema}}}}}
    check = get_validator(load_arguments(tmp_path, {"requestBody": body}, method="post"))
    assert [value for value in good if check.find_problem({"v": value})] == []
    assert [value for value in bad if not check.find_problem({"v": value})] == []


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_a_clash_of_names_between_plugins_cost_one_of_them(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_plugin(tmp_path, make_api_document(), name=name, files={"flows/same.yaml": "name: same"})
    assert [(len(one.operations), len(one.flows)) for one in read_plugins([tmp_path])] == [(1, 1), (1, 1)]


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_a_point_in_a_path_broke_its_flow(tmp_path: Path) -> None:
    assert load_operation(tmp_path, make_api_document(path="/hosts.json")).id == "GET /hosts.json"


@pytest.mark.demand("plugins.bug_original_loader_reading")
def test_an_operation_without_a_description_could_not_be_stored(tmp_path: Path) -> None:
    found = read_plugin(write_plugin(tmp_path, {**make_api_document(), "paths": {"/hosts": {"get": {}}}}))
    assert found.operations[0].description == "GET /hosts"
