"""Folders: what is a plugin, what is none, and that nothing in one is run."""

import json
from pathlib import Path

import pytest

from rightseat.plugins.load import read_plugin, read_plugins
from tests.unit.plugins.folders import make_api_document, write_empty_flow, write_plugin

EVIL = '''
from pathlib import Path
Path({canary!r}).touch()

def marked(text=Path({canary!r}).touch()):
    return lambda function: function

@marked()
class Tool:
    """Does harm."""
    name = "harm"
    description = "Does harm."
    spec = Path({canary!r}).touch() or {{}}

    async def call(self, fixed_params):
        return {{}}

exported = [Tool]
'''


@pytest.mark.demand("plugins.broken_plugin_never_stops")
def test_one_broken_plugin_never_stops_the_others(tmp_path: Path) -> None:
    write_plugin(tmp_path, make_api_document(), name="good")
    write_plugin(tmp_path, make_api_document(), "{", name="manifest")
    write_plugin(tmp_path, "a: [", name="document")
    write_plugin(tmp_path, {"paths": 7}, name="empty")
    write_plugin(tmp_path, make_api_document(), name="utf").joinpath("openapi.yaml").write_bytes(
        "a: 主机".encode("gbk")
    )
    found = {one.id: one for one in read_plugins([tmp_path])}
    assert list(found) == ["document", "empty", "good", "manifest", "utf"]
    assert {one.id for one in found.values() if one.operations} == {"good"}
    assert {one.id for one in found.values() if any(p.gravity == "error" for p in one.problems)} == (
        found.keys() - {"good"}
    )


@pytest.mark.demand("plugins.check_never_imports_runs")
def test_nothing_is_imported_or_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    code = EVIL.format(canary=str(canary))
    files = dict.fromkeys(("lib/__init__.py", "lib/harm.py", "conftest.py", "setup.py"), code)
    made = write_plugin(tmp_path, make_api_document(), files=files)
    assert (made / "lib" / "__init__.py").is_file()
    found = read_plugin(made, strict=True)
    assert [script.name for script in found.scripts] == ["harm"]
    assert not canary.exists()


def test_the_directory_may_be_a_plugin_itself(tmp_path: Path) -> None:
    made = write_plugin(tmp_path, make_api_document())
    assert [one.id for one in read_plugins([made])] == ["hosts"]


def test_what_is_no_plugin_is_not_listed(tmp_path: Path) -> None:
    write_plugin(tmp_path, make_api_document())
    write_plugin(tmp_path, make_api_document(), name=".git")
    write_plugin(tmp_path, make_api_document(), name="__pycache__")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("none")
    assert [one.id for one in read_plugins([tmp_path])] == ["hosts"]


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    [found] = read_plugins([tmp_path / "none"])
    assert "no such folder" in found.problems[0].what


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
def test_an_id_is_there_once(tmp_path: Path) -> None:
    write_plugin(tmp_path / "a", make_api_document())
    write_plugin(tmp_path / "b", make_api_document())
    write_plugin(tmp_path / "c", make_api_document(), name="Hosts")
    first, second, third = read_plugins([tmp_path / "a", tmp_path / "b", tmp_path / "c"])
    assert len(first.operations) == 1
    for other in (second, third):
        assert other.operations == ()
        assert str(tmp_path / "a") in other.problems[0].what
        assert other.problems[0].gravity == "error"


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    elsewhere = write_plugin(tmp_path / "elsewhere", make_api_document())
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "linked").symlink_to(elsewhere)
    [found] = read_plugins([plugins])
    assert found.operations == ()
    assert "outside" in found.problems[0].what


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc\\x", "a\nb", "con:", "a\x1b[2J", "x" * 150, "-rf", "a..b", "a\u202eb", "trailing "]
)
def test_odd_names_of_folders_are_refused(tmp_path: Path, name: str) -> None:
    found = read_plugin(write_plugin(tmp_path, make_api_document(), name=name))
    assert found.operations == ()
    assert "cannot be called" in found.problems[0].what
    assert found.problems[0].fix


@pytest.mark.parametrize("name", ["主机", "aops-apollo", "Compatibility-AI-Infra", "sdk_example-0.9.1", "a b"])
def test_names_that_exist_in_the_wild_are_taken(tmp_path: Path, name: str) -> None:
    found = read_plugin(write_plugin(tmp_path, make_api_document(), name=name))
    assert (found.id, len(found.operations), found.problems) == (name, 1, ())


def test_flows_are_listed_and_nothing_beside_them_hurts(tmp_path: Path) -> None:
    names = ("flows/b.yaml", "flows/a.yml", "flows/README.md", "flows/more/c.yaml")
    made = write_plugin(tmp_path, files={name: write_empty_flow(f"flow{n}") for n, name in enumerate(names)})
    found = read_plugin(made)
    assert [file.name for file in found.flows] == ["a.yml", "b.yaml"]
    assert found.problems == ()


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
@pytest.mark.parametrize("name", ["flows", "lib"])
def test_flows_and_tools_are_not_read_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.yaml").write_text(write_empty_flow("x"))
    (tmp_path / "other" / "x.py").write_text("from rightseat import tool\n\n\n@tool\ndef x() -> None:\n    'X.'\n")
    made = write_plugin(tmp_path, make_api_document())
    (made / name).symlink_to(tmp_path / "other")
    found = read_plugin(made)
    assert (found.flows, found.scripts) == ((), ())
    assert [one.file for one in found.problems] == [name]
    assert not any("other" in str(file.resolve()) for file in found.files)


def test_a_plugin_of_nothing_is_told(tmp_path: Path) -> None:
    [told] = read_plugin(write_plugin(tmp_path)).problems
    assert (told.gravity, "no operation" in told.what) == ("warning", True)


@pytest.mark.parametrize("name", ["openapi.yml", "openapi.json", "swagger.json", "swagger.yaml"])
def test_the_document_has_several_names(tmp_path: Path, name: str) -> None:
    made = write_plugin(tmp_path)
    (made / name).write_text(json.dumps(make_api_document()))
    found = read_plugin(made)
    assert len(found.operations) == 1
    assert made / name in found.files


def test_every_file_that_was_read_is_named(tmp_path: Path) -> None:
    schema = {"$ref": "parts/host.yaml#/Host"}
    body = {"content": {"application/json": {"schema": schema}}}
    files = {
        "parts/host.yaml": "Host: {type: object, properties: {id: {type: string}}}",
        "lib/tool.py": "x = 1",
        "flows/one.yaml": write_empty_flow("one"),
    }
    made = write_plugin(tmp_path, make_api_document({"requestBody": body}, method="post"), files=files)
    found = read_plugin(made)
    assert {file.relative_to(made).as_posix() for file in found.files} == {
        "plugin.json",
        "openapi.yaml",
        "parts/host.yaml",
        "lib/tool.py",
        "flows/one.yaml",
    }
    assert list(found.operations[0].arguments["properties"]) == ["id"]
