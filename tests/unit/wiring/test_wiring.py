from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rightseat.config.imports import import_object
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import Config, ModelSettings
from rightseat.errors import ConfigError
from rightseat.models.scripted import ScriptFileModel
from rightseat.wiring.default_model import ModelChoice, choose_model
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import BUILTIN, find, list_names, make_model
from tests.kit.cases import each_case


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder of its own, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def patch_entry_point(monkeypatch: pytest.MonkeyPatch, family: str, name: str, value: str) -> None:
    """As if another package had this entry point."""
    entry = EntryPoint(name, value, f"rightseat.{family}")
    home = sys.modules["rightseat.wiring.lookup"]
    monkeypatch.setattr(home, "entry_points", lambda group: [entry] if group == entry.group else [])


def test_builtins_are_found_by_name() -> None:
    from rightseat.stores.memory import MemoryStore

    assert find("stores", "memory") is MemoryStore
    assert isinstance(make_model("scripted:demo"), ScriptFileModel)


def test_every_builtin_exists() -> None:
    for family, members in BUILTIN.items():
        for name in members:
            assert callable(find(family, name)) or family == "doors"


def test_another_package_adds_a_name_but_takes_none_over(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_entry_point(monkeypatch, "models", "acme", "rightseat.models.scripted:model")
    assert isinstance(make_model("acme:demo"), ScriptFileModel)
    assert list_names("models") == [*BUILTIN["models"], "acme"]
    patch_entry_point(monkeypatch, "models", "scripted", "json:loads")
    assert isinstance(make_model("scripted:demo"), ScriptFileModel)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("openia:x", "There is no model called 'openia'. Did you mean 'openai'? Known: local, llama-server"),
        ("zzz:x", f"There is no model called 'zzz'. Known: {', '.join(BUILTIN['models'])}."),
        ("gpt-4o", "'gpt-4o' is not a model. Write KIND:NAME, such as openai:gpt-4o, a .gguf file, or"),
        ("openai:", "'openai:' is not a model."),
    ],
)
def test_an_unknown_model_names_the_nearest_and_the_known(spec: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_model(spec)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mine:clok", "mine:clok: mine has no 'clok'. Did you mean 'clock'?"),
        ("gone:x", "there is no module 'gone' here or in "),
        ("mine.sub:x", "there is no module"),
        ("needy:x", "needy needs 'no_such_library', which is not installed."),
        ("broken:x", "importing broken failed: SyntaxError"),
        ("raising:x", "importing raising failed: ValueError: at import"),
        ("nocolon", "'nocolon' is not of the form module:attribute."),
    ],
)
def test_what_cannot_be_loaded_says_why(folder: Path, target: str, said: str) -> None:
    (folder / "mine.py").write_text("def clock(): ...\n")
    (folder / "needy.py").write_text("import no_such_library\n")
    (folder / "broken.py").write_text("def (:\n")
    (folder / "raising.py").write_text("raise ValueError('at import')\n")
    with pytest.raises(ConfigError) as caught:
        import_object(target)
    assert said in caught.value.message


def test_the_working_folder_is_importable_but_shadows_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A module that is already imported would be found whatever the order of the folders.
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (folder / "mine.py").write_text("class Box:\n    value = 7\n")
    (folder / "colorsys.py").write_text("raise RuntimeError('shadowed')\n")
    assert import_object("mine:Box.value") == 7
    assert callable(import_object("colorsys:rgb_to_hsv"))


def test_a_secret_option_reaches_the_model_revealed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def model(name: str, options: dict[str, Any]) -> ScriptFileModel:
        seen.update(options)
        return ScriptFileModel.__new__(ScriptFileModel)

    monkeypatch.setattr("rightseat.models.scripted.model", model)
    make_model("scripted:x", {"api_key": Secret("k"), "headers": {"X": Secret("h")}, "tries": 2})
    assert seen == {"api_key": "k", "headers": {"X": "h"}, "tries": 2}


DEMO = ModelSettings(spec="scripted:demo")
CONFIGURED = Config(models={"a": DEMO, "b": DEMO})
NAMED = Config(model="openai:x", model_from="--model")


