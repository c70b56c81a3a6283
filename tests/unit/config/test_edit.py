"""One table of rightseat.toml written anew: everything else stays, or nothing is changed."""

import tomllib
from pathlib import Path

import pytest

from rightseat.config.edit import ConfigEdit, TomlValue, format_table, replace_table
from rightseat.errors import ConfigError

NAME = ("models", "default")
VALUES = {"spec": "ollama:qwen3:8b", "fallbacks": ("local",)}
TABLE = '[models.default]\nspec = "ollama:qwen3:8b"\nfallbacks = ["local"]\n'
EDITS = {
    "an empty file": ("", TABLE),
    "a file without the table": ("# Ours.\n[server]\nport = 1\n", f"# Ours.\n[server]\nport = 1\n\n{TABLE}"),
    "no newline at the end": ("[server]\nport = 1", f"[server]\nport = 1\n\n{TABLE}"),
    "a table in the middle": (
        '[models.default] # now\nspec = "local"\n# Why.\n\n# Next.\n[server]\nport = 1\n',
        f'{TABLE}# spec = "local"\n# Why.\n\n# Next.\n[server]\nport = 1\n',
    ),
    "a quoted name and a table inside": (
        '[models."default"]\nspec = "openai:x"\n[models.default.headers]\nx-a = "b"\n[store]\nkind = "memory"\n',
        f'{TABLE}# spec = "openai:x"\n# [models.default.headers]\n# x-a = "b"\n[store]\nkind = "memory"\n',
    ),
    "a text of several lines": (
        '[models.default]\nspec = """local"""\n[assistants.default]\nsystem = """\n[models.other]\n"""\n',
        f'{TABLE}# spec = """local"""\n[assistants.default]\nsystem = """\n[models.other]\n"""\n',
    ),
}
UNEDITABLE = {
    "an inline table": 'models = {default = {spec = "local"}}\n',
    "a dotted key": 'models.default.spec = "local"\n',
    "a header in a text": '[models.other]\nspec = "local"\n[assistants.a]\nsystem = """\n[models.default]\n"""\n',
}


@pytest.mark.parametrize("case", EDITS)
@pytest.mark.demand("playground.model_written_to_file")
def test_a_table_is_replaced(case: str) -> None:
    before, after = EDITS[case]
    assert replace_table(before, NAME, VALUES) == after
    assert replace_table(before.replace("\n", "\r\n"), NAME, VALUES) == after.replace("\n", "\r\n") or not before


@pytest.mark.parametrize("case", UNEDITABLE)
@pytest.mark.demand("playground.model_written_to_file")
def test_a_form_that_cannot_be_edited_is_refused_with_what_to_write(case: str) -> None:
    with pytest.raises(ConfigError, match="by hand") as caught:
        replace_table(UNEDITABLE[case], NAME, VALUES)
    assert TABLE in caught.value.message


def test_every_text_is_read_back() -> None:
    odd = 'q"u\\o\n\t\x7f☃'
    values: dict[str, TomlValue] = {"a": odd, "odd key": "x", "yes": True, "number": 7, "list": ("a", "b")}
    table = tomllib.loads(format_table(("models", "a.b"), values))["models"]["a.b"]
    assert table == {**values, "list": ["a", "b"]}


@pytest.mark.demand("playground.model_written_to_file")
def test_a_file_is_replaced_only_if_it_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text("[server]\nport = 1\n")
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    with pytest.raises(ConfigError, match=r"rightseat\.toml:2"):
        ConfigEdit(link, '[server]\nport = "many"\n').apply()
    assert file.read_text() == "[server]\nport = 1\n"
    edit = ConfigEdit(link, "[server]\nport = 2\n")
    edit.apply()
    assert (file.read_text(), link.is_symlink()) == ("[server]\nport = 2\n", True)
    edit.undo()
    assert file.read_text() == "[server]\nport = 1\n"
    new = ConfigEdit(tmp_path / "new.toml", "")
    new.apply()
    new.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.toml", "rightseat.toml"]
