"""`precache` and `prompt_cache`: the files that a local model's table or the command line names."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rightseat import wiring as registry
from rightseat.cli import app
from rightseat.config import load
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.local import Local
from rightseat.models.llamacpp.options import local
from rightseat.models.llamacpp.pool import Shared
from rightseat.models.llamacpp.process import Launch
from tests.unit.models.llamacpp.ggufs import gguf, usual


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf(*usual()))
    return path


def launch(made: object) -> Launch:
    assert isinstance(made, Local)
    assert isinstance(made._server, Shared)
    return made._server.launch


def test_files_lie_beside_the_file_that_names_them(weights: Path, tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "long.txt").write_text("Be kind.\n")
    text = f'[models.m]\nspec = "{weights}"\nprecache = ["long.txt"]\n'
    (folder / "rightseat.toml").write_text(text)
    config = load(folder / "rightseat.toml")
    made = registry.configured(config.models["m"], config)
    assert isinstance(made, Local)
    # Word for word, as an assistant's system_file.
    assert made._manner.precache == ("Be kind.\n",)
    assert launch(made).saves == cache / "prompts"
    # A reload finds the same engine.
    assert launch(registry.configured(config.models["m"], config)) == launch(made)


def test_a_folder_of_ones_own(weights: Path, tmp_path: Path) -> None:
    made = local(str(weights), {"prompt_cache": str(tmp_path / "own")})
    assert launch(made).saves == tmp_path / "own"
    assert (tmp_path / "own").is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precache": ["none.txt"]}, "precache: none.txt is not a file here"),
        ({"precache": "one.txt"}, "wrong option"),
        ({"precache": ["{tmp}/bytes"]}, "cannot be read as text"),
        ({"precache": ["{tmp}/text"], "prompt_cache": "{tmp}/text/folder"}, "nothing can be kept in"),
    ],
)
def test_what_can_be_wrong(options: dict[str, Any], message: str, weights: Path, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "text").write_text("Be kind.")

    def placed(value: Any) -> Any:
        return (
            [placed(v) for v in value] if isinstance(value, list) else value.replace("{tmp}", str(tmp_path))
        )

    with pytest.raises(ConfigError, match=message):
        local(str(weights), {name: placed(value) for name, value in options.items()})


def test_without_the_folder_and_without_files_it_runs(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    assert launch(local(str(weights), {"prompt_cache": str(tmp_path / "text" / "folder")})).saves is None


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
def test_the_command_line_names_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    seen: dict[str, Any] = {}
    command = importlib.import_module("rightseat.cli.serve")
    monkeypatch.setattr(command, "serve", lambda path, **given: seen.update(given))
    done = CliRunner().invoke(app, ["serve", "--precache", "a.txt", "--precache", "/b.txt"])
    assert done.exit_code == 0
    assert seen["flags"]["precache"] == [str(tmp_path / "a.txt"), "/b.txt"]
    CliRunner().invoke(app, ["serve"])
    assert seen["flags"]["precache"] is None
    # It is an option of a local model only.
    config = load(None, model="scripted:demo", flags=seen["flags"] | {"precache": ["a.txt"]}, env={})
    with pytest.raises(ConfigError, match="--precache is for a local model"):
        registry.runtime(config, env={})