@pytest.mark.demand("llamacpp.local_default_serve_embedded")
@each_case(
    ("config", "env", "model", "why"),
    [
        (Config(), {}, "local", "on this machine"),
        (Config(without_local="No."), {}, "scripted:demo", "a short script, not a model. No."),
        (Config(), {"OPENAI_API_KEY": "k"}, "openai:gpt-4o-mini", "OPENAI_API_KEY is set"),
        (Config(), {"OPENAI_BASE_URL": "u", "OPENAI_MODEL": "m"}, "openai:m", "OPENAI_BASE_URL is set"),
        (CONFIGURED, {"OPENAI_API_KEY": "k"}, "a", "the first of [models]"),
        (NAMED, {"OPENAI_API_KEY": "k"}, "openai:x", "named by --model"),
    ],
)
def test_the_model_is_chosen_and_the_reason_said(config: Config, env: dict[str, str], model: str, why: str) -> None:
    choice = choose_model(config, env)
    assert choice.model == model
    assert why in choice.why


def test_the_model_called_default_is_the_default() -> None:
    models = CONFIGURED.models | {"default": DEMO}
    assert choose_model(msgspec.structs.replace(CONFIGURED, models=models), {}) == ModelChoice(
        "default", "[models.default] in None"
    )


@pytest.mark.demand("engine.serve_prints_card_without")
def test_without_anything_the_demo_answers_and_has_a_tool() -> None:
    runtime = build_runtime(Config(without_local="No weights."), env={})
    # Besides, a plugin with a flow, which is asked by its own name.
    assert list(runtime.assistants) == ["default", "demo", "demo.sales"]
    names = ["demo_clock", "demo_book", "calculate", "table_query", "facts", "demo_sales"]
    assert [tool.name for tool in runtime.assistants["default"].tools] == names
    assert runtime.assistants["default"].toolset is None


def test_each_model_is_an_assistant_and_the_first_is_the_default() -> None:
    runtime = build_runtime(CONFIGURED, env={})
    assert list(runtime.assistants) == ["default", "a", "b"]
    assert runtime.assistants["default"].model is runtime.assistants["a"].model
    assert runtime.assistants["default"].tools == ()


ASSISTANTS = """
[models.a]
spec = "scripted:demo"
context = 1000
[assistants.clerk]
system = "Be kind."
tools = ["mine:price", "mine:more"]
title = "Clerk"
rounds = 2
tool_timeout = 3
date = true
[assistants.other]
model = "a"
"""
MINE = """
def price(item: str) -> int:
    "The price of an item."
    return 3
def stock() -> int:
    "What is left."
    return 1
more = [stock]
number = 7
"""


def test_assistants_from_a_file(folder: Path) -> None:
    (folder / "rightseat.toml").write_text(ASSISTANTS)
    (folder / "mine.py").write_text(MINE)
    runtime = build_runtime(load_config(env={}), env={})
    assert list(runtime.assistants) == ["default", "clerk", "other", "a"]
    clerk = runtime.assistants["clerk"]
    assert [tool.name for tool in clerk.tools] == ["price", "stock"]
    assert (clerk.system, clerk.title, clerk.rounds, clerk.tool_timeout) == ("Be kind.", "Clerk", 2, 3)
    assert clerk.tells_date is True
    assert clerk.context == 1000
    assert runtime.assistants["default"].tools == clerk.tools
    assert runtime.assistants["other"].model is clerk.model


def test_the_model_of_the_command_line_replaces_the_default_one_only(folder: Path) -> None:
    (folder / "rightseat.toml").write_text(ASSISTANTS)
    (folder / "mine.py").write_text(MINE)
    runtime = build_runtime(load_config(model="scripted:demo", env={}), env={})
    assert runtime.assistants["default"].model is runtime.assistants["clerk"].model
    assert runtime.assistants["other"].model is not runtime.assistants["clerk"].model


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[assistants.a]\ntools=['mine:number']", "[assistants.a] in rightseat.toml: tools: mine:number is"),
        ("[models.x]\nspec='openia:y'", "[models.x] in rightseat.toml: There is no model called 'openia'."),
        ("[models.x]\nspec='openai:y'\nbase_ulr='z'", "'base_ulr'"),
    ],
)
def test_what_cannot_be_built_names_its_table(folder: Path, text: str, said: str) -> None:
    (folder / "rightseat.toml").write_text(text)
    (folder / "mine.py").write_text(MINE)
    with pytest.raises(ConfigError) as caught:
        build_runtime(load_config(env={}), env={})
    assert said in caught.value.message


def test_a_reload_keeps_the_store() -> None:
    config = Config(model="scripted:demo")
    before = build_runtime(config, env={})
    assert build_runtime(config, store=before.store, env={}).store is before.store


def test_a_module_that_exits_ends_nothing(folder: Path) -> None:
    (folder / "leaver.py").write_text("import sys\nsys.exit(4)\n")
    with pytest.raises(ConfigError, match="called sys"):
        import_object("leaver:tool")
