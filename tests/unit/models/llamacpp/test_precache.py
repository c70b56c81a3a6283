"""`precache` and `prompt_cache`: the files that a local model's table or the command line names."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rightseat.cli import app
from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.models.llamacpp.options import make_local_model
from rightseat.models.llamacpp.supervision import SharedServer
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.models import make_configured_model
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(make_gguf(*make_usual_entries()))
    return path


def get_launch(local_model: object) -> LaunchOptions:
    assert isinstance(local_model, LlamaCppModel)
    assert isinstance(local_model._server, SharedServer)
    return local_model._server.launch


def test_files_lie_beside_the_file_that_names_them(weights: Path, tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "long.txt").write_text("Be kind.\n")
    text = f'[models.m]\nspec = "{weights}"\nprecache = ["long.txt"]\n'
    (folder / "rightseat.toml").write_text(text)
    config = load_config(folder / "rightseat.toml")
    made = make_configured_model(config.models["m"], config)
    assert isinstance(made, LlamaCppModel)
    # Word for word, as an assistant's system_file.
    assert made._precached_prompts == ("Be kind.\n",)
    assert get_launch(made).slot_save_path == cache / "prompts"
    # A reload finds the same engine.
    assert get_launch(make_configured_model(config.models["m"], config)) == get_launch(made)


def test_a_folder_of_ones_own(weights: Path, tmp_path: Path) -> None:
    made = make_local_model(str(weights), {"prompt_cache": str(tmp_path / "own")})
    assert get_launch(made).slot_save_path == tmp_path / "own"
    assert (tmp_path / "own").is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precache": ["none.txt"]}, "precache: none.txt is not a file here"),
        ({"precache": "one.txt"}, "wrong option"),
        ({"precache": ["{tmp}/bytes"]}, "cannot be read as text"),
        ({"precache": ["{tmp}/text"], "prompt_cache": "{tmp}/text/folder"}, "cannot write to"),
    ],
)
def test_what_can_be_wrong(options: dict[str, Any], message: str, weights: Path, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "text").write_text("Be kind.")

    def placed(value: Any) -> Any:
        return [placed(v) for v in value] if isinstance(value, list) else value.replace("{tmp}", str(tmp_path))

    with pytest.raises(ConfigError, match=message):
        make_local_model(str(weights), {name: placed(value) for name, value in options.items()})


def test_without_the_folder_and_without_files_it_runs(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    assert (
        get_launch(make_local_model(str(weights), {"prompt_cache": str(tmp_path / "text" / "folder")})).slot_save_path
        is None
    )


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
def test_the_command_line_names_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    seen: dict[str, Any] = {}
    command = importlib.import_module("rightseat.cli.serve")
    monkeypatch.setattr(command, "serve", lambda arguments: seen.update(flags=arguments.flags))
    done = CliRunner().invoke(app, ["serve", "--precache", "a.txt", "--precache", "/b.txt"])
    assert done.exit_code == 0
    assert seen["flags"]["precache"] == [str(tmp_path / "a.txt"), "/b.txt"]
    CliRunner().invoke(app, ["serve"])
    assert seen["flags"]["precache"] is None
    # It is an option of a local model only.
    config = load_config(None, model="scripted:demo", flags=seen["flags"] | {"precache": ["a.txt"]}, env={})
    with pytest.raises(ConfigError, match="--precache is only for local models"):
        build_runtime(config, env={})
