"""[[plugins]] and --plugins become tools of the assistants; one that is broken stops nobody."""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.config.stamps import are_current
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.plugins.catalog import PluginCatalog
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Plugin
from rightseat.plugins.selection import ToolSelection
from rightseat.wiring import plugins
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.plugins import make_policy
from rightseat.wiring.runtime import Runtime
from tests.unit.plugins.runtime.api_plugins import write_api_plugin

RuntimeFactory = Callable[..., Runtime]
ONE = '[models.m]\nspec = "scripted:demo"\n'


@pytest.fixture
def make_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeFactory:
    """A Runtime of a configuration file beside the folder `plugins`, which has hosts and books."""
    monkeypatch.chdir(tmp_path)
    write_api_plugin(tmp_path / "plugins" / "hosts", question="", predefined_question="Which hosts?")
    write_api_plugin(tmp_path / "plugins" / "books", paths={"/books": "All books.", "/loans": "All loans."}, id="Lib")

    def made(text: str = "", *folders: str, before: Runtime | None = None) -> Runtime:
        (tmp_path / "rightseat.toml").write_text(ONE + text, "utf-8")
        config = load_config(plugins=[Path(folder) for folder in folders], env={})
        return build_runtime(config, env={}, before=before)

    return made


def list_tools(assistant: Assistant) -> list[str]:
    assert isinstance(assistant.toolset, ToolSelection)
    return list(assistant.toolset.catalog.by_name)


def has_changed_files(catalog: PluginCatalog | None) -> bool:
    assert catalog is not None
    return not are_current(catalog.file_stamps)


ALL_TOOLS = ["books_get_books", "books_get_loans", "hosts_get_hosts"]


@pytest.mark.demand("plugins.plugins_dir_repeatable_plugins")
@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ('[[plugins]]\npath = "plugins"', ()),
        ('[[plugins]]\npath = "plugins/books"\n[[plugins]]\npath = "plugins/hosts"', ()),
        ("", ("plugins",)),
        ("", ("plugins/books", "plugins/hosts")),
    ],
)
def test_every_assistant_has_all_plugins(make_runtime: RuntimeFactory, text: str, folders: tuple[str, ...]) -> None:
    runtime = make_runtime(text, *folders)
    assert {name: sorted(list_tools(one)) for name, one in runtime.assistants.items()} == {
        "default": ALL_TOOLS,
        "m": ALL_TOOLS,
    }
    assert runtime.assistants["default"].suggestions == ("Which hosts?",)
    assert not runtime.is_plain_model("default")


@pytest.mark.demand("plugins.plugins_dir_repeatable_plugins")
def test_an_assistant_may_name_its_plugins(make_runtime: RuntimeFactory) -> None:
    runtime = make_runtime(
        '[[plugins]]\npath = "plugins"\n[assistants.a]\nplugins = ["Lib"]\n[assistants.b]\nplugins = []\n[assistants.c]'
    )
    assert list_tools(runtime.assistants["a"]) == ALL_TOOLS[:2]
    assert runtime.assistants["b"].toolset is None
    assert sorted(list_tools(runtime.assistants["c"])) == ALL_TOOLS
    # The first one answers who asks for none by name.
    assert list_tools(runtime.assistants["default"]) == ALL_TOOLS[:2]
    assert runtime.assistants["m"].toolset is None, "a model that is asked by its name is nothing but that"
    with pytest.raises(ConfigError, match=r"\[assistants.a\].*no plugin 'book'. Did you mean 'books'"):
        make_runtime('[[plugins]]\npath = "plugins"\n[assistants.a]\nplugins = ["book"]')


