"""Session files without an engine: what is written, what is refused, and where the option stands."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.models.llamacpp.options import make_local_model
from rightseat.models.llamacpp.prefix_cache import CachedPrefix, PromptText
from rightseat.models.llamacpp.session_file import SessionDamaged, load_session, pack_session, unpack_session
from rightseat.models.llamacpp.supervision import SharedServer
from rightseat.wiring.models import make_configured_model
from tests.kit.command import run_command
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries

PROMPTS: list[PromptText] = ["Tell me\nof \u2028 maps", [1, 2, 3], "\0with the adapter"]


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LaunchOptions:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.gguf").write_bytes(make_gguf(*make_usual_entries()))
    (tmp_path / "slots").mkdir()
    return LaunchOptions(tmp_path / "tiny.gguf", slot_save_path=tmp_path / "slots")


def write_session(launch: LaunchOptions, path: Path) -> list[bytes]:
    """Write a session of three slots; returns their states."""
    states = [os.urandom(3000), b"", b"rightseat session 1 " * 100]
    files = [path.with_name(f"state-{number}") for number in range(len(states))]
    for file, state in zip(files, states, strict=True):
        file.write_bytes(state)
    pack_session(path, launch, list(zip(PROMPTS, files, strict=True)))
    return states


@pytest.mark.demand("llamacpp.session_file")
def test_a_session_is_read_as_it_was_written(launch: LaunchOptions, tmp_path: Path) -> None:
    states = write_session(launch, tmp_path / "talk")
    prefixes = unpack_session(tmp_path / "talk", launch)
    assert [prefix.prompt for prefix in prefixes] == PROMPTS
    assert launch.slot_save_path is not None
    assert [(launch.slot_save_path / prefix.file_name).read_bytes() for prefix in prefixes] == states
    # They are cached prompts like others.
    assert [CachedPrefix.find(launch, prompt) for prompt in PROMPTS] == prefixes
    assert (tmp_path / "talk").stat().st_mode & 0o777 == 0o600
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


@pytest.mark.demand("llamacpp.session_file")
def test_every_cut_and_every_changed_byte_is_noticed(launch: LaunchOptions, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    write_session(launch, path)
    data = path.read_bytes()
    places = [*range(0, len(data) - 1, 37), len(data) - 1]
    for place in places:
        for broken in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            path.write_bytes(broken)
            with pytest.raises(SessionDamaged):
                unpack_session(path, launch)
    path.write_bytes(data)
    assert len(unpack_session(path, launch)) == len(PROMPTS)
    assert launch.slot_save_path is not None
    assert [name for name in os.listdir(launch.slot_save_path) if name.startswith("draft")] == []


async def test_a_file_of_another_model_is_left_alone(
    launch: LaunchOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_session(launch, tmp_path / "talk")
    (tmp_path / "other.gguf").write_bytes(make_gguf(*make_usual_entries()))
    other = LaunchOptions(tmp_path / "other.gguf", slot_save_path=tmp_path / "slots")
    with caplog.at_level(logging.WARNING):
        assert await load_session(SharedServer(other), tmp_path / "talk") == 0
    assert "it is of another model, adapter or engine" in caplog.text
    assert await load_session(SharedServer(other), tmp_path / "missing") == 0
    assert await load_session(SharedServer(launch), tmp_path / "talk") == len(PROMPTS)


def test_the_option_names_a_place(launch: LaunchOptions, tmp_path: Path) -> None:
    folder = tmp_path / "beside"
    folder.mkdir()
    (folder / "rightseat.toml").write_text(f'[models.m]\nspec = "{launch.model}"\nsession_file = "talk"\n')
    config = load_config(folder / "rightseat.toml", env={})
    made = make_configured_model(config.models["m"], config)
    assert isinstance(made, LlamaCppModel)
    assert made._session_file == folder / "talk"
    for place, message in (("nowhere/talk", "no place for a file"), (".", "no place for a file")):
        with pytest.raises(ConfigError, match=message):
            make_local_model(str(launch.model), {"session_file": str(folder / place)})
    (tmp_path / "text").touch()
    options = {"session_file": str(folder / "talk"), "prompt_cache": str(tmp_path / "text" / "folder")}
    with pytest.raises(ConfigError, match="session_file: the folder of prompt_cache cannot be written"):
        make_local_model(str(launch.model), options)


@pytest.mark.io
async def test_the_command_line_has_it(launch: LaunchOptions, tmp_path: Path) -> None:
    place = str(tmp_path / "nowhere" / "talk")
    result = await run_command("chat", "Hello", "--model", str(launch.model), "--session-file", place)
    assert (result.code, "session_file:" in result.err) == (1, True)
