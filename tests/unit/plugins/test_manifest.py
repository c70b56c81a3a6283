"""plugin.json in every shape it was ever written in."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import PluginAuth
from tests.unit.plugins.folders import find_problem, load_plugin, make_api_document, write_plugin

# The sample of the guide, to the letter.
GUIDE = """{
    "id": "data_analysis",
    "name": "智能数据分析",
    "description": "该插件接受用户文件，返回由外置智能数据分析工具生成的Word文档。",
    "predefined_question": "请帮我将该Excel报表转为Word报告。",
    "automatic_flow": false,
    "auth": {
        "type": "header",
        "args": {
            "Authorization": "sk-1234"
        }
    }
}
"""


def reveal_secrets(auth: PluginAuth) -> dict[str, str]:
    return {name: value.reveal() for name, value in auth.args.items()}


def load_auths(where: Path, auth: Any) -> list[tuple[str, dict[str, str]]]:
    found = load_plugin(where, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth})
    return [(one.kind, reveal_secrets(one)) for one in found.auth]


@pytest.mark.demand("plugins.plugin_id_folder_name")
def test_the_guides_sample(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, make_api_document(), GUIDE, name="data_analysis")
    assert (found.id, found.alias, found.name) == ("data_analysis", "", "智能数据分析")
    assert found.description.startswith("该插件接受用户文件")
    assert found.question == "请帮我将该Excel报表转为Word报告。"
    assert found.automatic_flow is False
    assert [(one.kind, reveal_secrets(one)) for one in found.auth] == [("header", {"Authorization": "sk-1234"})]
    # The key stands in the file: that is bad style, and nothing else is wrong with it.
    assert [(one.key, one.line) for one in found.problems] == [("auth.args.Authorization", 10)]
    assert "sk-1234" not in str(found)


@pytest.mark.demand("plugins.plugin_id_folder_name")
def test_the_id_is_the_folders_name_and_the_files_an_alias(tmp_path: Path) -> None:
    found = load_plugin(
        tmp_path, make_api_document(), {"id": "Apollo", "name": "CVE", "description": "CVE巡检"}, name="aops"
    )
    assert (found.id, found.alias) == ("aops", "Apollo")
    assert {one.gravity for one in found.problems} == {"style"}
    assert find_problem(found, "lower-case").key == "id"


@pytest.mark.demand("plugins.traversal_folder_names_duplicate")
@pytest.mark.parametrize("given", ["../../etc", "a/b", "a\nb", "x" * 200, "..", "a\\b"])
def test_an_alias_that_could_be_a_path_is_passed_over(tmp_path: Path, given: str) -> None:
    found = load_plugin(tmp_path, make_api_document(), {"id": given, "name": "hosts", "description": "Looks up hosts."})
    assert found.alias == ""
    assert find_problem(found, "passed over").key == "id"


@pytest.mark.parametrize(
    ("given", "gravity"), [("s3cret-1", "style"), ("file:../key", "error"), ("env:X", None), ("file:key", None)]
)
def test_a_clients_secret_is_looked_at_too(tmp_path: Path, given: str, gravity: str | None) -> None:
    auth = {"type": "oidc", "token_url": "https://a.example/t", "client_id": "me", "client_secret": given}
    found = load_plugin(
        tmp_path, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth}
    )
    assert [(one.key, one.gravity) for one in found.problems] == ([("auth.client_secret", gravity)] if gravity else [])


@pytest.mark.parametrize("name", ["Host", "content-length", "Two Words", "密钥"])
def test_a_header_that_cannot_be_sent_is_an_error_and_left_out(tmp_path: Path, name: str) -> None:
    auth = {"type": "header", "args": {name: "env:X", "B": "env:X"}}
    found = load_plugin(
        tmp_path, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth}
    )
    assert [reveal_secrets(one) for one in found.auth] == [{"B": "env:X"}]
    assert find_problem(found, "No request can have").key == f"auth.args.{name}"


@pytest.mark.parametrize("given", ["file:../../secret", "file:/etc/hostname", "file:~/.netrc"])
def test_a_secrets_file_outside_of_the_folder_is_an_error(tmp_path: Path, given: str) -> None:
    auth = {"type": "header", "args": {"A": given, "B": "file:secrets/key"}}
    found = load_plugin(
        tmp_path, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth}
    )
    (wrong,) = [one for one in found.problems if one.gravity == "error"]
    assert (wrong.key, "[[plugins]]" in wrong.fix) == ("auth.args.A", True)


@pytest.mark.parametrize(
    ("auth", "read"),
    [
        ({"type": "header", "args": {"A": "env:X"}}, [("header", {"A": "env:X"})]),
        ({"type": "param", "args": {"key": "env:X"}}, [("param", {"key": "env:X"})]),
        ({"type": "params", "args": {"key": "env:X"}}, [("param", {"key": "env:X"})]),
        ({"type": "query", "args": {"key": "env:X"}}, [("param", {"key": "env:X"})]),
        ({"type": "Cookie", "args": {"s": "env:X"}}, [("cookie", {"s": "env:X"})]),
        ({"type": "oidc", "args": {"access-token": ""}}, [("oidc", {"access-token": ""})]),
        (
            [{"type": "header", "args": {"A": "1"}}, {"type": "cookie", "args": {"B": 2}}],
            [("header", {"A": "1"}), ("cookie", {"B": "2"})],
        ),
        (
            {
                "header": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "cookie": [],
                "query": [{"name": "q", "value": "3"}],
                "oidc": None,
            },
            [("header", {"A": "1", "B": "2"}), ("param", {"q": "3"})],
        ),
        (None, []),
        ({}, []),
    ],
)
def test_every_shape_of_auth(tmp_path: Path, auth: Any, read: list[tuple[str, dict[str, str]]]) -> None:
    assert load_auths(tmp_path, auth) == read


def test_oidc_keeps_its_options_and_hides_its_secrets(tmp_path: Path) -> None:
    auth = {
        "type": "oidc",
        "args": {"access-token": ""},
        "domain": "aops",
        "access_token_url": "http://127.0.0.1/accounts/accesstoken",
        "token_expire_time": 1440,
        "client_secret": "hush-hush",
    }
    found = load_plugin(
        tmp_path, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth}
    )
    [one] = found.auth
    assert one.options["token_expire_time"] == 1440
    assert one.options["access_token_url"].endswith("/accesstoken")
    assert one.options["client_secret"].reveal() == "hush-hush"
    assert "hush-hush" not in repr(found)
    assert [one for one in found.problems if one.gravity != "style"] == []


@pytest.mark.parametrize(
    ("auth", "key", "words"),
    [
        ({"type": "basic", "args": {}}, "auth.type", "no type 'basic'"),
        ([{"type": "header", "args": {"A": "1"}}, {"type": "x"}], "auth[1].type", "no type 'x'"),
        ({"args": {"A": "1"}}, "auth.type", "It has no type"),
        ({"header": [], "basic": []}, "auth.basic", "no kind 'basic'"),
        ("token", "auth", "no object"),
        ({"type": "header", "args": ["A"]}, "auth.args", "names nothing"),
        ({"type": "header", "args": {"A": ["1"]}}, "auth.args.A", "no text"),
        ({"type": "header", "args": {"A": ""}}, "auth.args.A", "no value"),
        ({"type": "oidc"}, "auth.token_url", "no token to send"),
        ({"oidc": {"tokenurl": "https://a.example"}}, "auth.oidc.tokenurl", "Did you mean 'token_url'?"),
    ],
)
def test_what_is_wrong_with_auth_is_told(tmp_path: Path, auth: Any, key: str, words: str) -> None:
    found = load_plugin(
        tmp_path, make_api_document(), {"name": "hosts", "description": "Looks up hosts.", "auth": auth}
    )
    told = find_problem(found, words)
    assert (told.file, told.key, told.line) == ("plugin.json", key, 1)
    if "no type" in words or "no kind" in words:
        assert "header, param, cookie, oidc" in told.fix
        assert told.gravity == "error"


@pytest.mark.demand("plugins.plugin_id_folder_name")
def test_what_is_missing_comes_from_elsewhere(tmp_path: Path) -> None:
    document = make_api_document(info={"title": "Inventory", "description": "All hosts of the house."})
    found = load_plugin(tmp_path, document, {})
    assert (found.name, found.description) == ("Inventory", "All hosts of the house.")
    assert {(one.key, one.gravity) for one in found.problems if one.file == "plugin.json"} == {
        ("name", "warning"),
        ("description", "warning"),
    }
    bare = load_plugin(tmp_path, make_api_document(info={}), None, name="other")
    assert (bare.name, len(bare.operations)) == ("other", 1)
    assert find_problem(bare, "There is none").file == "plugin.json"


@pytest.mark.demand("plugins.strict_authors_id_characters")
def test_style_is_for_authors_only(tmp_path: Path) -> None:
    manifest = {"id": "Hosts", "name": "A name that is too long by far", "description": "test"}
    made = write_plugin(tmp_path, make_api_document({"description": ""}), manifest)
    assert read_plugin(made).problems == ()
    told = {(one.key, one.gravity) for one in read_plugin(made, strict=True).problems}
    assert {("id", "style"), ("name", "style"), ("description", "style")} <= told


@pytest.mark.demand("plugins.plugin_id_folder_name")
@pytest.mark.parametrize("value", ["true", 1, "yes"])
def test_automatic_flow_is_true_or_false(tmp_path: Path, value: Any) -> None:
    manifest = {"name": "hosts", "description": "Looks up hosts.", "automatic_flow": value}
    found = load_plugin(tmp_path, make_api_document(), manifest)
    assert found.automatic_flow is (value == "true")
    assert find_problem(found, "neither true nor false").gravity == "warning"
    assert (
        load_plugin(tmp_path, make_api_document(), {**manifest, "automatic_flow": True}, name="other").automatic_flow
        is True
    )


def test_an_unknown_key_is_told_with_the_nearest(tmp_path: Path) -> None:
    manifest = {"name": "hosts", "description": "Looks up hosts.", "predefined_questoin": "Which?", "$comment": ""}
    found = load_plugin(tmp_path, make_api_document(), manifest)
    [told] = found.problems
    assert (told.key, told.fix) == ("predefined_questoin", "Did you mean 'predefined_question'?")


@pytest.mark.parametrize("text", ['{"name": "a"\n"b": 1}', "[]", '"x"', "", "\x00"])
def test_without_a_readable_manifest_there_is_no_plugin(tmp_path: Path, text: str) -> None:
    found = load_plugin(tmp_path, make_api_document(), text)
    assert found.operations == ()
    [told] = [one for one in found.problems if one.gravity == "error"]
    assert told.file == "plugin.json"


def test_values_of_other_kinds_are_told(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, make_api_document(), json.dumps({"id": 1, "name": ["a"], "description": {"b": 1}}))
    assert found.alias == "1"
    assert {one.key for one in found.problems if "no text" in one.what} == {"name", "description"}