@pytest.mark.demand("plugins.plugins_dir_repeatable_plugins")
def test_a_table_for_one_counts_before_that_for_all(make_runtime: RuntimeFactory) -> None:
    text = '[[plugins]]\npath = "plugins"\n[[plugins]]\npath = "plugins/hosts"\n{}'
    assert sorted(list_tools(make_runtime(text.format("enabled = false")).assistants["default"])) == ALL_TOOLS[:2]
    config = load_config(env={})
    assert len(config.plugins) == 2
    runtime = make_runtime(text.format('confirm = "all"\nallow = ["10.0.0.0/8"]'))
    assert make_policy(load_config(env={}).plugins[1]).allow == ("10.0.0.0/8",)
    assert runtime.plugins is not None
    names = runtime.plugins.by_name
    assert names["hosts_get_hosts"].tool.fingerprint != names["books_get_books"].tool.fingerprint


def test_a_plugin_may_appear_as_an_assistant_of_its_own(make_runtime: RuntimeFactory) -> None:
    runtime = make_runtime('[[plugins]]\npath = "plugins/books"\nappears = true\n[[plugins]]\npath = "plugins/hosts"')
    assert set(runtime.assistants) == {"default", "m", "books"}
    assert list_tools(runtime.assistants["books"]) == ALL_TOOLS[:2]
    assert (runtime.assistants["books"].title, runtime.assistants["books"].description) == ("Books", "About books.")


