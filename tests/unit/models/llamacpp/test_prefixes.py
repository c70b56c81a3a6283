"""Prompts on file: whole or not at all, and only what a prompt really begins with."""

import os
import time
from pathlib import Path

import pytest

from rightseat.errors import ConfigError
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.prefix_cache import CachedPrefix, prefix_key, prepare_folder
from rightseat.models.llamacpp.slot_scheduler import precache_prefix
from tests.unit.models.llamacpp.fake_slots import FakeSlotServer

SYSTEM = "You sit in the right seat. " * 40


@pytest.fixture
def server(tmp_path: Path) -> FakeSlotServer:
    return FakeSlotServer(2, tmp_path)


def list_saved_files(server: FakeSlotServer) -> list[Path]:
    assert server.launch.slot_save_path is not None
    return sorted(server.launch.slot_save_path.iterdir())


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
async def test_it_is_read_once_and_copied_for_every_conversation(server: FakeSlotServer) -> None:
    await precache_prefix(server, SYSTEM)
    await precache_prefix(server, SYSTEM)
    assert server.slots.actions == ["read", "save"]
    for name in "ABCDEF":
        assert (await server.complete(f"{SYSTEM}{name * 2000}")).cached_tokens >= len(SYSTEM)
    assert len(list_saved_files(server)) == 1


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
async def test_the_next_process_finds_it(server: FakeSlotServer, tmp_path: Path) -> None:
    await precache_prefix(server, SYSTEM)
    (file,) = list_saved_files(server)
    found = CachedPrefix.find(server.launch, SYSTEM)
    assert found == CachedPrefix(SYSTEM, file.name, file.stat().st_size)
    assert CachedPrefix.find(server.launch, SYSTEM + "!") is None
    # The process died: the new one's slots hold nothing, and the file is loaded into one.
    server.slots = FakeSlotServer(2, tmp_path).slots
    assert (await server.complete(SYSTEM + "A")).cached_tokens == len(SYSTEM)
    assert server.slots.actions == ["restore"]


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
async def test_a_damaged_file_never_reaches_the_engine(server: FakeSlotServer, damage: str) -> None:
    await precache_prefix(server, SYSTEM)
    (file,) = list_saved_files(server)
    data = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(data[:100] if damage == "cut" else b"?" + data[1:])
    # While it runs, a change of its length is seen; at the next start, any change.
    if damage != "changed":
        server.slots = FakeSlotServer(2, server.launch.slot_save_path).slots
        assert (await server.complete(SYSTEM + "A")).cached_tokens == 0
        assert server.slots.actions == []
    assert CachedPrefix.find(server.launch, SYSTEM) is None
    assert list_saved_files(server) == []


async def test_what_cannot_be_saved_is_told(server: FakeSlotServer) -> None:
    server.slots.actions_fail = True
    with pytest.raises(ConfigError, match="was not saved in"):
        await precache_prefix(server, SYSTEM)
    assert list_saved_files(server) == []


async def test_what_does_not_fit_is_told(server: FakeSlotServer) -> None:
    with pytest.raises(ConfigError, match="precache: has 100001, room for 100000"):
        await precache_prefix(server, "x" * 100_001)
    assert list_saved_files(server) == []


async def test_without_a_folder_nothing_is_read() -> None:
    server = FakeSlotServer(2, None)
    await precache_prefix(server, SYSTEM)
    assert server.slots.actions == []


def test_other_weights_have_other_files(tmp_path: Path) -> None:
    model, lora = tmp_path / "model.gguf", tmp_path / "lora.gguf"
    model.write_text("one")
    lora.write_text("two")
    keys = {
        prefix_key(LaunchOptions(model), "text"),
        prefix_key(LaunchOptions(model), "other"),
        prefix_key(LaunchOptions(model, lora=lora), "text"),
    }
    keys |= {prefix_key(LaunchOptions(model, binary=lora), "text"), prefix_key(LaunchOptions(model), [1, 2])}
    assert prefix_key(LaunchOptions(model, slots=4, context=99), "text") in keys
    model.write_text("three")
    assert len(keys | {prefix_key(LaunchOptions(model), "text")}) == 6


def test_the_folder_is_ours_alone_and_is_tidied(tmp_path: Path) -> None:
    place = tmp_path / "new" / "prompts"
    assert prepare_folder(place) == place
    assert place.stat().st_mode & 0o077 == 0
    old, week, month = (time.time() - seconds for seconds in (7_200, 7 * 86_400, 40 * 86_400))
    for name, age in {"copy-1": old, "draft-1": old, "used.slot": week, "unused.slot": month}.items():
        (place / name).touch()
        os.utime(place / name, (age, age))
    (place / "copy-2").touch()
    prepare_folder(place)
    assert {file.name for file in place.iterdir()} == {"used.slot", "copy-2"}
    (tmp_path / "file").touch()
    assert prepare_folder(tmp_path / "file" / "prompts") is None