@pytest.mark.demand("plugins.broken_plugin_never_stops")
def test_a_broken_plugin_stops_nobody(
    make_runtime: RuntimeFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in {"bad": "{", "odd": '{"name": 3}', "empty": ""}.items():
        (tmp_path / "plugins" / name).mkdir()
        (tmp_path / "plugins" / name / "plugin.json").write_text(text, "utf-8")
    (tmp_path / "plugins" / "odd" / "openapi.yaml").write_text("\tpaths: [", "utf-8")
    (tmp_path / "plugins" / "lib" / "lib").mkdir(parents=True)
    (tmp_path / "plugins" / "lib" / "plugin.json").write_text('{"name": "a", "description": "b"}')
    (tmp_path / "plugins" / "lib" / "lib" / "x.py").write_text("raise SystemExit(1)\ndef (")
    runtime = make_runtime("", "plugins")
    assert sorted(list_tools(runtime.assistants["default"])) == ALL_TOOLS
    assert runtime.ready
    said = [record.message for record in caplog.records if record.levelno >= logging.ERROR]
    assert any("Plugin bad: plugin.json" in line for line in said)
    assert any("Plugin lib: lib/x.py:2" in line for line in said)


@pytest.mark.demand("plugins.warnings_logged")
def test_a_plugin_with_warnings_has_one_line_in_the_log(
    make_runtime: RuntimeFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_api_plugin(tmp_path / "plugins" / "typing", paths={"/typed": "x"}, descripton="x", nam="y")
    runtime = make_runtime("", "plugins")
    make_runtime("", "plugins", before=runtime)
    (line,) = [record.message for record in caplog.records if record.message.startswith("Plugin typing")]
    assert "descripton" in line
    assert line.endswith(f"And 1 more. See: rightseat plugins check {folder}")


def test_a_link_out_of_the_folder_is_not_followed(
    make_runtime: RuntimeFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = write_api_plugin(tmp_path / "elsewhere" / "secret")
    (tmp_path / "plugins" / "link").symlink_to(elsewhere)
    assert sorted(list_tools(make_runtime("", "plugins").assistants["default"])) == ALL_TOOLS
    assert "link" in caplog.text


@pytest.mark.demand("plugins.broken_plugin_never_stops")
def test_two_of_one_name_are_one(
    make_runtime: RuntimeFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_api_plugin(tmp_path / "others" / "hosts", paths={"/other": "x"})
    runtime = make_runtime("", "plugins", "others")
    assert sorted(list_tools(runtime.assistants["default"])) == ALL_TOOLS
    assert "is left out" in caplog.text


@pytest.mark.demand("plugins.plugins_dir_repeatable_plugins")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[plugins]]\npath = "nowhere"', "rightseat.toml:4: plugins.path: there is no folder"),
        ("[[plugins]]\nenabled = true", "rightseat.toml:3: plugins: path is missing"),
        ('[[plugins]]\npath = "plugins"\n[[plugins]]\npath = "x"\nconfrim = "all"', "toml:7: plugins[1].confrim"),
        ('[[plugins]]\npath = "plugins"\nconfirm = "no"', "expected one of dangerous, writes, all, never"),
        ('[[plugins]]\npath = "plugins"\nauth = {A = "env:NOWHERE_SET"}', "NOWHERE_SET is not set"),
        ("[plugins]\npath = 1", "expected tables, each begun by [[plugins]]"),
        ('[tools]\nembeddings = "mm"', "tools.embeddings: there is no model 'mm'."),
        ("[tools]\nshown = 0", "toml:4: tools.shown"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(make_runtime: RuntimeFactory, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        make_runtime(text)
    assert said in error.value.message


def test_a_folder_of_the_command_line_must_be_there(make_runtime: RuntimeFactory) -> None:
    with pytest.raises(ConfigError, match="--plugins nowhere: this folder does not exist"):
        make_runtime("", "nowhere")


def test_secrets_are_resolved_and_kept_from_sight(
    make_runtime: RuntimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTS_KEY", "canary-credential")
    make_runtime('[[plugins]]\npath = "plugins"\nauth = {Authorization = "env:HOSTS_KEY"}\nuser_headers = {T = "X-T"}')
    settings = load_config(env={}).plugins[0]
    made = make_policy(settings)
    assert made.credentials["Authorization"].reveal() == "canary-credential"
    assert made.caller_headers == {"T": "X-T"}
    assert "canary" not in repr(settings) + repr(made)


@pytest.mark.demand("plugins.broken_plugin_never_stops")
def test_a_credential_that_a_plugin_does_not_use_costs_its_operations_alone(
    make_runtime: RuntimeFactory, caplog: pytest.LogCaptureFixture
) -> None:
    table = '[[plugins]]\npath = "plugins/books"\nuser_headers = {Nobody = "X-T"}\n'
    runtime = make_runtime(f'{table}[[plugins]]\npath = "plugins/hosts"')
    assert list_tools(runtime.assistants["default"]) == ["hosts_get_hosts"]
    assert "uses no credential 'Nobody'" in caplog.text


@pytest.mark.demand("plugins.plugins_reloaded_files_change")
def test_a_reload_reads_only_what_has_changed_files(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    first = make_runtime("", "plugins")
    write_api_plugin(tmp_path / "plugins" / "books", paths={"/shelves": "All shelves."})
    second = make_runtime("", "plugins", before=first)
    assert first.plugins is not None
    assert second.plugins is not None
    assert second.plugins.loaded["hosts"].plugin is first.plugins.loaded["hosts"].plugin
    assert sorted(list_tools(second.assistants["default"])) == ["books_get_shelves", "hosts_get_hosts"]
    assert sorted(list_tools(first.assistants["default"])) == ALL_TOOLS, "running turns keep theirs"


@pytest.mark.demand("plugins.plugins_reloaded_files_change")
def test_every_change_can_be_seen(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    runtime = make_runtime("", "plugins")
    assert runtime.plugins is not None
    seen = runtime.plugins.file_stamps
    hosts = tmp_path / "plugins" / "hosts"
    assert {tmp_path / "plugins", hosts, hosts / "plugin.json", hosts / "openapi.yaml", hosts / "lib"} <= {*seen}
    assert not has_changed_files(runtime.plugins)
    os.utime(hosts / "openapi.yaml", ns=(1, 1))
    assert has_changed_files(runtime.plugins)


@pytest.mark.demand("plugins.mended_files_come_back")
def test_what_should_be_there_is_watched_also_while_it_cannot_be_read(
    make_runtime: RuntimeFactory, tmp_path: Path
) -> None:
    hosts = tmp_path / "plugins" / "hosts"
    (hosts / "lib" / "parts").mkdir(parents=True)
    (hosts / "plugin.json").write_text("{", "utf-8")
    runtime = make_runtime("", "plugins")
    assert runtime.plugins is not None
    assert runtime.plugins.loaded["hosts"].tools == ()
    watched = {*runtime.plugins.loaded["hosts"].file_stamps}
    assert {hosts / "plugin.json", hosts / "openapi.yaml", hosts / "lib" / "parts", hosts / "flows"} <= watched
    (hosts / "lib" / "parts" / "new.py").write_text("", "utf-8")
    assert has_changed_files(runtime.plugins), "a file in a folder that had none"


@pytest.mark.demand("plugins.mended_files_come_back")
def test_a_change_of_rights_is_a_change(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    """As root no file is unreadable, so that only the stamp can be seen here."""
    runtime = make_runtime("", "plugins")
    (tmp_path / "plugins" / "hosts" / "plugin.json").chmod(0o640)
    assert has_changed_files(runtime.plugins)


@pytest.mark.demand("plugins.mended_files_come_back")
def test_a_file_that_changes_while_it_is_read_is_read_again(
    make_runtime: RuntimeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "plugins" / "hosts" / "openapi.yaml"

    def read_then_write(folder: Path) -> Plugin:
        plugin = read_plugin(folder)
        if folder == document.parent:
            document.write_text(f"# A remark.\n{document.read_text('utf-8')}", "utf-8")
        return plugin

    monkeypatch.setattr(plugins, "read_plugin", read_then_write)
    first = make_runtime("", "plugins")
    assert has_changed_files(first.plugins)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    second = make_runtime("", "plugins", before=first)
    assert not has_changed_files(second.plugins)


@pytest.mark.demand("plugins.mended_files_come_back")
def test_a_folder_that_fills_while_plugins_are_searched_is_searched_again(
    make_runtime: RuntimeFactory, tmp_path: Path
) -> None:
    slow = tmp_path / "plugins" / "slow"
    slow.mkdir()
    runtime = make_runtime("", "plugins")
    write_api_plugin(slow)
    assert has_changed_files(runtime.plugins)
    assert "slow_get_hosts" in list_tools(make_runtime("", "plugins", before=runtime).assistants["default"])


@pytest.mark.demand("flows.removed_plugin_performs_nothing")
def test_a_removed_plugin_that_an_assistant_names_does_not_keep_the_old_runtime(
    make_runtime: RuntimeFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = '[[plugins]]\npath = "plugins"\n[assistants.a]\nplugins = ["Lib", "hosts"]'
    runtime = make_runtime(text)
    shutil.rmtree(tmp_path / "plugins" / "books")
    for _ in range(2):
        runtime = make_runtime(text, before=runtime)
        assert list_tools(runtime.assistants["a"]) == ["hosts_get_hosts"]
        assert "[assistants.a]: the plugin Lib is gone" in caplog.text
    write_api_plugin(tmp_path / "plugins" / "books", paths={"/books": "All books."}, id="Lib")
    runtime = make_runtime(text, before=runtime)
    assert sorted(list_tools(runtime.assistants["a"])) == ["books_get_books", "hosts_get_hosts"]
    with pytest.raises(ConfigError, match="no plugin 'never'"):
        make_runtime(text.replace("Lib", "never"), before=runtime)


@pytest.mark.demand("flows.removed_plugin_performs_nothing")
@pytest.mark.parametrize("text", ['[[plugins]]\npath = "plugins/hosts"', ""])
def test_only_a_folder_that_was_there_may_be_missing(make_runtime: RuntimeFactory, tmp_path: Path, text: str) -> None:
    folder = Path("plugins/hosts")
    folders = () if text else (folder,)
    make_runtime(text, *map(str, folders))
    known = load_config(plugins=folders, env={}).plugin_paths
    shutil.rmtree(tmp_path / folder)
    with pytest.raises(ConfigError, match=r"no folder|does not exist"):
        load_config(plugins=folders, env={})
    config = load_config(plugins=folders, env={}, removable=known)
    assert config.plugin_paths == known
    assert build_runtime(config, env={}).assistants["default"].toolset is None
